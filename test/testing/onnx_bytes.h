// Writes ONNX models byte by byte, valid and broken ones, without the ONNX library: tests of the
// loader must be able to say what no library would write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pt::testing {

// One protobuf message in wire form.
class Wire {
 public:
  Wire& Number(uint32_t field, uint64_t value);
  Wire& Signed(uint32_t field, int64_t value) { return Number(field, static_cast<uint64_t>(value)); }
  Wire& Float(uint32_t field, float value);
  Wire& Bytes(uint32_t field, std::string_view bytes);
  Wire& Message(uint32_t field, const Wire& message) { return Bytes(field, message.bytes()); }
  Wire& Raw(std::string_view bytes) { return bytes_ += bytes, *this; }
  Wire& Tag(uint32_t field, uint32_t wire_type) { return Varint(uint64_t{field} << 3 | wire_type); }
  Wire& Varint(uint64_t value);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Attributes.
Wire IntAttribute(std::string_view name, int64_t value);
Wire IntsAttribute(std::string_view name, const std::vector<int64_t>& values);
Wire FloatAttribute(std::string_view name, float value);
Wire FloatsAttribute(std::string_view name, const std::vector<float>& values);
Wire StringAttribute(std::string_view name, std::string_view value);
Wire StringsAttribute(std::string_view name, const std::vector<std::string>& values);
Wire TensorAttribute(std::string_view name, const Wire& tensor);
Wire GraphAttribute(std::string_view name, const Wire& graph);
Wire ReferenceAttribute(std::string_view name, std::string_view to, int type);

// Tensors; type is the number of TensorProto.DataType.
Wire RawTensor(std::string_view name, int type, const std::vector<int64_t>& dims, std::string_view bytes);
Wire FloatTensor(std::string_view name, const std::vector<int64_t>& dims, const std::vector<float>& values);
Wire Int64Tensor(std::string_view name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values);
Wire ExternalTensor(std::string_view name, int type, const std::vector<int64_t>& dims,
                    const std::vector<std::pair<std::string, std::string>>& entries);

// A tensor type; a dim is a number or a name, "" leaves it without either.
Wire ValueInfo(std::string_view name, int type, const std::vector<std::string>& dims);

Wire NodeBytes(std::string_view op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
               const std::vector<Wire>& attributes = {}, std::string_view name = {}, std::string_view domain = {});

struct GraphParts {
  std::vector<Wire> nodes, inputs, outputs, initializers, sparse_initializers, value_infos;
  std::string name = "g";
};
Wire GraphBytes(const GraphParts& parts);

struct FunctionParts {
  std::string domain, name;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<Wire> nodes, attribute_defaults;
  std::vector<std::pair<std::string, int64_t>> opsets = {{"", 25}};
};
Wire FunctionBytes(const FunctionParts& parts);

struct ModelParts {
  Wire graph;
  std::vector<Wire> functions;
  std::vector<std::pair<std::string, int64_t>> opsets = {{"", 25}};
  int64_t ir_version = 10;
};
std::string ModelBytes(const ModelParts& parts);
// With the defaults of ModelParts.
std::string ModelBytes(const GraphParts& parts);

}  // namespace pt::testing
