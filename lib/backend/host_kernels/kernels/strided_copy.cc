#include "lib/backend/host_kernels/kernels/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/transpose.h"

namespace pt::host {
namespace {

// Bytes that one item of work copies at most, so that long runs are shared too.
constexpr int64_t kPieceBytes = 1 << 15;
// Elements that one item of a transposition has at least.
constexpr int64_t kLeastElements = 1 << 12;

int64_t Ceil(int64_t n, int64_t by) { return (n + by - 1) / by; }

// Runs of a few bytes are too short for a call of memcpy.
void CopyBytes(const char* from, char* to, size_t n) {
  const auto ends = [&](auto size) {  // two overlapping pieces
    constexpr size_t kSize = decltype(size)::value;
    char head[kSize], tail[kSize];
    std::memcpy(head, from, kSize);
    std::memcpy(tail, from + n - kSize, kSize);
    std::memcpy(to, head, kSize);
    std::memcpy(to + n - kSize, tail, kSize);
  };
  if (n > 64) {
    std::memcpy(to, from, n);
  } else if (n > 32) {
    ends(std::integral_constant<size_t, 32>());
  } else if (n > 16) {
    ends(std::integral_constant<size_t, 16>());
  } else if (n >= 8) {
    ends(std::integral_constant<size_t, 8>());
  } else if (n >= 4) {
    ends(std::integral_constant<size_t, 4>());
  } else {
    for (size_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

template <typename T>
void CopyElements(const char* from_bytes, char* to_bytes, int64_t n, const Walk<2>::Offsets& strides) {
  const T* from = reinterpret_cast<const T*>(from_bytes);
  T* to = reinterpret_cast<T*>(to_bytes);
  if (strides[1] != 1) {
    for (int64_t i = 0; i < n; ++i) to[i * strides[1]] = from[i * strides[0]];
  } else if (strides[0] == 0) {
    std::fill(to, to + n, *from);
  } else if (strides[0] == -1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[-i];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * strides[0]];
  }
}

using ElementCopy = void (*)(const char*, char*, int64_t, const Walk<2>::Offsets&);
ElementCopy CopyOf(int64_t bytes) {
  return bytes == 1   ? CopyElements<uint8_t>
         : bytes == 2 ? CopyElements<uint16_t>
         : bytes == 4 ? CopyElements<uint32_t>
                      : CopyElements<uint64_t>;
}

}  // namespace

StridedCopy::StridedCopy(std::vector<CopyDim> dims, int64_t element_bytes) : bytes_(element_bytes) {
  if (element_bytes == 16) {  // as two halves
    bytes_ = 8;
    for (CopyDim& dim : dims) {
      dim.from *= 2;
      dim.to *= 2;
    }
    dims.push_back({2, 1, 1});
  }
  std::stable_sort(dims.begin(), dims.end(), [](const CopyDim& a, const CopyDim& b) { return a.to < b.to; });
  for (const CopyDim& dim : dims) walk_.Push(dim.size, {dim.from, dim.to});
  if (walk_.rank > 1 && walk_.strides[0][1] == 1 && walk_.strides[0][0] != 1) {
    for (size_t d = 1; d < walk_.rank; ++d) {
      if (walk_.strides[d][0] == 1) transposed_ = d;
    }
  }
  // Where neither side is contiguous, the longer loop is the inner one.
  const bool runs = walk_.rank == 0 || walk_.strides[0] == Walk<2>::Offsets{1, 1};
  if (!runs && transposed_ == 0 && walk_.rank > 1 && walk_.sizes[0] < 16 && walk_.sizes[1] > walk_.sizes[0]) {
    std::swap(walk_.sizes[0], walk_.sizes[1]);
    std::swap(walk_.strides[0], walk_.strides[1]);
  }
  outer_ = transposed_ == 0 ? walk_.Without(0) : walk_.Without(transposed_).Without(0);
}

int64_t StridedCopy::run_bytes() const { return walk_.is_contiguous() ? walk_.count * bytes_ : 0; }

void StridedCopy::Run(const void* from, void* to, Team* team) const {
  if (walk_.count == 0) return;
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  const int64_t n = walk_.inner_size(), piece = kPieceBytes / bytes_, pieces = Ceil(n, piece);
  const Walk<2>::Offsets strides = walk_.rank == 0 ? Walk<2>::Offsets{1, 1} : walk_.strides[0];
  if (transposed_ != 0) {
    const int64_t rows = walk_.sizes[transposed_], to_stride = walk_.strides[transposed_][1];
    // Whole cache lines of the source; more where they give little work.
    const int64_t line = std::max<int64_t>(16, 64 / bytes_);
    const int64_t block = Ceil(kLeastElements / std::min(n, piece) + 1, line) * line, blocks = Ceil(rows, block);
    const double work = static_cast<double>(std::min(n, piece) * std::min(rows, block)) * 0.3 + 5;
    ParallelRanges(team, outer_.count * blocks * pieces, work, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t first = item % pieces * piece, row = item / pieces % blocks * block;
        const Walk<2>::Offsets at = outer_.At(item / pieces / blocks);
        TransposeBlock(bytes_, source + (at[0] + row + first * strides[0]) * bytes_, strides[0],
                       target + (at[1] + row * to_stride + first) * bytes_, to_stride, std::min(block, rows - row),
                       std::min(piece, n - first));
      }
    });
    return;
  }
  const bool runs = strides[0] == 1 && strides[1] == 1;
  const ElementCopy copy = CopyOf(bytes_);
  const double work = static_cast<double>(std::min(n, piece)) * (runs ? 0.05 * static_cast<double>(bytes_) : 0.5) + 3;
  ParallelRanges(team, outer_.count * pieces, work, [&](int64_t begin, int64_t end) {
    Cursor<2> cursor(outer_, begin / pieces);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % pieces * piece, count = std::min(piece, n - first);
      const char* here = source + (cursor.offsets()[0] + first * strides[0]) * bytes_;
      char* there = target + (cursor.offsets()[1] + first * strides[1]) * bytes_;
      if (runs) {
        CopyBytes(here, there, static_cast<size_t>(count * bytes_));
      } else {
        copy(here, there, count, strides);
      }
      if (item % pieces == pieces - 1) cursor.Next();
    }
  });
}

}  // namespace pt::host
