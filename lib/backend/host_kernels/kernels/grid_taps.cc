#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/grid_taps.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include "lib/backend/host_kernels/kernels/grid_taps.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A block is whole vectors.
using Doubles = hn::CappedTag<double, kGridBlock>;
using Floats = hn::CappedTag<float, kGridBlock>;
using DoubleVector = hn::Vec<Doubles>;
using DoubleMask = hn::Mask<Doubles>;

constexpr double kSharpness = -0.75;

// Mirrored at both ends as often as it takes.
HWY_INLINE DoubleVector Reflected(const GridAxis& axis, DoubleVector x) {
  const Doubles d;
  const double low = axis.low(), high = axis.high();
  if (high - low <= 0) return hn::Zero(d);
  const DoubleVector range = hn::Set(d, high - low), first = hn::Set(d, low), last = hn::Set(d, high);
  const DoubleMask below = hn::Lt(x, first), inside = hn::Not(hn::Or(below, hn::Gt(x, last)));
  const DoubleVector over = hn::IfThenElse(below, hn::Sub(first, x), hn::Sub(x, last));
  const DoubleVector times = hn::Floor(hn::Div(over, range)), rest = hn::Sub(over, hn::Mul(times, range));
  const DoubleVector half = hn::Mul(times, hn::Set(d, 0.5));
  const DoubleMask even = hn::Eq(hn::Floor(half), half);
  const DoubleVector mirrored = hn::IfThenElse(hn::Xor(even, below), hn::Sub(last, rest), hn::Add(first, rest));
  return hn::IfThenElse(inside, x, mirrored);
}

// A coordinate beyond the image as its padding has it; NaN at a border counts as 0.
HWY_INLINE DoubleVector Inside(const GridAxis& axis, DoubleVector x) {
  const Doubles d;
  if (axis.padding == SamplePadding::kZeros) return x;
  const DoubleVector zero = hn::Zero(d), last = hn::Set(d, static_cast<double>(axis.size) - 1);
  const DoubleMask inside = hn::And(hn::Ge(x, hn::Set(d, axis.low())), hn::Le(x, hn::Set(d, axis.high())));
  if (axis.padding == SamplePadding::kReflection) return hn::IfThenElse(inside, x, Reflected(axis, x));
  const DoubleVector number = hn::IfThenElse(hn::Eq(x, x), x, zero);
  return hn::IfThenElse(inside, x, hn::Min(hn::Max(number, zero), last));
}

// The offset of the element that is shown at a whole coordinate, -1 where that is outside and zero.
HWY_INLINE hn::Vec<hn::Rebind<int32_t, Doubles>> OffsetAt(const GridAxis& axis, DoubleVector whole) {
  const Doubles d;
  const hn::Rebind<int32_t, Doubles> integers;
  const DoubleVector zero = hn::Zero(d), last = hn::Set(d, static_cast<double>(axis.size) - 1),
                     most = hn::Set(d, 0x1p40);
  DoubleMask seen = hn::And(hn::Ge(whole, zero), hn::Le(whole, last));
  DoubleVector at = whole;
  if (axis.padding != SamplePadding::kZeros) {
    if (axis.padding == SamplePadding::kReflection) at = hn::IfThenElse(seen, whole, hn::Trunc(Reflected(axis, whole)));
    seen = hn::Le(hn::Abs(whole), most);
    at = hn::Min(hn::Max(hn::IfThenElseZero(seen, at), zero), last);
  }
  const DoubleVector offset = hn::Mul(at, hn::Set(d, static_cast<double>(axis.stride)));
  return hn::DemoteTo(integers, hn::IfThenElse(seen, offset, hn::Set(d, -1)));
}

HWY_INLINE DoubleVector Inner(DoubleVector x) {
  const Doubles d;
  const DoubleVector cubic = hn::Sub(hn::Mul(hn::Set(d, kSharpness + 2), x), hn::Set(d, kSharpness + 3));
  return hn::Add(hn::Mul(hn::Mul(cubic, x), x), hn::Set(d, 1));
}
HWY_INLINE DoubleVector Outer(DoubleVector x) {
  const Doubles d;
  const DoubleVector cubic = hn::Sub(hn::Mul(hn::Set(d, kSharpness), x), hn::Set(d, 5 * kSharpness));
  return hn::Sub(hn::Mul(hn::Add(hn::Mul(cubic, x), hn::Set(d, 8 * kSharpness)), x), hn::Set(d, 4 * kSharpness));
}

// What tap k weighs, this far behind the whole coordinate before.
HWY_INLINE DoubleVector WeightOf(SampleMode mode, size_t k, DoubleVector fraction) {
  const Doubles d;
  const DoubleVector one = hn::Set(d, 1), rest = hn::Sub(one, fraction);
  if (mode == SampleMode::kNearest) return one;
  if (mode == SampleMode::kLinear) return k == 0 ? rest : fraction;
  if (k == 0) return Outer(hn::Add(fraction, one));
  if (k == 1) return Inner(fraction);
  return k == 2 ? Inner(rest) : Outer(hn::Sub(hn::Set(d, 2), fraction));
}

}  // namespace

