#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/elementwise/quantisation_tiles.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <cstring>
#include <limits>

#include "lib/backend/host_kernels/elementwise/quantisation_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using DWords = hn::RebindToSigned<D>;

// Both give what the operators are defined to give, bit for bit: bytes and their differences are exact in float32.
template <typename T>
HWY_INLINE void DequantiseVector(const TileCall& call, const T* x, float* y) {
  const D d;
  const hn::Rebind<T, D> bytes;
  const auto integers = hn::ConvertTo(d, hn::PromoteTo(DWords(), hn::LoadU(bytes, x)));
  hn::StoreU(hn::Mul(hn::Sub(integers, hn::Set(d, call.q)), hn::Set(d, call.p)), d, y);
}

// Within the range first, so that none is too large to be converted. NaN is the integer 0.
HWY_INLINE hn::Vec<D> Within(const TileCall& call, hn::Vec<D> scaled, float least, float most) {
  const D d;
  const auto kept = hn::Min(hn::Max(scaled, hn::Set(d, least - call.q)), hn::Set(d, most - call.q));
  return hn::IfThenElse(hn::IsNaN(scaled), hn::Set(d, -call.q), kept);
}

// A quotient is x / scale rounded, as the operator is defined; the product with 1 / scale is off by less than kNear
// where it matters, and much faster. Only where it may be on the other side of a half is the quotient needed.
template <typename T>
HWY_INLINE void QuantiseVector(const TileCall& call, const float* x, T* y) {
  constexpr float kNear = 1e-4F;  // numbers of up to 2^9, three roundings of 2^-24 each
  const D d;
  const hn::Rebind<T, D> bytes;
  const auto least = static_cast<float>(std::numeric_limits<T>::min()),
             most = static_cast<float>(std::numeric_limits<T>::max());
  const auto real = hn::LoadU(d, x);
  const auto scaled = Within(call, hn::Mul(real, hn::Set(d, 1.0F / call.p)), least, most);
  auto rounded = hn::Round(scaled);
  const auto from_half = hn::Abs(hn::Sub(hn::Abs(hn::Sub(scaled, rounded)), hn::Set(d, 0.5F)));
  if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Lt(from_half, hn::Set(d, kNear))))) {
    rounded = hn::Round(Within(call, hn::Div(real, hn::Set(d, call.p)), least, most));
  }
  const auto integers = hn::ConvertTo(DWords(), hn::Add(rounded, hn::Set(d, call.q)));
  hn::StoreU(hn::DemoteTo(bytes, integers), bytes, y);
}

template <typename From, typename To, void (*of_vector)(const TileCall&, const From*, To*)>
void Map(const TileCall& call) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  const auto* x = static_cast<const From*>(call.in[0]);
  auto* y = static_cast<To*>(call.out);
  int64_t i = 0;
  for (; i + lanes <= call.n; i += lanes) of_vector(call, x + i, y + i);
  if (i == call.n) return;
  From rest_x[hn::MaxLanes(D())] = {};
  To rest_y[hn::MaxLanes(D())];
  const auto left = static_cast<size_t>(call.n - i);
  std::memcpy(rest_x, x + i, left * sizeof(From));
  of_vector(call, rest_x, rest_y);
  std::memcpy(y + i, rest_y, left * sizeof(To));
}

}  // namespace

TileFunction FindQuantisation(Function function, DataType from, DataType to) {
  if (function == Function::kDequantise && to == DataType::kFloat32) {
    if (from == DataType::kUint8) return Map<uint8_t, float, DequantiseVector<uint8_t>>;
    if (from == DataType::kInt8) return Map<int8_t, float, DequantiseVector<int8_t>>;
  }
  if (function == Function::kQuantise && from == DataType::kFloat32) {
    if (to == DataType::kUint8) return Map<float, uint8_t, QuantiseVector<uint8_t>>;
    if (to == DataType::kInt8) return Map<float, int8_t, QuantiseVector<int8_t>>;
  }
  return nullptr;
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindQuantisation);

}  // namespace

TileFunction FindQuantisationTileFunction(Function function, DataType from, DataType to) {
  return HWY_DYNAMIC_DISPATCH(FindQuantisation)(function, from, to);
}

}  // namespace pt::host
#endif
