#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/arg_lines.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include "lib/backend/host_kernels/kernels/arg_lines.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using I = hn::RebindToSigned<D>;
using V = hn::Vec<D>;

// Lines beside the vectors', one by one, and the rest of a line: from element `from` on, `at` being the best so far.
template <bool most, bool last>
int64_t Scan(const float* x, int64_t n, int64_t stride, int64_t from, int64_t at) {
  for (int64_t i = from; i < n; ++i) {
    const float held = x[at * stride], v = x[i * stride];
    if ((most ? v > held : v < held) || (last && v == held)) at = i;
  }
  return at;
}

template <bool most, bool last>
HWY_INLINE auto IsBetter(V v, V held) {
  if constexpr (last) return most ? hn::Ge(v, held) : hn::Le(v, held);
  return most ? hn::Gt(v, held) : hn::Lt(v, held);
}

// One contiguous line: each lane keeps the best of its elements, and the best lane wins; of equal lanes the one whose
// element comes first (or last).
template <bool most, bool last>
int64_t AlongLine(const float* x, int64_t n) {
  const D d;
  const I integers;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (n < 2 * lanes || x[0] != x[0]) return Scan<most, last>(x, n, 1, 1, 0);
  // In every lane the first element: what is NaN there must not hold the lane.
  V held = hn::Set(d, x[0]);
  auto at = hn::Zero(integers), here = hn::Iota(integers, 0);
  const auto step = hn::Set(integers, static_cast<int32_t>(lanes));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes, here = hn::Add(here, step)) {
    const V v = hn::LoadU(d, x + i);
    const auto better = IsBetter<most, last>(v, held);
    held = hn::IfThenElse(better, v, held);
    at = hn::IfThenElse(hn::RebindMask(integers, better), here, at);
  }
  HWY_ALIGN float values[hn::MaxLanes(D())];
  HWY_ALIGN int32_t places[hn::MaxLanes(D())];
  hn::Store(held, d, values);
  hn::Store(at, integers, places);
  int64_t best = places[0];
  float value = values[0];
  for (int64_t k = 1; k < lanes; ++k) {
    const bool better = most ? values[k] > value : values[k] < value;
    const bool same = values[k] == value && (last ? places[k] > best : places[k] < best);
    if (better || same) {
      best = places[k];
      value = values[k];
    }
  }
  return Scan<most, last>(x, n, 1, i, best);
}

// A vector of neighbouring lines at a time.
template <bool most, bool last>
int64_t AcrossLines(const ArgCall& call) {
  const D d;
  const I integers;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN int32_t places[hn::MaxLanes(D())];
  int64_t line = 0;
  for (; line + lanes <= call.lines; line += lanes) {
    V held = hn::LoadU(d, call.x + line);
    auto at = hn::Zero(integers);
    for (int64_t i = 1; i < call.n; ++i) {
      const V v = hn::LoadU(d, call.x + line + i * call.stride);
      const auto better = IsBetter<most, last>(v, held);
      held = hn::IfThenElse(better, v, held);
      at = hn::IfThenElse(hn::RebindMask(integers, better), hn::Set(integers, static_cast<int32_t>(i)), at);
    }
    hn::Store(at, integers, places);
    for (int64_t k = 0; k < lanes; ++k) call.y[(line + k) * call.y_step] = places[k];
  }
  return line;
}

template <bool most, bool last>
void Find(const ArgCall& call) {
  if (call.stride == 1 && call.lines == 1) {
    *call.y = AlongLine<most, last>(call.x, call.n);
    return;
  }
  for (int64_t line = AcrossLines<most, last>(call); line < call.lines; ++line) {
    call.y[line * call.y_step] = Scan<most, last>(call.x + line, call.n, call.stride, 1, 0);
  }
}

}  // namespace

void FindArgs(const ArgCall& call) {
  if (call.most) return call.last ? Find<true, true>(call) : Find<true, false>(call);
  return call.last ? Find<false, true>(call) : Find<false, false>(call);
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindArgs);

}  // namespace

void FindArgs(const ArgCall& call) { HWY_DYNAMIC_DISPATCH(FindArgs)(call); }

}  // namespace pt::host
#endif
