// Some dims of N tensors that are walked together, each tensor with strides of its own. Neighbours that all of them
// walk as one are merged, so most walks have one or two dims.
#pragma once

#include <array>
#include <cassert>

#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

template <size_t N>
struct Walk {
  using Offsets = std::array<int64_t, N>;

  size_t rank = 0;
  int64_t count = 1;                          // of all dims
  std::array<int64_t, 2 * kMaxRank> sizes{};  // innermost first
  std::array<Offsets, 2 * kMaxRank> strides{};

  // Innermost first.
  void Push(int64_t size, const Offsets& stride) {
    count *= size;
    if (size == 1) return;
    bool merges = rank > 0;
    for (size_t k = 0; k < N && merges; ++k) merges = strides[rank - 1][k] * sizes[rank - 1] == stride[k];
    if (merges) {
      sizes[rank - 1] *= size;
      return;
    }
    assert(rank < sizes.size());
    sizes[rank] = size;
    strides[rank++] = stride;
  }

  int64_t inner_size() const { return rank == 0 ? 1 : sizes[0]; }
  Offsets inner_stride() const { return rank == 0 ? Offsets{} : strides[0]; }

  // Of one position, counted with the innermost dim running fastest.
  Offsets At(int64_t position, size_t from = 0) const {
    Offsets offsets{};
    for (size_t d = from; d < rank; ++d) {
      const int64_t i = position % sizes[d];
      position /= sizes[d];
      for (size_t k = 0; k < N; ++k) offsets[k] += i * strides[d][k];
    }
    return offsets;
  }

  // f(offsets) for every position of the dims from `from` on.
  template <typename F>
  void ForEach(size_t from, F&& f) const {
    if (count == 0) return;
    std::array<int64_t, 2 * kMaxRank> index;
    for (size_t d = 0; d < rank; ++d) index[d] = 0;
    Offsets offsets{};
    for (;;) {
      f(offsets);
      size_t d = from;
      for (; d < rank; ++d) {
        for (size_t k = 0; k < N; ++k) offsets[k] += strides[d][k];
        if (++index[d] < sizes[d]) break;
        for (size_t k = 0; k < N; ++k) offsets[k] -= strides[d][k] * sizes[d];
        index[d] = 0;
      }
      if (d >= rank) return;
    }
  }

  // Without the innermost dim.
  Walk Outer() const {
    Walk outer;
    for (size_t d = 1; d < rank; ++d) {
      outer.sizes[outer.rank] = sizes[d];
      outer.strides[outer.rank++] = strides[d];
      outer.count *= sizes[d];
    }
    return outer;
  }
};

}  // namespace pt::host
