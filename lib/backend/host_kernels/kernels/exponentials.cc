#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/exponentials.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/backend/host/vector_math-inl.h"
#include "lib/backend/host_kernels/kernels/exponentials.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using vector_math::HWY_NAMESPACE::FlushedExpOfMinus;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr float kLeast = -std::numeric_limits<float>::infinity();

// Scales R rows and adds their masks; what lies behind them becomes the least number, which counts for nothing. Leaves
// in `most` what is greatest of those that are numbers: what is NaN shows in the sum.
template <int64_t R>
HWY_INLINE void ScaleAndMask(const ScoresCall& call, float* y, const float* mask, V (&most)[R]) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = call.n / lanes * lanes;
  const V scale = hn::Set(d, call.scale);
  const auto take = [&](int64_t r, int64_t i, V x) HWY_ATTR {
    hn::Store(x, d, y + r * call.row_stride + i);
    most[r] = hn::IfThenElse(hn::Gt(x, most[r]), x, most[r]);
  };
  for (int64_t r = 0; r < R; ++r) most[r] = hn::Set(d, kLeast);
  V masks[R];
  for (int64_t r = 0; r < R; ++r) {
    masks[r] = hn::Set(d, mask != nullptr && call.one_mask ? mask[r * call.mask_row_stride] : 0.0F);
  }
  const bool many = mask != nullptr && !call.one_mask;
  for (int64_t i = 0; i < whole; i += lanes) {
    for (int64_t r = 0; r < R; ++r) {
      if (many) masks[r] = hn::LoadU(d, mask + r * call.mask_row_stride + i);
      take(r, i, hn::MulAdd(hn::Load(d, y + r * call.row_stride + i), scale, masks[r]));
    }
  }
  if (whole == call.n) return;
  const int64_t rest = call.n - whole;
  const auto some = hn::FirstN(d, static_cast<size_t>(rest));
  for (int64_t r = 0; r < R; ++r) {
    if (many) masks[r] = LoadRest(d, mask + r * call.mask_row_stride + whole, rest, 0);
    const V x = hn::MulAdd(hn::Load(d, y + r * call.row_stride + whole), scale, masks[r]);
    take(r, whole, hn::IfThenElse(some, x, hn::Set(d, kLeast)));
  }
}

// R rows at once: what one of them waits for, the others' work hides.
template <int64_t R>
HWY_INLINE void ExponentialsOf(const ScoresCall& call, float* y, const float* mask, float* inverses) {
  // So few numbers are added as floats that the sum is exact enough.
  constexpr int64_t kStretch = 1024;
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V most[R];
  ScaleAndMask<R>(call, y, mask, most);
  for (int64_t r = 0; r < R; ++r) most[r] = hn::MaxOfLanes(d, most[r]);
  double totals[R] = {};
  for (int64_t begin = 0; begin < call.n; begin += kStretch) {
    V sums[R];
    for (int64_t r = 0; r < R; ++r) sums[r] = hn::Zero(d);
    for (int64_t i = begin; i < std::min(call.n, begin + kStretch); i += lanes) {
      for (int64_t r = 0; r < R; ++r) {
        float* at = y + r * call.row_stride + i;
        const V e = FlushedExpOfMinus(d, hn::Sub(most[r], hn::Load(d, at)));
        hn::Store(e, d, at);
        sums[r] = hn::Add(sums[r], e);
      }
    }
    for (int64_t r = 0; r < R; ++r) totals[r] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sums[r])));
  }
  for (int64_t r = 0; r < R; ++r) {
    const bool blind =
        (call.blind_is_zero && hn::GetLane(most[r]) == kLeast) || (call.nan_is_zero && std::isnan(totals[r]));
    inverses[r] = blind ? 0.0F : static_cast<float>(1 / totals[r]);
    if (blind) std::fill_n(y + r * call.row_stride, call.n, 0.0F);
  }
}

void Exponentials(const ScoresCall& call) {
  constexpr int64_t kTogether = 4;
  const auto at = [&](int64_t r) { return call.mask == nullptr ? nullptr : call.mask + r * call.mask_row_stride; };
  int64_t r = 0;
  for (; r + kTogether <= call.rows; r += kTogether) {
    ExponentialsOf<kTogether>(call, call.y + r * call.row_stride, at(r), call.inverses + r);
  }
  for (; r < call.rows; ++r) ExponentialsOf<1>(call, call.y + r * call.row_stride, at(r), call.inverses + r);
}

}  // namespace

ScoresFunction FindFunction() { return Exponentials; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindFunction);

}  // namespace

ScoresFunction FindExponentials() { return HWY_DYNAMIC_DISPATCH(FindFunction)(); }

}  // namespace pt::host
#endif
