// Files in the wild that libonnx's checker refuses, though it is clear what is meant.
#pragma once

#include <string>
#include <vector>

#include "lib/onnx/fence.h"

namespace pt {

// Names graphs, imports domains of which there is but one version that can be meant, gives Resize the empty inputs that
// it needed before opset 13, forgets the dims that Loop's bodies declare of what is carried, and moves
// GroupNormalization of opset 18 to 20 to the domain of that opset (OpsetDomain). After the tensors were taken
// (ModelTensors). `warnings` hears of what matters. Errors (kInvalidInput): a domain that is not imported and has
// versions that differ.
Status CompleteModel(proto::ModelProto& model, std::vector<std::string>& warnings);

}  // namespace pt
