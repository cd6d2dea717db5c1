// A dense output read from an input with any strides: transposes, slices, expansions and tilings are all this. Built
// without allocation, so also at run time.
#pragma once

#include <array>
#include <cassert>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"

namespace pt::reference {

class StridedRead {
 public:
  int64_t base = 0;  // offset of the first element in the input

  // Output dims outermost first, each with the input's stride along it (0 repeats, negative walks back).
  void Push(int64_t dim, int64_t stride) {
    count_ *= dim;
    if (dim == 1) return;
    if (rank_ > 0 && strides_[rank_ - 1] == stride * dim) {
      dims_[rank_ - 1] *= dim;
      strides_[rank_ - 1] = stride;
      return;
    }
    assert(rank_ < dims_.size());
    dims_[rank_] = dim;
    strides_[rank_++] = stride;
  }

  template <typename T>
  void Copy(const T* in, T* out, Team* team) const {
    if (count_ == 0) return;
    const int64_t inner = rank_ == 0 ? 1 : dims_[rank_ - 1], step = rank_ == 0 ? 1 : strides_[rank_ - 1];
    ParallelRanges(team, count_ / inner, static_cast<double>(inner) * (step == 1 ? 0.3 : 1) + 5,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row) {
                       int64_t rest = row, offset = base;
                       for (size_t d = rank_ == 0 ? 0 : rank_ - 1; d-- > 0;) {
                         offset += rest % dims_[d] * strides_[d];
                         rest /= dims_[d];
                       }
                       const T* from = in + offset;
                       T* to = out + row * inner;
                       if (step == 1) {
                         std::copy(from, from + inner, to);
                       } else {
                         for (int64_t i = 0; i < inner; ++i) to[i] = from[i * step];
                       }
                     }
                   });
  }

 private:
  std::array<int64_t, 2 * kMaxRank> dims_{}, strides_{};
  size_t rank_ = 0;
  int64_t count_ = 1;
};

// Row-major strides of dense dims.
inline std::vector<int64_t> DenseStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

}  // namespace pt::reference
