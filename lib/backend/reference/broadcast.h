// Broadcasting of N inputs to one output: dims that every operand walks alike are merged, so that most loops see
// one or two dims.
#pragma once

#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"

namespace pt::reference {

// numpy's rule; kInvalidInput when dims do not fit each other.
Result<std::vector<int64_t>> BroadcastDims(const ReferenceSite& site, std::span<const TensorFacts> inputs);

template <size_t N>
struct Broadcast {
  std::vector<int64_t> dims;                    // merged, outermost first, at least one
  std::array<std::vector<int64_t>, N> strides;  // per input, 0 where it repeats

  // f(out_offset, in_offsets, in_strides, n): one stretch of the innermost dim; the output's stride is 1.
  template <typename F>
  void ForEachRow(Team* team, double work, F&& f) const;
};

// inputs must broadcast to `out` (BroadcastDims or a fixed shape).
void MergeDims(std::span<const std::vector<int64_t>> inputs, const std::vector<int64_t>& out,
               std::vector<int64_t>& dims, std::span<std::vector<int64_t>> strides);

template <size_t N>
Broadcast<N> MakeBroadcast(const std::array<std::vector<int64_t>, N>& inputs, const std::vector<int64_t>& out) {
  Broadcast<N> broadcast;
  MergeDims(inputs, out, broadcast.dims, broadcast.strides);
  return broadcast;
}

template <size_t N>
template <typename F>
void Broadcast<N>::ForEachRow(Team* team, double work, F&& f) const {
  const size_t last = dims.size() - 1;
  const int64_t inner = dims[last];
  int64_t outer = 1;
  for (size_t d = 0; d < last; ++d) outer *= dims[d];
  std::array<int64_t, N> steps;
  for (size_t k = 0; k < N; ++k) steps[k] = strides[k][last];
  const auto at = [&](int64_t row, int64_t begin, int64_t end) {
    std::array<int64_t, N> offsets{};
    int64_t rest = row;
    for (size_t d = last; d-- > 0;) {
      const int64_t i = rest % dims[d];
      rest /= dims[d];
      for (size_t k = 0; k < N; ++k) offsets[k] += i * strides[k][d];
    }
    for (size_t k = 0; k < N; ++k) offsets[k] += begin * steps[k];
    f(row * inner + begin, offsets, steps, end - begin);
  };
  if (outer == 1) {
    ParallelRanges(team, inner, work, [&](int64_t begin, int64_t end) { at(0, begin, end); });
  } else {
    ParallelRanges(team, outer, work * static_cast<double>(inner) + 10, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) at(row, 0, inner);
    });
  }
}

}  // namespace pt::reference
