// Constants that a file has twice under one name.
#pragma once

#include <string>
#include <vector>

#include "lib/onnx/model_tensors.h"

namespace pt {

// Whether type, dims and content are equal, bit for bit.
bool SameTensor(const Tensor& a, const Tensor& b);

// Of Constant nodes that define what another Constant or an initialiser of the same graph or function defines, drops
// those of equal content, and tells `warnings`. Errors (kInvalidInput): different content; both are named. Whatever
// else defines a name twice is left to SortAndCheckNames.
Status DropRepeatedConstants(proto::ModelProto& model, const ModelTensors& tensors, const Limits& limits,
                             std::vector<std::string>& warnings);

}  // namespace pt
