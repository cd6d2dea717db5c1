// Tensor: a constant array, row-major on the host. Bytes are shared, never changed once made.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/graph/data_type.h"
#include "partitiontuner/support/hash.h"
#include "partitiontuner/support/result.h"

namespace pt {

// Bytes of a tensor of that type and dims, sub-byte types packed. Errors (kInvalidInput): a negative dim,
// a product that does not fit, a type without a fixed size.
Result<int64_t> TensorByteCount(DataType type, const std::vector<int64_t>& dims);

class Tensor {
 public:
  Tensor() = default;

  // Copies or adopts; fails (kInvalidInput) when dims are negative, overflow, or do not match the bytes.
  // Adopted storage stays alive by `owner`. Sub-byte types are packed, ceil(n·bits/8) bytes.
  static Result<Tensor> FromBytes(DataType type, std::vector<int64_t> dims, std::string bytes);
  static Result<Tensor> FromShared(DataType type, std::vector<int64_t> dims, std::shared_ptr<const void> owner,
                                   std::span<const std::byte> bytes);
  static Result<Tensor> FromStrings(std::vector<int64_t> dims, std::vector<std::string> strings);

  // Convenience for code and tests; the element count must match (asserted).
  template <typename T>
  static Tensor Of(DataType type, std::vector<int64_t> dims, std::span<const T> values) {
    std::string bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    return FromBytes(type, std::move(dims), std::move(bytes)).value();
  }
  static Tensor Float32(std::vector<int64_t> dims, const std::vector<float>& values) {
    return Of<float>(DataType::kFloat32, std::move(dims), values);
  }
  static Tensor Int64(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
    return Of<int64_t>(DataType::kInt64, std::move(dims), values);
  }

  DataType type() const { return type_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t element_count() const { return element_count_; }
  std::span<const std::byte> bytes() const { return bytes_; }  // empty for strings
  std::span<const std::string> strings() const {
    return strings_ ? std::span(*strings_) : std::span<const std::string>();
  }

  // Elements as T; sizeof(T) must be the type's size (asserted).
  template <typename T>
  std::span<const T> values() const {
    assert(BytesOf(type_) == static_cast<int64_t>(sizeof(T)));
    return {reinterpret_cast<const T*>(bytes_.data()), static_cast<size_t>(element_count_)};
  }
  // Elements of any integer or bool type widened; empty for other types.
  std::vector<int64_t> ToInts() const;

  // The hash of type, dims and content; computed once on first call, thread-safe.
  Hash128 content_hash() const;

 private:
  struct LazyHash;
  DataType type_ = DataType::kUndefined;
  std::vector<int64_t> dims_;
  int64_t element_count_ = 0;
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const std::vector<std::string>> strings_;
  std::shared_ptr<LazyHash> hash_;
};

}  // namespace pt
