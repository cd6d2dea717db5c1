#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/peak.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "bench/peak.h"

HWY_BEFORE_NAMESPACE();
namespace pt::bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// This many sums hide what one FMA takes, and fit into sixteen registers beside the factors.
constexpr int kSums = 12;

// Returns the lanes; `out` keeps the sums from being left out.
double Multiply(int64_t rounds, float* out) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V factor = hn::Set(d, 0.999F), shift = hn::Set(d, 0.001F);
  // Different numbers: equal sums would be computed once.
  V s0 = hn::Set(d, 1.0F);
  V s1 = hn::Set(d, 2.0F);
  V s2 = hn::Set(d, 3.0F);
  V s3 = hn::Set(d, 4.0F);
  V s4 = hn::Set(d, 5.0F);
  V s5 = hn::Set(d, 6.0F);
  V s6 = hn::Set(d, 7.0F);
  V s7 = hn::Set(d, 8.0F);
  V s8 = hn::Set(d, 9.0F);
  V s9 = hn::Set(d, 10.0F);
  V sa = hn::Set(d, 11.0F);
  V sb = hn::Set(d, 12.0F);
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = hn::MulAdd(s0, factor, shift);
    s1 = hn::MulAdd(s1, factor, shift);
    s2 = hn::MulAdd(s2, factor, shift);
    s3 = hn::MulAdd(s3, factor, shift);
    s4 = hn::MulAdd(s4, factor, shift);
    s5 = hn::MulAdd(s5, factor, shift);
    s6 = hn::MulAdd(s6, factor, shift);
    s7 = hn::MulAdd(s7, factor, shift);
    s8 = hn::MulAdd(s8, factor, shift);
    s9 = hn::MulAdd(s9, factor, shift);
    sa = hn::MulAdd(sa, factor, shift);
    sb = hn::MulAdd(sb, factor, shift);
  }
  const V low = hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(s4, s5));
  const V high = hn::Add(hn::Add(hn::Add(s6, s7), hn::Add(s8, s9)), hn::Add(sa, sb));
  *out = hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  return static_cast<double>(hn::Lanes(d)) * kSums;
}

}  // namespace pt::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::bench {
namespace {

HWY_EXPORT(Multiply);

}  // namespace

double PeakGflops() {
  constexpr int64_t kRounds = 1'000'000;
  constexpr int kStretches = 20;
  double best = 0;
  for (int i = 0; i < kStretches; ++i) {
    volatile float keep = 0;
    float out = 0;
    const auto begin = std::chrono::steady_clock::now();
    const double fmas = HWY_DYNAMIC_DISPATCH(Multiply)(kRounds, &out);
    const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    keep = out;
    (void)keep;
    best = std::max(best, 2 * fmas * static_cast<double>(kRounds) / ns);
  }
  return best;
}

}  // namespace pt::bench
#endif
