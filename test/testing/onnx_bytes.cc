#include "test/testing/onnx_bytes.h"

#include <bit>
#include <charconv>

namespace pt::testing {
namespace {

std::string Plain(const void* data, size_t bytes) { return {static_cast<const char*>(data), bytes}; }

Wire AttributeStart(std::string_view name, int type) { return Wire().Bytes(1, name).Signed(20, type); }

Wire TensorStart(std::string_view name, int type, const std::vector<int64_t>& dims) {
  Wire wire;
  for (int64_t d : dims) wire.Signed(1, d);
  wire.Signed(2, type);
  if (!name.empty()) wire.Bytes(8, name);
  return wire;
}

Wire Opset(const std::pair<std::string, int64_t>& opset) {
  return Wire().Bytes(1, opset.first).Signed(2, opset.second);
}

}  // namespace

Wire& Wire::Varint(uint64_t value) {
  for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value % 128 + 128);
  bytes_ += static_cast<char>(value);
  return *this;
}

Wire& Wire::Number(uint32_t field, uint64_t value) { return Tag(field, 0).Varint(value); }

Wire& Wire::Float(uint32_t field, float value) {
  Tag(field, 5);
  bytes_ += Plain(&value, sizeof value);
  return *this;
}

Wire& Wire::Bytes(uint32_t field, std::string_view bytes) {
  Tag(field, 2).Varint(bytes.size());
  bytes_ += bytes;
  return *this;
}

Wire IntAttribute(std::string_view name, int64_t value) { return AttributeStart(name, 2).Signed(3, value); }

Wire IntsAttribute(std::string_view name, const std::vector<int64_t>& values) {
  Wire wire = AttributeStart(name, 7);
  for (int64_t v : values) wire.Signed(8, v);
  return wire;
}

Wire FloatAttribute(std::string_view name, float value) { return AttributeStart(name, 1).Float(2, value); }
Wire FloatsAttribute(std::string_view name, const std::vector<float>& values) {
  Wire wire = AttributeStart(name, 6);
  for (float v : values) wire.Float(7, v);
  return wire;
}
Wire StringAttribute(std::string_view name, std::string_view value) { return AttributeStart(name, 3).Bytes(4, value); }
Wire StringsAttribute(std::string_view name, const std::vector<std::string>& values) {
  Wire wire = AttributeStart(name, 8);
  for (const std::string& value : values) wire.Bytes(9, value);
  return wire;
}
Wire TensorAttribute(std::string_view name, const Wire& tensor) { return AttributeStart(name, 4).Message(5, tensor); }
Wire GraphAttribute(std::string_view name, const Wire& graph) { return AttributeStart(name, 5).Message(6, graph); }
Wire ReferenceAttribute(std::string_view name, std::string_view to, int type) {
  return AttributeStart(name, type).Bytes(21, to);
}

Wire RawTensor(std::string_view name, int type, const std::vector<int64_t>& dims, std::string_view bytes) {
  return TensorStart(name, type, dims).Bytes(9, bytes);
}

Wire FloatTensor(std::string_view name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return RawTensor(name, 1, dims, Plain(values.data(), values.size() * sizeof(float)));
}

Wire Int64Tensor(std::string_view name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
  return RawTensor(name, 7, dims, Plain(values.data(), values.size() * sizeof(int64_t)));
}

Wire ExternalTensor(std::string_view name, int type, const std::vector<int64_t>& dims,
                    const std::vector<std::pair<std::string, std::string>>& entries) {
  Wire wire = TensorStart(name, type, dims);
  for (const auto& [key, value] : entries) wire.Message(13, Wire().Bytes(1, key).Bytes(2, value));
  return wire.Number(14, 1);
}

Wire ValueInfo(std::string_view name, int type, const std::vector<std::string>& dims) {
  Wire shape;
  for (const std::string& dim : dims) {
    int64_t number = 0;
    const auto [end, code] = std::from_chars(dim.data(), dim.data() + dim.size(), number);
    const bool is_number = code == std::errc() && end == dim.data() + dim.size();
    shape.Message(1, is_number ? Wire().Signed(1, number) : dim.empty() ? Wire() : Wire().Bytes(2, dim));
  }
  return Wire().Bytes(1, name).Message(2, Wire().Message(1, Wire().Signed(1, type).Message(2, shape)));
}

Wire NodeBytes(std::string_view op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
               const std::vector<Wire>& attributes, std::string_view name, std::string_view domain) {
  Wire wire;
  for (const std::string& input : inputs) wire.Bytes(1, input);
  for (const std::string& output : outputs) wire.Bytes(2, output);
  if (!name.empty()) wire.Bytes(3, name);
  wire.Bytes(4, op);
  for (const Wire& attribute : attributes) wire.Message(5, attribute);
  if (!domain.empty()) wire.Bytes(7, domain);
  return wire;
}

Wire GraphBytes(const GraphParts& parts) {
  Wire wire;
  for (const Wire& node : parts.nodes) wire.Message(1, node);
  if (!parts.name.empty()) wire.Bytes(2, parts.name);
  for (const Wire& tensor : parts.initializers) wire.Message(5, tensor);
  for (const Wire& info : parts.inputs) wire.Message(11, info);
  for (const Wire& info : parts.outputs) wire.Message(12, info);
  for (const Wire& info : parts.value_infos) wire.Message(13, info);
  for (const Wire& tensor : parts.sparse_initializers) wire.Message(15, tensor);
  return wire;
}

Wire FunctionBytes(const FunctionParts& parts) {
  Wire wire;
  wire.Bytes(1, parts.name);
  for (const std::string& name : parts.inputs) wire.Bytes(4, name);
  for (const std::string& name : parts.outputs) wire.Bytes(5, name);
  for (const std::string& name : parts.attributes) wire.Bytes(6, name);
  for (const Wire& node : parts.nodes) wire.Message(7, node);
  for (const auto& opset : parts.opsets) wire.Message(9, Opset(opset));
  wire.Bytes(10, parts.domain);
  for (const Wire& attribute : parts.attribute_defaults) wire.Message(11, attribute);
  return wire;
}

std::string ModelBytes(const ModelParts& parts) {
  Wire wire;
  wire.Signed(1, parts.ir_version);
  for (const auto& opset : parts.opsets) wire.Message(8, Opset(opset));
  wire.Message(7, parts.graph);
  for (const Wire& function : parts.functions) wire.Message(25, function);
  return wire.bytes();
}

std::string ModelBytes(const GraphParts& parts) {
  ModelParts model;
  model.graph = GraphBytes(parts);
  return ModelBytes(model);
}

}  // namespace pt::testing
