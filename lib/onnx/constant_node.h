// The value of a node of operator Constant.
#pragma once

#include "lib/onnx/model_tensors.h"

namespace pt {

// Whichever attribute has it; takes data out of the node. Errors: kInvalidInput for a node that has not one attribute
// and one output, kUnsupported for other attributes, and those of its tensor.
Result<Tensor> ConstantValue(proto::NodeProto& node, const ModelTensors& tensors, const Limits& limits);

// The tensor of an attribute; `where` names it in errors.
Result<Tensor> AttributeTensor(proto::TensorProto& tensor, const std::string& where, const ModelTensors& tensors,
                               const Limits& limits);

}  // namespace pt
