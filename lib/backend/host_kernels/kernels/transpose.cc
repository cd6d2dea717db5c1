#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/transpose.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include "lib/backend/host_kernels/kernels/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
HWY_INLINE void PlainBlock(const T* HWY_RESTRICT from, int64_t from_stride, T* HWY_RESTRICT to, int64_t to_stride,
                           int64_t rows, int64_t columns) {
  if (rows < columns) {
    for (int64_t j = 0; j < rows; ++j) {
      for (int64_t i = 0; i < columns; ++i) to[j * to_stride + i] = from[i * from_stride + j];
    }
  } else {
    for (int64_t i = 0; i < columns; ++i) {
      for (int64_t j = 0; j < rows; ++j) to[j * to_stride + i] = from[i * from_stride + j];
    }
  }
}

#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR
// Vectors of unknown length cannot lie in arrays.
template <typename T>
void Block(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows, int64_t columns) {
  PlainBlock(from, from_stride, to, to_stride, rows, columns);
}
#else
// A square as wide as a vector of 16 bytes: with n rows, log2(n) rounds of interleaving row i with row i + n/2.
template <typename T>
HWY_INLINE void Square(const T* HWY_RESTRICT from, int64_t from_stride, T* HWY_RESTRICT to, int64_t to_stride) {
  constexpr size_t kSide = 16 / sizeof(T);
  const hn::FixedTag<T, kSide> d;
  hn::Vec<decltype(d)> rows[kSide], next[kSide];
  for (size_t i = 0; i < kSide; ++i) rows[i] = hn::LoadU(d, from + static_cast<int64_t>(i) * from_stride);
  for (size_t round = 1; round < kSide; round *= 2) {
    for (size_t i = 0; i < kSide / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + kSide / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + kSide / 2]);
    }
    for (size_t i = 0; i < kSide; ++i) rows[i] = next[i];
  }
  for (size_t i = 0; i < kSide; ++i) hn::StoreU(rows[i], d, to + static_cast<int64_t>(i) * to_stride);
}

template <typename T>
void Block(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows, int64_t columns) {
  constexpr int64_t kSide = 16 / sizeof(T);
  const int64_t whole_rows = rows / kSide * kSide, whole_columns = columns / kSide * kSide;
  for (int64_t i = 0; i < whole_columns; i += kSide) {
    for (int64_t j = 0; j < whole_rows; j += kSide) {
      Square(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
    }
  }
  PlainBlock(from + whole_rows, from_stride, to + whole_rows * to_stride, to_stride, rows - whole_rows, columns);
  PlainBlock(from + whole_columns * from_stride, from_stride, to + whole_columns, to_stride, whole_rows,
             columns - whole_columns);
}
#endif

template <typename T>
void TypedBlock(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t rows, int64_t columns) {
  Block(static_cast<const T*>(from), from_stride, static_cast<T*>(to), to_stride, rows, columns);
}

}  // namespace

void TransposeBlock(int64_t bytes, const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t rows,
                    int64_t columns) {
  const auto block = bytes == 1   ? TypedBlock<uint8_t>
                     : bytes == 2 ? TypedBlock<uint16_t>
                     : bytes == 4 ? TypedBlock<uint32_t>
                                  : TypedBlock<uint64_t>;
  block(from, from_stride, to, to_stride, rows, columns);
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(TransposeBlock);

}  // namespace

void TransposeBlock(int64_t bytes, const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t rows,
                    int64_t columns) {
  HWY_DYNAMIC_DISPATCH(TransposeBlock)(bytes, from, from_stride, to, to_stride, rows, columns);
}

}  // namespace pt::host
#endif
