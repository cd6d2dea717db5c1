#include "lib/onnx/contrib/packed_parts.h"

#include "partitiontuner/support/dims_text.h"

namespace pt::contrib {

namespace {

Result<DataType> PackedType(int64_t bits) {
  if (bits == 2) return DataType::kUint2;
  if (bits == 4) return DataType::kUint4;
  if (bits == 8) return DataType::kUint8;
  return Rewrite::Unsupported(std::to_string(bits) + " bits are not supported: 2, 4 and 8 are");
}

Error NotBytes(const std::string& label, std::string_view type) {
  return Rewrite::Unsupported(label + " is of element type " + std::string(type) + "; uint8 is needed");
}

// The first element has a byte's lowest bits.
std::string OneAByte(Rewrite& r, const std::string& bytes, const Packing& packing, const std::vector<int64_t>& dims) {
  if (packing.bits == 8) return r.Add("Reshape", {bytes, r.AddInts(dims)});
  std::vector<int64_t> places;
  for (int64_t place = 0; place < 8; place += packing.bits) places.push_back(place);
  const std::string column = r.Add("Reshape", {bytes, r.AddInts({-1, 1})});
  return r.Add("Reshape", {ElementsOfBytes(r, column, packing.bits, places), r.AddInts(dims)});
}

}  // namespace

Result<Packing> PackingOf(Rewrite& r, int64_t bits, std::initializer_list<int> inputs) {
  Packing packing = {bits};
  PT_ASSIGN(packing.type, PackedType(bits));
  for (const int input : inputs) {
    if (!r.has(input)) continue;
    PT_ASSIGN(const Tensor* bytes, r.Constant(r.in(input)));
    if (bytes == nullptr) packing.type = DataType::kUint8;
  }
  return packing;
}

std::string ElementsOfBytes(Rewrite& r, const std::string& column, int64_t bits, const std::vector<int64_t>& places) {
  const auto as_bytes = [&](const std::vector<int64_t>& values) {
    return r.Add("Cast", {r.AddInts(values)}, {IntAttribute("to", proto::TensorProto::UINT8)});
  };
  const std::string moved = r.Add("BitShift", {column, as_bytes(places)}, {TextAttribute("direction", "RIGHT")});
  return r.Add("BitwiseAnd", {moved, as_bytes({(int64_t{1} << bits) - 1})});
}

Status CheckBlock(int64_t block) {
  if (block >= 16 && (block & (block - 1)) == 0) return {};
  return Rewrite::Invalid("block_size is " + std::to_string(block) + "; a power of two from 16 on is needed");
}

Result<std::string> Reinterpret(Rewrite& r, int input, const std::string& what, const Packing& packing,
                                std::vector<int64_t> dims) {
  const std::string label = what + " \"" + r.in(input) + "\"";
  PT_ASSIGN(const Tensor* bytes, r.Constant(r.in(input)));
  if (bytes == nullptr) {
    PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(input), what));
    if (type != proto::TensorProto::UINT8) return NotBytes(label, proto::TensorProto::DataType_Name(type));
    return OneAByte(r, r.in(input), packing, dims);
  }
  if (bytes->type() != DataType::kUint8) return NotBytes(label, DataTypeName(bytes->type()));
  PT_ASSIGN(const DataType packed, PackedType(packing.bits));
  const auto owner = std::make_shared<const Tensor>(*bytes);
  auto elements = Tensor::FromShared(packed, dims, owner, owner->bytes());
  if (!elements.ok()) {
    return Rewrite::Invalid(label + " has " + std::to_string(owner->bytes().size()) + " bytes, which are not " +
                            DimsText(dims) + " elements of " + std::string(DataTypeName(packed)));
  }
  const std::string name = r.AddTensor(*elements);
  if (packing.type == packed) return name;
  return r.Add("Cast", {name}, {IntAttribute("to", proto::TensorProto::UINT8)});
}

Result<std::string> MiddleZeroPoints(Rewrite& r, const Packing& packing, std::vector<int64_t> dims) {
  PT_ASSIGN(const int64_t size, TensorByteCount(packing.type, dims));
  const int64_t middle = int64_t{1} << (packing.bits - 1);
  int64_t byte = middle;
  if (packing.type != DataType::kUint8) {
    for (int64_t place = packing.bits; place < 8; place += packing.bits) byte |= middle << place;
  }
  const std::string bytes(static_cast<size_t>(size), static_cast<char>(byte));
  PT_ASSIGN(const Tensor tensor, Tensor::FromBytes(packing.type, std::move(dims), bytes));
  return r.AddTensor(tensor);
}

}  // namespace pt::contrib
