#include "lib/onnx/known_types.h"

#include <cstdint>

namespace pt {

KnownTypes::KnownTypes(const proto::GraphProto& graph, const KnownTypes* outer) : outer_(outer) {
  for (const auto& info : graph.value_info()) types_[info.name()] = &info.type();
  for (const auto& info : graph.output()) types_[info.name()] = &info.type();
  for (const auto& info : graph.input()) types_[info.name()] = &info.type();
  for (const auto& tensor : graph.initializer()) AddTensor(tensor.name(), tensor);
  for (const proto::NodeProto& node : graph.node()) {
    if (node.op_type() != "Constant" || node.output_size() != 1) continue;
    for (const proto::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() == "value" && attribute.has_t()) AddTensor(node.output(0), attribute.t());
    }
  }
}

void KnownTypes::AddTensor(const std::string& name, const proto::TensorProto& tensor) {
  auto type = std::make_unique<proto::TypeProto>();
  type->mutable_tensor_type()->set_elem_type(tensor.data_type());
  auto* shape = type->mutable_tensor_type()->mutable_shape();
  for (int64_t d : tensor.dims()) shape->add_dim()->set_dim_value(d);
  types_[name] = type.get();
  owned_.push_back(std::move(type));
  constants_[name] = &tensor;
}

const proto::TypeProto* KnownTypes::type(const std::string& name) const {
  const auto at = types_.find(name);
  if (at != types_.end()) return at->second;
  return outer_ == nullptr ? nullptr : outer_->type(name);
}

const proto::TensorProto* KnownTypes::constant(const std::string& name) const {
  const auto at = constants_.find(name);
  if (at != constants_.end()) return at->second;
  return outer_ == nullptr ? nullptr : outer_->constant(name);
}

}  // namespace pt
