#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/products/thin_products.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>

#include "lib/backend/host_kernels/kernels/bounded-inl.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"
#include "lib/backend/host_kernels/products/thin_products.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr bool kManyRegisters = hn::MaxLanes(D()) >= 16;

// Streams of reads beside each other, as far as registers go.
constexpr int64_t StreamsFor(int64_t rows) {
  if (kManyRegisters) return rows <= 2 ? 8 : 4;
  return rows == 1 ? 8 : (rows == 2 ? 4 : 2);
}

int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

// R rows of A by S columns of B, which are rows of the matrix.
template <int64_t R, int64_t S>
HWY_INLINE void Dots(const ThinCall& call, int64_t column) {
  const D d;
  const int64_t lanes = Lanes();
  const float* b = call.b + column * call.b_stride;
  V sums[R][S];
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t s = 0; s < S; ++s) sums[r][s] = hn::Zero(d);
  }
  int64_t k = 0;
  for (; k + lanes <= call.depth; k += lanes) {
    V x[R];
    for (int64_t r = 0; r < R; ++r) x[r] = hn::LoadU(d, call.a + r * call.a_stride + k);
    for (int64_t s = 0; s < S; ++s) {
      const V w = hn::LoadU(d, b + s * call.b_stride + k);
      for (int64_t r = 0; r < R; ++r) sums[r][s] = hn::MulAdd(x[r], w, sums[r][s]);
    }
  }
  if (k < call.depth) {
    for (int64_t s = 0; s < S; ++s) {
      const V w = LoadRest(d, b + s * call.b_stride + k, call.depth - k);
      for (int64_t r = 0; r < R; ++r) {
        const V x = LoadRest(d, call.a + r * call.a_stride + k, call.depth - k);
        sums[r][s] = hn::MulAdd(x, w, sums[r][s]);
      }
    }
  }
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t s = 0; s < S; ++s) {
      call.c[r * call.c_stride + column + s] = hn::GetLane(hn::SumOfLanes(d, sums[r][s]));
    }
  }
}

template <int64_t R>
void AllDots(const ThinCall& call) {
  constexpr int64_t kStreams = StreamsFor(R);
  int64_t column = 0;
  for (; column + kStreams <= call.columns; column += kStreams) Dots<R, kStreams>(call, column);
  for (; column < call.columns; ++column) Dots<R, 1>(call, column);
}

// Adds to C what S rows of the matrix give, from depth k on.
template <int64_t R, int64_t S>
HWY_INLINE void AddRows(const ThinCall& call, int64_t k) {
  const D d;
  const int64_t lanes = Lanes();
  const float* b = call.b + k * call.b_stride;
  V x[R][S];
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t s = 0; s < S; ++s) x[r][s] = hn::Set(d, call.a[r * call.a_stride + k + s]);
  }
  const auto add = [&](int64_t r, V sum, const V(&w)[S]) {
    for (int64_t s = 0; s < S; ++s) sum = hn::MulAdd(x[r][s], w[s], sum);
    return sum;
  };
  int64_t j = 0;
  V w[S];
  for (; j + lanes <= call.columns; j += lanes) {
    for (int64_t s = 0; s < S; ++s) w[s] = hn::LoadU(d, b + s * call.b_stride + j);
    for (int64_t r = 0; r < R; ++r) {
      float* c = call.c + r * call.c_stride + j;
      hn::StoreU(add(r, hn::LoadU(d, c), w), d, c);
    }
  }
  if (j == call.columns) return;
  const int64_t left = call.columns - j;
  for (int64_t s = 0; s < S; ++s) w[s] = LoadRest(d, b + s * call.b_stride + j, left);
  for (int64_t r = 0; r < R; ++r) {
    float* c = call.c + r * call.c_stride + j;
    StoreRest(d, add(r, LoadRest(d, c, left), w), c, left);
  }
}

template <int64_t R>
void AddAllRows(const ThinCall& call) {
  constexpr int64_t kStreams = StreamsFor(R);
  for (int64_t r = 0; r < R; ++r) std::fill_n(call.c + r * call.c_stride, call.columns, 0.0F);
  int64_t k = 0;
  for (; k + kStreams <= call.depth; k += kStreams) AddRows<R, kStreams>(call, k);
  for (; k < call.depth; ++k) AddRows<R, 1>(call, k);
}

// Bias and bounds, while C is still in the inner cache.
void Finish(const ThinCall& call) {
  if (call.bias == nullptr && !call.bounds) return;
  const D d;
  const Bounds bounds = call.bounds.value_or(Bounds());
  const V low = hn::Set(d, bounds.low), high = hn::Set(d, bounds.high);
  const auto bound = [&](V c) { return call.bounds ? Bounded(low, high, c) : c; };
  for (int64_t r = 0; r < call.rows; ++r) {
    float* c = call.c + r * call.c_stride;
    int64_t j = 0;
    for (; j + Lanes() <= call.columns; j += Lanes()) {
      const V x = hn::LoadU(d, c + j);
      hn::StoreU(bound(call.bias == nullptr ? x : hn::Add(x, hn::LoadU(d, call.bias + j))), d, c + j);
    }
    const int64_t left = call.columns - j;
    if (left == 0) continue;
    const V x = LoadRest(d, c + j, left);
    StoreRest(d, bound(call.bias == nullptr ? x : hn::Add(x, LoadRest(d, call.bias + j, left))), c + j, left);
  }
}

template <int64_t R>
void MultiplyRows(const ThinCall& call) {
  if constexpr (R > 1) {
    if (call.rows < R) return MultiplyRows<R - 1>(call);
  }
  if (call.transposed) {
    AllDots<R>(call);
  } else {
    AddAllRows<R>(call);
  }
}

void Multiply(const ThinCall& call) {
  MultiplyRows<kMostThinRows>(call);
  Finish(call);
}

}  // namespace

ThinProduct Find() { return Multiply; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(Find);

}  // namespace

ThinProduct FindThinProduct() { return HWY_DYNAMIC_DISPATCH(Find)(); }

}  // namespace pt::host
#endif
