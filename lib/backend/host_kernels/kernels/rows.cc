#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/rows.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/backend/host/vector_math-inl.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"
#include "lib/backend/host_kernels/kernels/rows.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using vector_math::HWY_NAMESPACE::FlushedExpOfMinus;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using Wide = hn::ScalableTag<double>;
using WideV = hn::Vec<Wide>;
using Half = hn::Rebind<float, Wide>;

// The sum of f(x) in double, in four sums at a time to hide what one addition takes.
template <class F>
HWY_INLINE double SumOf(const float* HWY_RESTRICT x, int64_t n, F f) {
  const Wide d;
  const Half half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  WideV s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  const auto at = [&](int64_t i) HWY_ATTR { return f(hn::PromoteTo(d, hn::LoadU(half, x + i))); };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::Add(s0, at(i));
    s1 = hn::Add(s1, at(i + lanes));
    s2 = hn::Add(s2, at(i + 2 * lanes));
    s3 = hn::Add(s3, at(i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::Add(s0, at(i));
  if (i < n) {
    const WideV rest = f(hn::PromoteTo(d, LoadRest(half, x + i, n - i, 0)));
    s1 = hn::Add(s1, hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n - i)), rest));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

// y = f(x, scale, bias) vector by vector; scale 1 and bias 0 where there are none.
template <class F>
HWY_INLINE void MapRow(const RowCall& call, F f) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V one_scale = hn::Set(d, call.scale == nullptr ? 1.0F : *call.scale);
  const V one_bias = hn::Set(d, call.bias == nullptr ? 0.0F : *call.bias);
  const float* scales = call.one_scale ? nullptr : call.scale;
  const float* biases = call.one_scale ? nullptr : call.bias;
  int64_t i = 0;
  for (; i + lanes <= call.n; i += lanes) {
    const V scale = scales == nullptr ? one_scale : hn::LoadU(d, scales + i);
    const V bias = biases == nullptr ? one_bias : hn::LoadU(d, biases + i);
    hn::StoreU(f(hn::LoadU(d, call.x + i), scale, bias), d, call.y + i);
  }
  if (i == call.n) return;
  const int64_t n = call.n - i;
  const V scale = scales == nullptr ? one_scale : LoadRest(d, scales + i, n, 0);
  const V bias = biases == nullptr ? one_bias : LoadRest(d, biases + i, n, 0);
  StoreRest(d, f(LoadRest(d, call.x + i, n, 0), scale, bias), call.y + i, n);
}

// Sums of the distances from the pivot, and of their squares.
struct Distances {
  WideV sum, squares;

  HWY_INLINE void Add(WideV distance) {
    sum = hn::Add(sum, distance);
    squares = hn::MulAdd(distance, distance, squares);
  }
  HWY_INLINE void Join(const Distances& other) {
    sum = hn::Add(sum, other.sum);
    squares = hn::Add(squares, other.squares);
  }
};

HWY_INLINE Distances DistancesFrom(double pivot, const float* HWY_RESTRICT x, int64_t n) {
  const Wide d;
  const Half half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const WideV pivots = hn::Set(d, pivot), zero = hn::Zero(d);
  Distances d0{zero, zero}, d1 = d0, d2 = d0, d3 = d0;
  const auto at = [&](int64_t i) HWY_ATTR { return hn::Sub(hn::PromoteTo(d, hn::LoadU(half, x + i)), pivots); };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    d0.Add(at(i));
    d1.Add(at(i + lanes));
    d2.Add(at(i + 2 * lanes));
    d3.Add(at(i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) d0.Add(at(i));
  if (i < n) {
    const WideV rest = hn::Sub(hn::PromoteTo(d, LoadRest(half, x + i, n - i, 0)), pivots);
    d1.Add(hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n - i)), rest));
  }
  d0.Join(d1);
  d2.Join(d3);
  d0.Join(d2);
  return d0;
}

// In one pass, around the first element: it is at most a standard deviation times the root of n from the mean, so that
// of the digits of double only those of n cancel out.
RowMoments MomentsOf(const RowCall& call) {
  const auto n = static_cast<double>(call.n);
  const auto pivot = static_cast<double>(call.x[0]);
  const Distances distances = DistancesFrom(pivot, call.x, call.n);
  const double sum = hn::GetLane(hn::SumOfLanes(Wide(), distances.sum));
  const double squares = hn::GetLane(hn::SumOfLanes(Wide(), distances.squares));
  const double mean = pivot + sum / n, excess = squares - sum * (sum / n);
  const double variance = excess < 0 ? 0 : excess / n;  // a rounding below zero; NaN stays
  const auto rounded = static_cast<float>(mean);
  return {rounded, static_cast<float>(mean - static_cast<double>(rounded)),
          static_cast<float>(1 / std::sqrt(variance + static_cast<double>(call.epsilon)))};
}

