#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/weighted_rows.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <type_traits>

#include "lib/backend/host_kernels/kernels/weighted_rows.h"
#include "partitiontuner/graph/operators/resize.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kTogether = 4;  // vectors whose sums are in registers at once

template <class D, typename From>
HWY_INLINE hn::Vec<D> LoadWide(D d, const From* x) {
  if constexpr (std::is_same_v<From, hn::TFromD<D>>) {
    return hn::LoadU(d, x);
  } else {
    const hn::Rebind<From, D> bytes;
    const hn::Rebind<int32_t, D> integers;
    return hn::PromoteTo(d, hn::PromoteTo(integers, hn::LoadU(bytes, x)));
  }
}

// In float the product is not rounded, for speed.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Added(D, V weight, V x, V sum) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) return hn::MulAdd(weight, x, sum);
  return hn::Add(sum, hn::Mul(weight, x));
}

template <int64_t count, typename From, typename W>
HWY_INLINE void WeighVectors(const RowsCall<From, W>& call, int64_t i) {
  const hn::ScalableTag<W> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t k = 0; k < call.taps; ++k) {
    const From* x = call.x + call.offsets[k] + i;
    const V weight = hn::Set(d, call.weights[k]);
    s0 = Added(d, weight, LoadWide(d, x), s0);
    if constexpr (count == kTogether) {
      s1 = Added(d, weight, LoadWide(d, x + lanes), s1);
      s2 = Added(d, weight, LoadWide(d, x + 2 * lanes), s2);
      s3 = Added(d, weight, LoadWide(d, x + 3 * lanes), s3);
    }
  }
  hn::StoreU(s0, d, call.y + i);
  if constexpr (count == kTogether) {
    hn::StoreU(s1, d, call.y + i + lanes);
    hn::StoreU(s2, d, call.y + i + 2 * lanes);
    hn::StoreU(s3, d, call.y + i + 3 * lanes);
  }
}

template <typename From, typename W>
HWY_INLINE void Weigh(const RowsCall<From, W>& call) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<W>()));
  int64_t i = 0;
  for (; i + kTogether * lanes <= call.n; i += kTogether * lanes) WeighVectors<kTogether>(call, i);
  for (; i + lanes <= call.n; i += lanes) WeighVectors<1>(call, i);
  for (; i < call.n; ++i) {
    W sum = 0;
    for (int64_t k = 0; k < call.taps; ++k) sum += call.weights[k] * static_cast<W>(call.x[call.offsets[k] + i]);
    call.y[i] = sum;
  }
}

// As wide as the elements that they are places of.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> LoadPlaces(D, const int32_t* places) {
  const hn::RebindToSigned<D> wide;
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(int32_t)) return hn::LoadU(wide, places);
  if constexpr (sizeof(hn::TFromD<D>) != sizeof(int32_t)) {
    return hn::PromoteTo(wide, hn::LoadU(hn::Rebind<int32_t, D>(), places));
  }
}

template <typename W>
HWY_INLINE void Weigh(const ElementsCall<W>& call) {
  const hn::ScalableTag<W> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const hn::RebindToSigned<decltype(d)> wide;
  int64_t i = 0;
  for (const int32_t* window = call.windows; i + lanes <= call.n; i += lanes, ++window) {
    auto sum = hn::Zero(d);
    if (*window < 0) {
      for (int64_t at = i; at < call.taps * call.n; at += call.n) {
        const auto x = hn::GatherIndex(d, call.x, LoadPlaces(d, call.places + at));
        sum = Added(d, hn::LoadU(d, call.weights + at), x, sum);
      }
    } else {
      const auto within = hn::LoadU(d, call.x + *window);
      const auto first = hn::Set(wide, static_cast<hn::TFromD<decltype(wide)>>(*window));
      for (int64_t at = i; at < call.taps * call.n; at += call.n) {
        const auto places = hn::Sub(LoadPlaces(d, call.places + at), first);
        const auto x = hn::TableLookupLanes(within, hn::IndicesFromVec(d, places));
        sum = Added(d, hn::LoadU(d, call.weights + at), x, sum);
      }
    }
    hn::StoreU(sum, d, call.y + i);
  }
  for (; i < call.n; ++i) {
    W sum = 0;
    for (int64_t at = i; at < call.taps * call.n; at += call.n) sum += call.weights[at] * call.x[call.places[at]];
    call.y[i] = sum;
  }
}

template <typename T>
HWY_INLINE void Store(const double* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = ResizedElement<T>(x[i]);
}

}  // namespace

void WeighFloatRows(const RowsCall<float, float>& call) { Weigh(call); }
void WeighDoubleRows(const RowsCall<double, double>& call) { Weigh(call); }
void WeighUint8Rows(const RowsCall<uint8_t, double>& call) { Weigh(call); }
void WeighInt8Rows(const RowsCall<int8_t, double>& call) { Weigh(call); }
void WeighFloats(const ElementsCall<float>& call) { Weigh(call); }
void WeighDoubles(const ElementsCall<double>& call) { Weigh(call); }
int64_t FloatLanes() { return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>())); }
int64_t DoubleLanes() { return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<double>())); }
void StoreUint8(const double* x, uint8_t* y, int64_t n) { Store(x, y, n); }
void StoreInt8(const double* x, int8_t* y, int64_t n) { Store(x, y, n); }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(WeighFloatRows);
HWY_EXPORT(WeighDoubleRows);
HWY_EXPORT(WeighUint8Rows);
HWY_EXPORT(WeighInt8Rows);
HWY_EXPORT(WeighFloats);
HWY_EXPORT(WeighDoubles);
HWY_EXPORT(FloatLanes);
HWY_EXPORT(DoubleLanes);
HWY_EXPORT(StoreUint8);
HWY_EXPORT(StoreInt8);

}  // namespace

void WeighRows(const RowsCall<float, float>& call) { HWY_DYNAMIC_DISPATCH(WeighFloatRows)(call); }
void WeighRows(const RowsCall<double, double>& call) { HWY_DYNAMIC_DISPATCH(WeighDoubleRows)(call); }
void WeighRows(const RowsCall<uint8_t, double>& call) { HWY_DYNAMIC_DISPATCH(WeighUint8Rows)(call); }
void WeighRows(const RowsCall<int8_t, double>& call) { HWY_DYNAMIC_DISPATCH(WeighInt8Rows)(call); }
void WeighElements(const ElementsCall<float>& call) { HWY_DYNAMIC_DISPATCH(WeighFloats)(call); }
void WeighElements(const ElementsCall<double>& call) { HWY_DYNAMIC_DISPATCH(WeighDoubles)(call); }
template <>
int64_t VectorElements<float>() {
  return HWY_DYNAMIC_DISPATCH(FloatLanes)();
}
template <>
int64_t VectorElements<double>() {
  return HWY_DYNAMIC_DISPATCH(DoubleLanes)();
}
void StoreResized(const double* x, uint8_t* y, int64_t n) { HWY_DYNAMIC_DISPATCH(StoreUint8)(x, y, n); }
void StoreResized(const double* x, int8_t* y, int64_t n) { HWY_DYNAMIC_DISPATCH(StoreInt8)(x, y, n); }

}  // namespace pt::host
#endif
