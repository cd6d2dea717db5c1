// libonnx's checker over a whole model.
#pragma once

#include "lib/onnx/fence.h"

namespace pt {

// The model is as before when it returns; what it leaves out of the types of inputs and outputs is not a fault. Tensors
// without their data are (DescribeAsEmpty). Errors: kUnsupported ("onnx.unknown_op") for an operator that ONNX's own
// domains do not have, kInvalidInput for everything else that the checker objects to.
Status CheckModel(proto::ModelProto& model);

}  // namespace pt