void FindTaps(const GridAxis& axis, const std::array<float, kGridBlock>& coordinates, size_t count, GridTaps& taps) {
  const Doubles d;
  const hn::Rebind<float, Doubles> floats;
  const hn::Rebind<int32_t, Doubles> integers;
  const DoubleVector one = hn::Set(d, 1), half = hn::Set(d, 0.5), size = hn::Set(d, static_cast<double>(axis.size));
  const bool nearest = axis.mode == SampleMode::kNearest;
  // The vectors of floats that are joined are wider.
  const size_t end = (count + hn::Lanes(Floats()) - 1) / hn::Lanes(Floats()) * hn::Lanes(Floats());
  for (size_t i = 0; i < end; i += hn::Lanes(d)) {
    const DoubleVector given = hn::Add(hn::PromoteTo(d, hn::LoadU(floats, coordinates.data() + i)), one);
    DoubleVector x = axis.align_corners ? hn::Mul(hn::Mul(given, half), hn::Sub(size, one))
                                        : hn::Mul(hn::Sub(hn::Mul(given, size), one), half);
    if (nearest) x = hn::Round(x);
    x = Inside(axis, x);
    const DoubleVector before = nearest ? hn::Round(x) : hn::Floor(x), fraction = hn::Sub(x, before);
    const DoubleVector first = axis.mode == SampleMode::kCubic ? hn::Sub(before, one) : before;
    for (size_t k = 0; k < axis.taps(); ++k) {
      hn::Store(OffsetAt(axis, hn::Add(first, hn::Set(d, static_cast<double>(k)))), integers,
                taps.offsets[k].data() + i);
      hn::Store(hn::DemoteTo(floats, WeightOf(axis.mode, k, fraction)), floats, taps.weights[k].data() + i);
    }
  }
}

void JoinTaps(const GridTaps& rows, const GridTaps& columns, size_t taps, size_t count, GridBlock& block) {
  const Floats d;
  const hn::RebindToSigned<Floats> integers;
  block.pairs = taps * taps;
  block.count = count;
  for (size_t pair = 0; pair < block.pairs; ++pair) {
    const size_t r = pair / taps, c = pair % taps;
    for (size_t i = 0; i < count; i += hn::Lanes(d)) {
      const auto row = hn::Load(integers, rows.offsets[r].data() + i);
      const auto column = hn::Load(integers, columns.offsets[c].data() + i);
      const auto outside = hn::Lt(hn::Or(row, column), hn::Zero(integers));
      hn::Store(hn::IfThenElse(outside, hn::Set(integers, -1), hn::Add(row, column)), integers,
                block.offsets[pair].data() + i);
      const auto weight = hn::Mul(hn::Load(d, rows.weights[r].data() + i), hn::Load(d, columns.weights[c].data() + i));
      hn::Store(hn::IfThenZeroElse(hn::RebindMask(d, outside), weight), d, block.weights[pair].data() + i);
    }
  }
}

void Sample(const GridBlock& block, const float* image, std::array<float, kGridBlock>& y) {
  const Floats d;
  const hn::RebindToSigned<Floats> integers;
  for (size_t i = 0; i < block.count; i += hn::Lanes(d)) {
    auto sum = hn::Zero(d);
    for (size_t pair = 0; pair < block.pairs; ++pair) {
      const auto offsets = hn::Load(integers, block.offsets[pair].data() + i);
      const auto outside = hn::RebindMask(d, hn::Lt(offsets, hn::Zero(integers)));
      const auto x = hn::IfThenZeroElse(outside, hn::GatherIndex(d, image, hn::Max(offsets, hn::Zero(integers))));
      sum = hn::MulAdd(hn::Load(d, block.weights[pair].data() + i), x, sum);
    }
    hn::StoreU(sum, d, y.data() + i);
  }
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindTaps);
HWY_EXPORT(JoinTaps);
HWY_EXPORT(Sample);

}  // namespace

void FindGridTaps(const GridAxis& axis, const std::array<float, kGridBlock>& coordinates, size_t count,
                  GridTaps& taps) {
  HWY_DYNAMIC_DISPATCH(FindTaps)(axis, coordinates, count, taps);
}
void JoinGridTaps(const GridTaps& rows, const GridTaps& columns, size_t taps, size_t count, GridBlock& block) {
  HWY_DYNAMIC_DISPATCH(JoinTaps)(rows, columns, taps, count, block);
}
void SampleGrid(const GridBlock& block, const float* image, std::array<float, kGridBlock>& y) {
  HWY_DYNAMIC_DISPATCH(Sample)(block, image, y);
}

}  // namespace pt::host
#endif
