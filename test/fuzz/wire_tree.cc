#include "test/fuzz/wire_tree.h"

#include <algorithm>

namespace pt::testing {
namespace {

struct Row {
  WireKind in;
  uint32_t number;
  WireKind kind;
};

using K = WireKind;
constexpr Row kMessages[] = {{K::kModel, 7, K::kGraph},
                             {K::kModel, 8, K::kPair},
                             {K::kModel, 14, K::kPair},
                             {K::kModel, 25, K::kFunction},
                             {K::kGraph, 1, K::kNode},
                             {K::kGraph, 5, K::kTensor},
                             {K::kGraph, 11, K::kValueInfo},
                             {K::kGraph, 12, K::kValueInfo},
                             {K::kGraph, 13, K::kValueInfo},
                             {K::kGraph, 15, K::kSparseTensor},
                             {K::kNode, 5, K::kAttribute},
                             {K::kAttribute, 5, K::kTensor},
                             {K::kAttribute, 6, K::kGraph},
                             {K::kAttribute, 10, K::kTensor},
                             {K::kAttribute, 11, K::kGraph},
                             {K::kAttribute, 14, K::kType},
                             {K::kAttribute, 22, K::kSparseTensor},
                             {K::kTensor, 13, K::kPair},
                             {K::kSparseTensor, 1, K::kTensor},
                             {K::kSparseTensor, 2, K::kTensor},
                             {K::kValueInfo, 2, K::kType},
                             {K::kType, 1, K::kTensorType},
                             {K::kType, 4, K::kElementType},
                             {K::kType, 8, K::kTensorType},
                             {K::kType, 9, K::kElementType},
                             {K::kElementType, 1, K::kType},
                             {K::kTensorType, 2, K::kShape},
                             {K::kShape, 1, K::kDim},
                             {K::kFunction, 7, K::kNode},
                             {K::kFunction, 9, K::kPair},
                             {K::kFunction, 11, K::kAttribute}};

WireKind KindOf(WireKind in, uint32_t number) {
  const auto* row = std::ranges::find_if(kMessages, [&](const Row& r) { return r.in == in && r.number == number; });
  return row == std::end(kMessages) ? WireKind::kLeaf : row->kind;
}

std::optional<uint64_t> TakeVarint(std::string_view& bytes) {
  uint64_t value = 0;
  for (uint32_t shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

bool TakeBytes(std::string_view& from, uint64_t count, std::string& to) {
  if (count > from.size()) return false;
  to = from.substr(0, count);
  from.remove_prefix(count);
  return true;
}

void AddVarint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

constexpr int kMostDepth = 50;

std::optional<std::vector<WireField>> Read(std::string_view bytes, WireKind kind, int depth) {
  std::vector<WireField> fields;
  while (!bytes.empty()) {
    const auto tag = TakeVarint(bytes);
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return std::nullopt;
    WireField field;
    field.number = static_cast<uint32_t>(*tag >> 3);
    field.wire = static_cast<uint8_t>(*tag & 7);
    if (field.wire == 0) {
      const auto value = TakeVarint(bytes);
      if (!value) return std::nullopt;
      field.varint = *value;
    } else if (field.wire == 2) {
      const auto length = TakeVarint(bytes);
      if (!length || !TakeBytes(bytes, *length, field.bytes)) return std::nullopt;
      field.kind = depth < kMostDepth ? KindOf(kind, field.number) : WireKind::kLeaf;
      if (field.kind != WireKind::kLeaf) {
        auto inner = Read(field.bytes, field.kind, depth + 1);
        if (inner) {
          field.fields = std::move(*inner);
          field.bytes.clear();
        } else {
          field.kind = WireKind::kLeaf;
        }
      }
    } else if ((field.wire != 1 && field.wire != 5) || !TakeBytes(bytes, field.wire == 1 ? 8 : 4, field.bytes)) {
      return std::nullopt;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace

std::optional<std::vector<WireField>> ReadWire(std::string_view bytes, WireKind kind) { return Read(bytes, kind, 0); }

std::string WriteWire(const std::vector<WireField>& fields) {
  std::string bytes;
  for (const WireField& field : fields) {
    AddVarint(bytes, uint64_t{field.number} << 3 | field.wire);
    if (field.wire == 0) {
      AddVarint(bytes, field.varint);
    } else if (field.wire == 2) {
      const std::string inner = field.kind == WireKind::kLeaf ? field.bytes : WriteWire(field.fields);
      AddVarint(bytes, inner.size());
      bytes += inner;
    } else {
      bytes += field.bytes;
    }
  }
  return bytes;
}

}  // namespace pt::testing
