// Small ONNX models as bytes, written field by field: tests of the engine need no ONNX library.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace pt {

inline std::string OnnxVarint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
inline std::string OnnxNumber(uint64_t field, int64_t value) {
  return OnnxVarint(field << 3) + OnnxVarint(static_cast<uint64_t>(value));
}
inline std::string OnnxBytes(uint64_t field, std::string_view bytes) {
  return OnnxVarint(field << 3 | 2) + OnnxVarint(bytes.size()) + std::string(bytes);
}

// A dim below zero is named "batch".
inline std::string OnnxValueInfo(std::string_view name, const std::vector<int64_t>& dims, int64_t type = 1) {
  std::string shape;
  for (const int64_t dim : dims) shape += OnnxBytes(1, dim < 0 ? OnnxBytes(2, "batch") : OnnxNumber(1, dim));
  return OnnxBytes(1, name) + OnnxBytes(2, OnnxBytes(1, OnnxNumber(1, type) + OnnxBytes(2, shape)));
}
inline std::string OnnxTensor(std::string_view name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  std::string bytes, raw(values.size() * sizeof(float), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  for (const int64_t dim : dims) bytes += OnnxNumber(1, dim);
  return bytes + OnnxNumber(2, 1) + OnnxBytes(8, name) + OnnxBytes(9, raw);
}
inline std::string OnnxInts(std::string_view name, const std::vector<int64_t>& values) {
  std::string bytes = OnnxBytes(1, name);
  for (const int64_t value : values) bytes += OnnxNumber(8, value);
  return OnnxBytes(5, bytes + OnnxNumber(20, 7));
}

struct OnnxModel {
  std::string nodes, initializers, inputs, outputs;

  void AddNode(std::string_view op, const std::vector<std::string>& in, const std::vector<std::string>& out,
               std::string_view attributes = {}) {
    std::string node;
    for (const std::string& name : in) node += OnnxBytes(1, name);
    for (const std::string& name : out) node += OnnxBytes(2, name);
    nodes += OnnxBytes(1, node + OnnxBytes(4, op) + std::string(attributes));
  }
  void AddConstant(std::string_view name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
    initializers += OnnxBytes(5, OnnxTensor(name, dims, values));
  }
  void AddInput(std::string_view name, const std::vector<int64_t>& dims, int64_t type = 1) {
    inputs += OnnxBytes(11, OnnxValueInfo(name, dims, type));
  }
  void AddOutput(std::string_view name, const std::vector<int64_t>& dims, int64_t type = 1) {
    outputs += OnnxBytes(12, OnnxValueInfo(name, dims, type));
  }
  std::string bytes(int64_t opset = 17) const {
    return OnnxNumber(1, 8) + OnnxBytes(7, nodes + OnnxBytes(2, "test") + initializers + inputs + outputs) +
           OnnxBytes(8, OnnxNumber(2, opset));
  }
};

}  // namespace pt
