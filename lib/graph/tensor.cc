#include "partitiontuner/graph/tensor.h"

#include <cstring>
#include <mutex>

#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/dims_text.h"

namespace pt {

struct Tensor::LazyHash {
  std::once_flag once;
  Hash128 hash;
};

namespace {

Error TensorError(std::string id, std::string message) {
  return MakeError(ErrorCode::kInvalidInput, std::move(id), std::move(message));
}

Result<int64_t> CountElements(const std::vector<int64_t>& dims) {
  for (int64_t d : dims) {
    if (d < 0)
      return TensorError("tensor.dims", "dims " + DimsText(dims) + " hold the negative number " + std::to_string(d));
  }
  const auto count = CheckedProduct(dims);
  if (!count) return TensorError("tensor.dims", "dims " + DimsText(dims) + " have more elements than 2^63-1");
  return *count;
}

// Sign- or zero-extends packed elements of 2 or 4 bits, low bits first.
void UnpackInts(std::span<const std::byte> bytes, int64_t count, int bits, bool is_signed, std::vector<int64_t>& out) {
  const int per_byte = 8 / bits;
  const int mask = (1 << bits) - 1;
  for (int64_t i = 0; i < count; ++i) {
    const int byte = std::to_integer<int>(bytes[static_cast<size_t>(i / per_byte)]);
    int v = (byte >> (static_cast<int>(i % per_byte) * bits)) & mask;
    if (is_signed && (v >> (bits - 1)) != 0) v -= 1 << bits;
    out.push_back(v);
  }
}

template <typename T>
std::vector<int64_t> Widen(std::span<const std::byte> bytes, int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    T v;
    std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int64_t>(v);
  }
  return out;
}

}  // namespace

Result<int64_t> TensorByteCount(DataType type, const std::vector<int64_t>& dims) {
  const int bits = BitsOf(type);
  if (bits == 0) return TensorError("tensor.type", "type " + std::string(DataTypeName(type)) + " has no fixed size");
  PT_ASSIGN(const int64_t count, CountElements(dims));
  const auto total_bits = CheckedMul(count, bits);
  const auto rounded = total_bits ? CheckedAdd(*total_bits, 7) : std::nullopt;
  if (!rounded) return TensorError("tensor.dims", "dims " + DimsText(dims) + " need more than 2^60 bytes");
  return *rounded / 8;
}

Result<Tensor> Tensor::FromBytes(DataType type, std::vector<int64_t> dims, std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const std::span<const std::byte> view = std::as_bytes(std::span(*owner));
  return FromShared(type, std::move(dims), std::move(owner), view);
}

Result<Tensor> Tensor::FromShared(DataType type, std::vector<int64_t> dims, std::shared_ptr<const void> owner,
                                  std::span<const std::byte> bytes) {
  PT_ASSIGN(const int64_t needed, TensorByteCount(type, dims));
  if (static_cast<uint64_t>(needed) != bytes.size()) {
    return TensorError("tensor.bytes", std::string(DataTypeName(type)) + DimsText(dims) + " needs " +
                                           std::to_string(needed) + " bytes, given are " +
                                           std::to_string(bytes.size()));
  }
  Tensor tensor;
  tensor.type_ = type;
  tensor.element_count_ = *CheckedProduct(dims);
  tensor.dims_ = std::move(dims);
  tensor.owner_ = std::move(owner);
  tensor.bytes_ = bytes;
  tensor.hash_ = std::make_shared<LazyHash>();
  return tensor;
}

Result<Tensor> Tensor::FromStrings(std::vector<int64_t> dims, std::vector<std::string> strings) {
  PT_ASSIGN(const int64_t count, CountElements(dims));
  if (static_cast<uint64_t>(count) != strings.size()) {
    return TensorError("tensor.bytes", "string" + DimsText(dims) + " needs " + std::to_string(count) +
                                           " strings, given are " + std::to_string(strings.size()));
  }
  Tensor tensor;
  tensor.type_ = DataType::kString;
  tensor.element_count_ = count;
  tensor.dims_ = std::move(dims);
  tensor.strings_ = std::make_shared<const std::vector<std::string>>(std::move(strings));
  tensor.hash_ = std::make_shared<LazyHash>();
  return tensor;
}

std::vector<int64_t> Tensor::ToInts() const {
  if (BitsOf(type_) < 8 && IsInteger(type_)) {
    std::vector<int64_t> out;
    out.reserve(static_cast<size_t>(element_count_));
    UnpackInts(bytes_, element_count_, BitsOf(type_), type_ == DataType::kInt4 || type_ == DataType::kInt2, out);
    return out;
  }
  return VisitType(type_, [&]<typename T>() -> std::vector<int64_t> {
    // A byte of a bool that a file filled with something else than 0 or 1 is read as the number it is.
    if constexpr (std::is_same_v<T, bool>) return Widen<uint8_t>(bytes_, element_count_);
    if constexpr (std::is_integral_v<T>) return Widen<T>(bytes_, element_count_);
    return {};
  });
}

Hash128 Tensor::content_hash() const {
  if (hash_ == nullptr) return {};
  std::call_once(hash_->once, [this] {
    const std::string head = std::string(DataTypeName(type_)) + DimsText(dims_) + "\n";
    if (strings_ == nullptr) {
      const Hash128 content = HashBytes(bytes_);
      hash_->hash = HashText(head + ToHex(content));
      return;
    }
    std::string text = head;
    for (const std::string& s : *strings_) text += std::to_string(s.size()) + ":" + s;
    hash_->hash = HashText(text);
  });
  return hash_->hash;
}

}  // namespace pt
