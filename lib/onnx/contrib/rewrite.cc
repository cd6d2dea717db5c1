#include "lib/onnx/contrib/rewrite.h"

#include <onnx/defs/attr_proto_util.h>

#include <algorithm>

#include "lib/onnx/opset_domain.h"
#include "lib/onnx/tensor_from_proto.h"
#include "lib/onnx/value_types.h"
#include "partitiontuner/onnx/load_onnx.h"

namespace pt::contrib {

proto::AttributeProto IntAttribute(const std::string& name, int64_t value) { return proto::MakeAttribute(name, value); }
proto::AttributeProto IntsAttribute(const std::string& name, const std::vector<int64_t>& values) {
  return proto::MakeAttribute(name, values);
}
proto::AttributeProto FloatAttribute(const std::string& name, float value) { return proto::MakeAttribute(name, value); }
proto::AttributeProto TextAttribute(const std::string& name, const std::string& value) {
  return proto::MakeAttribute(name, value);
}

proto::AttributeProto TextsAttribute(const std::string& name, const std::vector<std::string>& values) {
  return proto::MakeAttribute(name, values);
}

Rewrite::Rewrite(const proto::NodeProto& node, const KnownTypes& types, RewrittenModel& model, Nodes& made)
    : node_(node), types_(types), model_(model), made_(made), source_(SourceOf(node)) {}

// ---- the node ----

const std::string& Rewrite::in(int input) const {
  static const std::string none;
  return input < node_.input_size() ? node_.input(input) : none;
}

const proto::AttributeProto* Rewrite::Find(std::string_view attribute) const {
  for (const proto::AttributeProto& a : node_.attribute()) {
    if (a.name() == attribute) return &a;
  }
  return nullptr;
}

int64_t Rewrite::Int(std::string_view attribute, int64_t otherwise) const {
  const proto::AttributeProto* a = Find(attribute);
  return a == nullptr ? otherwise : a->i();
}

float Rewrite::Float(std::string_view attribute, float otherwise) const {
  const proto::AttributeProto* a = Find(attribute);
  return a == nullptr ? otherwise : a->f();
}

std::string Rewrite::Text(std::string_view attribute, const std::string& otherwise) const {
  const proto::AttributeProto* a = Find(attribute);
  return a == nullptr ? otherwise : a->s();
}

std::vector<int64_t> Rewrite::Ints(std::string_view attribute) const {
  const proto::AttributeProto* a = Find(attribute);
  if (a == nullptr) return {};
  return {a->ints().begin(), a->ints().end()};
}

std::vector<float> Rewrite::Floats(std::string_view attribute) const {
  const proto::AttributeProto* a = Find(attribute);
  if (a == nullptr) return {};
  return {a->floats().begin(), a->floats().end()};
}

std::vector<std::string> Rewrite::Texts(std::string_view attribute) const {
  const proto::AttributeProto* a = Find(attribute);
  if (a == nullptr) return {};
  return {a->strings().begin(), a->strings().end()};
}

Attributes Rewrite::Copies(std::initializer_list<std::string_view> attributes) const {
  Attributes copies;
  for (std::string_view name : attributes) {
    if (const proto::AttributeProto* a = Find(name)) copies.push_back(*a);
  }
  return copies;
}

// ---- what is known ----

std::optional<int32_t> Rewrite::element_type(const std::string& value) const {
  const proto::TypeProto* type = types_.type(value);
  if (type == nullptr || !type->has_tensor_type() || type->tensor_type().elem_type() == 0) return std::nullopt;
  return type->tensor_type().elem_type();
}

std::optional<int64_t> Rewrite::rank(const std::string& value) const {
  const proto::TypeProto* type = types_.type(value);
  if (type == nullptr || !type->has_tensor_type() || !type->tensor_type().has_shape()) return std::nullopt;
  return type->tensor_type().shape().dim_size();
}

const proto::TensorShapeProto::Dimension* Rewrite::FindDim(const std::string& value, int64_t axis) const {
  const std::optional<int64_t> known = rank(value);
  if (!known) return nullptr;
  const int64_t at = axis < 0 ? axis + *known : axis;
  if (at < 0 || at >= *known) return nullptr;
  return &types_.type(value)->tensor_type().shape().dim(static_cast<int>(at));
}

std::optional<int64_t> Rewrite::dim(const std::string& value, int64_t axis) const {
  const auto* d = FindDim(value, axis);
  if (d == nullptr || !d->has_dim_value() || d->dim_value() < 0) return std::nullopt;
  return d->dim_value();
}

bool Rewrite::same_dim(const std::string& a, int64_t axis_a, const std::string& b, int64_t axis_b) const {
  const auto *one = FindDim(a, axis_a), *other = FindDim(b, axis_b);
  if (one == nullptr || other == nullptr) return false;
  if (one->has_dim_param() && IsDimName(one->dim_param())) return one->dim_param() == other->dim_param();
  return one->has_dim_value() && other->has_dim_value() && one->dim_value() == other->dim_value();
}

Result<const Tensor*> Rewrite::Constant(const std::string& value) {
  const proto::TensorProto* constant = types_.constant(value);
  if (constant == nullptr) return static_cast<const Tensor*>(nullptr);
  if (const Tensor* large = model_.tensors.initializer(value)) return large;
  if (const Tensor* large = model_.tensors.placeholder(*constant)) return large;
  PT_ASSIGN(read_, TensorFromProto(*constant, "constant \"" + value + "\"", model_.limits));
  return static_cast<const Tensor*>(&read_);
}

Result<int32_t> Rewrite::NeedElementType(const std::string& value, const std::string& what) const {
  if (const auto type = element_type(value)) return *type;
  return Unsupported("the element type of " + what + " (\"" + value +
                     "\") is not known when the model loads: declare it in the model's value_info");
}

Result<int64_t> Rewrite::NeedRank(const std::string& value, const std::string& what) const {
  if (const auto known = rank(value)) return *known;
  return Unsupported("the number of dims of " + what + " (\"" + value +
                     "\") is not known when the model loads: declare it in the model's value_info");
}

// ---- what takes its place ----

std::string Rewrite::MakeName() { return model_.names.Make(source_.first_output + "_" + node_.op_type()); }

proto::NodeProto& Rewrite::Append(const std::string& op, const std::vector<std::string>& inputs,
                                  const Attributes& attributes) {
  proto::NodeProto& node = *made_.Add();
  node.set_op_type(op);
  node.set_domain(OpsetDomain(kTargetOpset));
  node.set_name(node_.name());
  for (const std::string& input : inputs) node.add_input(input);
  for (const proto::AttributeProto& attribute : attributes) *node.add_attribute() = attribute;
  SetSource(node, source_);
  return node;
}

std::vector<std::string> Rewrite::AddMany(const std::string& op, const std::vector<std::string>& inputs, size_t count,
                                          const Attributes& attributes) {
  proto::NodeProto& node = Append(op, inputs, attributes);
  std::vector<std::string> results;
  for (size_t i = 0; i < count; ++i) {
    results.push_back(MakeName());
    node.add_output(results.back());
  }
  return results;
}

std::string Rewrite::Add(const std::string& op, const std::vector<std::string>& inputs, const Attributes& attributes) {
  return AddMany(op, inputs, 1, attributes).front();
}

std::string Rewrite::Finish(int output, const std::string& op, const std::vector<std::string>& inputs,
                            const Attributes& attributes) {
  std::string name = wants(output) ? node_.output(output) : MakeName();
  Append(op, inputs, attributes).add_output(name);
  return name;
}

void Rewrite::Keep() { *made_.Add() = node_; }

std::vector<std::string> Rewrite::KeepWith(const Attributes& changed, std::string_view dropped,
                                           const std::vector<int>& renamed) {
  proto::NodeProto& node = *made_.Add();
  node = node_;
  node.clear_attribute();
  for (const proto::AttributeProto& old : node_.attribute()) {
    const bool stays = old.name() != dropped && std::none_of(changed.begin(), changed.end(), [&](const auto& given) {
                         return given.name() == old.name();
                       });
    if (stays) *node.add_attribute() = old;
  }
  for (const proto::AttributeProto& attribute : changed) *node.add_attribute() = attribute;
  for (const int output : renamed) {
    while (node.output_size() <= output) node.add_output("");
    node.set_output(output, MakeName());
  }
  return {node.output().begin(), node.output().end()};
}

void Rewrite::FinishAll(const std::string& op, const std::vector<std::string>& inputs, const Attributes& attributes) {
  *Append(op, inputs, attributes).mutable_output() = node_.output();
}

void Rewrite::FinishFirst(int count, const std::string& op, const std::vector<std::string>& inputs,
                          const Attributes& attributes) {
  while (count > 0 && !wants(count - 1)) --count;
  proto::NodeProto& node = Append(op, inputs, attributes);
  for (int output = 0; output < count; ++output) node.add_output(node_.output(output));
}

std::string Rewrite::AddConstant(proto::TensorProto tensor) {
  proto::NodeProto& node = Append("Constant", {}, {proto::MakeAttribute("value", std::move(tensor))});
  node.clear_domain();  // the same in all opsets, and the loader looks for it
  node.add_output(MakeName());
  return node.output(0);
}

std::string Rewrite::AddInts(const std::vector<int64_t>& values) {
  proto::TensorProto tensor;
  tensor.set_data_type(proto::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  if (!values.empty()) tensor.set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return AddConstant(std::move(tensor));
}

std::string Rewrite::AddScalar(int32_t element_type, float value) {
  proto::TensorProto tensor;
  const auto set = [&](auto number) {
    tensor.set_data_type(element_type);
    tensor.set_raw_data(&number, sizeof number);
    return AddConstant(tensor);
  };
  switch (element_type) {
    case proto::TensorProto::FLOAT:
      return set(value);
    case proto::TensorProto::INT8:
      return set(static_cast<int8_t>(value));
    case proto::TensorProto::UINT8:
      return set(static_cast<uint8_t>(value));
    case proto::TensorProto::INT32:
      return set(static_cast<int32_t>(value));
    case proto::TensorProto::INT64:
      return set(static_cast<int64_t>(value));
    default:
      break;
  }
  // Rounded by Cast, when constants are folded.
  return Add("Cast", {AddScalar(proto::TensorProto::FLOAT, value)}, {IntAttribute("to", element_type)});
}

std::string Rewrite::AddTensor(const Tensor& tensor) {
  std::string name = MakeName();
  model_.tensors.AddInitializer(model_.graph, name, tensor);
  return name;
}

}  // namespace pt::contrib
