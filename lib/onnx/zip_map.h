// ZipMap, which exporters of classifiers write behind scores unless they are told not to.
#pragma once

#include <string>
#include <vector>

#include "lib/onnx/fence.h"

namespace pt {

// Sequences of maps are not values of a graph. A ZipMap of the main graph whose result is an output of the model, and
// read by nothing else, gives out the tensor that it would have taken apart, and a warning says so, and which column is
// which class; others stay and are refused. Before types are looked at.
void GiveOutTensors(proto::ModelProto& model, std::vector<std::string>& warnings);

}  // namespace pt
