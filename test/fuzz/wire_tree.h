// The fields of an ONNX model as a tree, read and written without protobuf: what is changed in it keeps right lengths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pt::testing {

// The messages of ONNX that others hold.
enum class WireKind : uint8_t {
  kLeaf,  // a number, a string or packed numbers
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kValueInfo,
  kType,
  kTensorType,
  kShape,
  kDim,
  kElementType,  // of a sequence or an optional value
  kFunction,
  kPair,  // of strings, or of a domain and its version
};

struct WireField {
  uint32_t number = 0;
  uint8_t wire = 0;  // 0 a varint, 1 eight bytes, 2 a length and bytes, 5 four bytes
  WireKind kind = WireKind::kLeaf;
  uint64_t varint = 0;
  std::string bytes;              // of leaves that are no varint
  std::vector<WireField> fields;  // of messages
};

// None where the bytes are no message of that kind, or one that holds groups.
std::optional<std::vector<WireField>> ReadWire(std::string_view bytes, WireKind kind = WireKind::kModel);
std::string WriteWire(const std::vector<WireField>& fields);

}  // namespace pt::testing
