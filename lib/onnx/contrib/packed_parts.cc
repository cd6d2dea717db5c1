#include "lib/onnx/contrib/packed_parts.h"

#include "partitiontuner/support/dims_text.h"

namespace pt::contrib {

Result<DataType> PackedType(int64_t bits) {
  if (bits == 2) return DataType::kUint2;
  if (bits == 4) return DataType::kUint4;
  if (bits == 8) return DataType::kUint8;
  return Rewrite::Unsupported(std::to_string(bits) + " bits are not supported: 2, 4 and 8 are");
}

Status CheckBlock(int64_t block) {
  if (block >= 16 && (block & (block - 1)) == 0) return {};
  return Rewrite::Invalid("block_size is " + std::to_string(block) + "; a power of two from 16 on is needed");
}

Result<std::string> Reinterpret(Rewrite& r, int input, const std::string& what, DataType type,
                                std::vector<int64_t> dims) {
  PT_ASSIGN(const Tensor* bytes, r.Constant(r.in(input)));
  if (bytes == nullptr)
    return Rewrite::Unsupported(what + " \"" + r.in(input) + "\" is computed; an initialiser is needed");
  if (bytes->type() != DataType::kUint8)
    return Rewrite::Unsupported(what + " \"" + r.in(input) + "\" is of element type " +
                                std::string(DataTypeName(bytes->type())) + "; uint8 is needed");
  const auto owner = std::make_shared<const Tensor>(*bytes);
  auto elements = Tensor::FromShared(type, dims, owner, owner->bytes());
  if (!elements.ok()) {
    return Rewrite::Invalid(what + " \"" + r.in(input) + "\" has " + std::to_string(bytes->bytes().size()) +
                            " bytes, which are not " + DimsText(dims) + " elements of " +
                            std::string(DataTypeName(type)));
  }
  return r.AddTensor(*elements);
}

Result<std::string> MiddleZeroPoints(Rewrite& r, DataType type, std::vector<int64_t> dims) {
  PT_ASSIGN(const int64_t size, TensorByteCount(type, dims));
  const char byte = static_cast<char>(type == DataType::kUint2 ? 0xAA : type == DataType::kUint4 ? 0x88 : 0x80);
  PT_ASSIGN(const Tensor tensor,
            Tensor::FromBytes(type, std::move(dims), std::string(static_cast<size_t>(size), byte)));
  return r.AddTensor(tensor);
}

}  // namespace pt::contrib
