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

  // Whether all tensors are walked element by element, without gaps.
  bool is_contiguous() const {
    if (rank != 1) return rank == 0;
    for (int64_t stride : strides[0]) {
      if (stride != 1) return false;
    }
    return true;
  }

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

  // Without dim d.
  Walk Without(size_t d) const {
    Walk rest = *this;
    if (d >= rank) return rest;
    for (size_t e = d + 1; e < rank; ++e) {
      rest.sizes[e - 1] = sizes[e];
      rest.strides[e - 1] = strides[e];
    }
    --rest.rank;
    rest.count = 1;
    for (size_t e = 0; e < rest.rank; ++e) rest.count *= rest.sizes[e];
    return rest;
  }
};

// A place in a walk that moves on, cheaper than At for every position.
template <size_t N>
class Cursor {
 public:
  Cursor(const Walk<N>& walk, int64_t position) : walk_(walk), offsets_(walk.At(position)) {
    for (size_t d = 0; d < walk.rank; ++d) {
      index_[d] = position % walk.sizes[d];
      position /= walk.sizes[d];
    }
  }
  const typename Walk<N>::Offsets& offsets() const { return offsets_; }
  void Next() {
    for (size_t d = 0; d < walk_.rank; ++d) {
      for (size_t k = 0; k < N; ++k) offsets_[k] += walk_.strides[d][k];
      if (++index_[d] < walk_.sizes[d]) return;
      for (size_t k = 0; k < N; ++k) offsets_[k] -= walk_.strides[d][k] * walk_.sizes[d];
      index_[d] = 0;
    }
  }

 private:
  const Walk<N>& walk_;
  typename Walk<N>::Offsets offsets_;
  std::array<int64_t, 2 * kMaxRank> index_;
};

}  // namespace pt::host
