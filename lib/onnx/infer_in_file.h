// Types of the values of a model before its operators are those of one opset.
#pragma once

#include "lib/onnx/fence.h"

namespace pt {

// Writes what libonnx infers into value_info and the outputs of all graphs. What the file declares there itself is a
// hint: it stays where inference finds nothing, and nowhere if the file declares another rank than inference finds for
// any value. Nothing changes where inference would take too long.
void InferInFile(proto::ModelProto& model);

}  // namespace pt
