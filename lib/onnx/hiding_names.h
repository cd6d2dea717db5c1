// Values of nested graphs that have the name of a value around them.
#pragma once

#include <string>
#include <vector>

#include "lib/onnx/fence.h"

namespace pt {

// Gives them names of their own. ONNX forbids to hide a name, but exporters do it (PaddlePaddle's Loops carry weights
// under the names that these have outside), and other runtimes read what the innermost graph defines, as is done here.
// The nodes are in order (SortAndCheckNames). Tells `warnings`, once a graph.
void RenameHidingValues(proto::ModelProto& model, std::vector<std::string>& warnings);

}  // namespace pt
