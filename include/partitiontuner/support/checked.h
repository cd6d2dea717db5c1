// Overflow-checked size arithmetic. Every size that comes from a file goes through these.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace pt {

inline std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

inline std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

// Product of dims; nullopt when a dim is negative or the product does not fit. Of no dims: 1.
inline std::optional<int64_t> CheckedProduct(std::span<const int64_t> dims) {
  int64_t product = 1;
  bool zero = false;
  for (int64_t d : dims) {
    if (d < 0) return std::nullopt;
    if (d == 0) zero = true;
    if (!zero && __builtin_mul_overflow(product, d, &product)) return std::nullopt;
  }
  return zero ? 0 : product;
}

// bytes rounded up to a multiple of alignment (a power of two); nullopt on overflow.
inline std::optional<uint64_t> CheckedAlignUp(uint64_t bytes, uint64_t alignment) {
  uint64_t r = 0;
  if (__builtin_add_overflow(bytes, alignment - 1, &r)) return std::nullopt;
  return r & ~(alignment - 1);
}

}  // namespace pt