void Moments(const RowCall& call) { *call.moments = MomentsOf(call); }

HWY_INLINE void CentreBy(const RowCall& call, const RowMoments& moments) {
  const D d;
  const V mean = hn::Set(d, moments.mean), rest = hn::Set(d, moments.mean_rest), inverse = hn::Set(d, moments.inverse);
  MapRow(call, [&](V x, V scale, V bias)
                   HWY_ATTR { return hn::MulAdd(hn::Mul(hn::Sub(hn::Sub(x, mean), rest), inverse), scale, bias); });
}

void Centre(const RowCall& call) { CentreBy(call, *call.moments); }

void Normalize(const RowCall& call) { CentreBy(call, MomentsOf(call)); }

void NormalizeRms(const RowCall& call) {
  const D d;
  const double squares = SumOf(call.x, call.n, [](WideV x) HWY_ATTR { return hn::Mul(x, x); });
  const double variance = squares / static_cast<double>(call.n) + static_cast<double>(call.epsilon);
  const V inverse = hn::Set(d, static_cast<float>(1 / std::sqrt(variance)));
  MapRow(call, [&](V x, V scale, V bias) HWY_ATTR { return hn::MulAdd(hn::Mul(x, inverse), scale, bias); });
}

// Of the elements that are numbers: what is NaN shows in the sums.
HWY_INLINE float MostOf(const float* HWY_RESTRICT x, int64_t n) {
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto greater = [](V held, V v) HWY_ATTR { return hn::IfThenElse(hn::Gt(v, held), v, held); };
  V m0 = hn::Set(d, kLeast), m1 = m0;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    m0 = greater(m0, hn::LoadU(d, x + i));
    m1 = greater(m1, hn::LoadU(d, x + i + lanes));
  }
  for (; i + lanes <= n; i += lanes) m0 = greater(m0, hn::LoadU(d, x + i));
  if (i < n) m1 = greater(m1, LoadRest(d, x + i, n - i, kLeast));
  return hn::GetLane(hn::MaxOfLanes(d, greater(m0, m1)));
}

// The sum of exp(x - most); keep(i, v) stores what belongs to element i on, `rest` of them where that is not 0.
template <class Keep>
HWY_INLINE double SumOfExp(const float* x, int64_t n, float most, Keep keep) {
  // So few numbers are added as floats that the sum is exact enough.
  constexpr int64_t kStretch = 1024;
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V shift = hn::Set(d, most);
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kStretch) {
    const int64_t end = std::min(n, begin + kStretch);
    V sum = hn::Zero(d);
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      const V e = FlushedExpOfMinus(d, hn::Sub(shift, hn::LoadU(d, x + i)));
      keep(i, e, int64_t{0});
      sum = hn::Add(sum, e);
    }
    if (i < end) {
      const V e = FlushedExpOfMinus(d, hn::Sub(shift, LoadRest(d, x + i, end - i, most)));
      keep(i, e, end - i);
      sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(end - i)), e));
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
  return total;
}

void Softmax(const RowCall& call) {
  const D d;
  const double sum = SumOfExp(call.x, call.n, MostOf(call.x, call.n), [&](int64_t i, V e, int64_t rest) HWY_ATTR {
    if (rest == 0) {
      hn::StoreU(e, d, call.y + i);
    } else {
      StoreRest(d, e, call.y + i, rest);
    }
  });
  const V factor = hn::Set(d, static_cast<float>(1 / sum));
  RowCall scaled = call;
  scaled.x = call.y;
  MapRow(scaled, [&](V x, V, V) HWY_ATTR { return hn::Mul(x, factor); });
}

void LogSoftmax(const RowCall& call) {
  const D d;
  const float most = MostOf(call.x, call.n);
  const double sum = SumOfExp(call.x, call.n, most, [](int64_t, V, int64_t) {});
  const V upper = hn::Set(d, most), lower = hn::Set(d, static_cast<float>(std::log(sum)));
  MapRow(call, [&](V x, V, V) HWY_ATTR { return hn::Sub(hn::Sub(x, upper), lower); });
}

}  // namespace

RowFunction Find(RowKind kind) {
  switch (kind) {
    case RowKind::kMoments:
      return Moments;
    case RowKind::kCentre:
      return Centre;
    case RowKind::kNormalize:
      return Normalize;
    case RowKind::kNormalizeRms:
      return NormalizeRms;
    case RowKind::kSoftmax:
      return Softmax;
    case RowKind::kLogSoftmax:
      break;
  }
  return LogSoftmax;
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(Find);

}  // namespace

RowFunction FindRowFunction(RowKind kind) { return HWY_DYNAMIC_DISPATCH(Find)(kind); }

}  // namespace pt::host
#endif
