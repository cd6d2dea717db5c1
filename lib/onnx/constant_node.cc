#include "lib/onnx/constant_node.h"

#include "lib/onnx/tensor_from_proto.h"

namespace pt {

Result<Tensor> AttributeTensor(proto::TensorProto& tensor, const std::string& where, const ModelTensors& tensors,
                               const Limits& limits) {
  if (const Tensor* known = tensors.placeholder(tensor)) return *known;
  return TensorFromProto(tensor, where, limits);
}

Result<Tensor> ConstantValue(proto::NodeProto& node, const ModelTensors& tensors, const Limits& limits) {
  if (node.output_size() != 1 || node.output(0).empty() || node.attribute_size() != 1) {
    return LoadError(ErrorCode::kInvalidInput, "onnx.constant", "a Constant needs one attribute and one output");
  }
  proto::AttributeProto& a = *node.mutable_attribute(0);
  if (a.name() == "value" && a.has_t()) return AttributeTensor(*a.mutable_t(), "attribute value", tensors, limits);
  if (a.name() == "value_int") return Tensor::Int64({}, {a.i()});
  if (a.name() == "value_ints") return Tensor::Int64({a.ints_size()}, {a.ints().begin(), a.ints().end()});
  if (a.name() == "value_float") return Tensor::Float32({}, {a.f()});
  if (a.name() == "value_floats") return Tensor::Float32({a.floats_size()}, {a.floats().begin(), a.floats().end()});
  if (a.name() == "value_string") return Tensor::FromStrings({}, {a.s()});
  if (a.name() == "value_strings")
    return Tensor::FromStrings({a.strings_size()}, {a.strings().begin(), a.strings().end()});
  return LoadError(ErrorCode::kUnsupported, "onnx.constant",
                   "a Constant with attribute \"" + a.name() + "\" is not supported");
}

}  // namespace pt
