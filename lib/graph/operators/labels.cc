#include "partitiontuner/graph/operators/labels.h"

#include <string_view>

#include "lib/graph/operators/lists.h"

namespace pt {
namespace {

using OptionalTensor = std::optional<Tensor>;

Error InvalidLabels(std::string why) { return MakeError(ErrorCode::kInvalidInput, "graph.labels", std::move(why)); }

// A tensor of what an attribute holds; nothing where there is no such attribute.
Result<OptionalTensor> ListOf(const Node& node, const std::string& name) {
  if (node.find(name) == nullptr) return OptionalTensor();
  if (const auto* tensor = AttributeOf<Tensor>(node, name)) return OptionalTensor(*tensor);
  if (const auto* ints = AttributeOf<std::vector<int64_t>>(node, name))
    return OptionalTensor(Tensor::Int64({std::ssize(*ints)}, *ints));
  if (const auto* floats = AttributeOf<std::vector<float>>(node, name))
    return OptionalTensor(Tensor::Float32({std::ssize(*floats)}, *floats));
  if (const auto* strings = AttributeOf<std::vector<std::string>>(node, name)) {
    PT_ASSIGN(Tensor tensor, Tensor::FromStrings({std::ssize(*strings)}, *strings));
    return OptionalTensor(std::move(tensor));
  }
  return InvalidLabels("attribute \"" + name + "\" is not a list");
}

// The one attribute of several that is given.
Result<Tensor> OneOf(const Node& node, const std::string& role) {
  OptionalTensor list;
  for (const std::string_view kind : {"strings", "int64s", "floats", "tensor"}) {
    PT_ASSIGN(OptionalTensor given, ListOf(node, role + "_" + std::string(kind)));
    if (!given) continue;
    if (list) return InvalidLabels("has its " + role + " twice");
    list = std::move(given);
  }
  if (!list) return InvalidLabels("has no " + role);
  return *std::move(list);
}

}  // namespace

Result<LabelLists> ReadLabels(const Node& node) {
  PT_ASSIGN(Tensor keys, OneOf(node, "keys"));
  PT_ASSIGN(Tensor values, OneOf(node, "values"));
  return LabelLists{std::move(keys), std::move(values)};
}

Result<Tensor> ReadFirstLabels(const Node& node) {
  PT_ASSIGN(OptionalTensor classes, ListOf(node, "classes_strings"));
  if (!classes || classes->type() != DataType::kString) return InvalidLabels("needs a list classes_strings");
  return *std::move(classes);
}

Result<LabelLists> ReadCategoryMap(const Node& node) {
  PT_ASSIGN(OptionalTensor ints, ListOf(node, "cats_int64s"));
  PT_ASSIGN(OptionalTensor strings, ListOf(node, "cats_strings"));
  if (!ints || !strings || ints->type() != DataType::kInt64 || strings->type() != DataType::kString)
    return InvalidLabels("needs lists cats_int64s and cats_strings");
  return LabelLists{*std::move(ints), *std::move(strings)};
}

Result<OptionalTensor> ReadDefaultLabel(const Node& node, DataType type) {
  PT_ASSIGN(OptionalTensor given, ListOf(node, "default_tensor"));
  if (given) {
    if (given->type() == type && given->element_count() == 1) return given;
    return InvalidLabels("its default is not one element of the type of its values");
  }
  if (type == DataType::kFloat32) return OptionalTensor(Tensor::Float32({}, {node.float_or("default_float", -0.0F)}));
  if (type == DataType::kInt64) return OptionalTensor(Tensor::Int64({}, {node.int_or("default_int64", -1)}));
  if (type != DataType::kString) return OptionalTensor();
  PT_ASSIGN(Tensor text, Tensor::FromStrings({}, {node.string_or("default_string", "_Unused")}));
  return OptionalTensor(std::move(text));
}

Result<OneHotEncoderNode> ReadOneHotEncoder(const Node& node) {
  OneHotEncoderNode encoder{node.ints_or("cats_int64s", {}),
                            AttributeOr(node, "cats_strings", std::vector<std::string>()),
                            node.int_or("zeros", 1) != 0};
  if (encoder.ints.empty() == encoder.strings.empty())
    return InvalidLabels("exactly one of cats_int64s and cats_strings is expected");
  return encoder;
}

float ReadThreshold(const Node& node) { return node.float_or("threshold", 0.0F); }

}  // namespace pt
