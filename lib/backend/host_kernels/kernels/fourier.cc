#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/fourier.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "lib/backend/host_kernels/kernels/fourier.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct Complex {
  hn::Vec<D> real, imaginary;
};

template <class D>
HWY_INLINE Complex<D> LoadComplex(D d, const double* at) {
  return {hn::LoadU(d, at), hn::LoadU(d, at + hn::Lanes(d))};
}

template <class D>
HWY_INLINE void StoreComplex(D d, const Complex<D>& c, double* at) {
  hn::StoreU(c.real, d, at);
  hn::StoreU(c.imaginary, d, at + hn::Lanes(d));
}

template <class D>
HWY_INLINE Complex<D> Added(const Complex<D>& a, const Complex<D>& b) {
  return {hn::Add(a.real, b.real), hn::Add(a.imaginary, b.imaginary)};
}

template <class D>
HWY_INLINE Complex<D> Subtracted(const Complex<D>& a, const Complex<D>& b) {
  return {hn::Sub(a.real, b.real), hn::Sub(a.imaginary, b.imaginary)};
}

// By i.
template <class D>
HWY_INLINE Complex<D> Turned(const Complex<D>& a) {
  return {hn::Neg(a.imaginary), a.real};
}

// Where the numbers of one small transform lie, and by what its results are turned: result k by turns[k · angle].
template <class D>
struct Place {
  D d;
  double *x, *y;
  int64_t from, to;  // doubles between its inputs, and between its results
  int64_t angle;
  const double* turns;

  HWY_INLINE Complex<D> In(int64_t j) const { return LoadComplex(d, x + j * from); }
  HWY_INLINE void Out(int64_t k, const Complex<D>& c) const {
    if (angle == 0) return StoreComplex(d, c, y + k * to);
    const auto cosine = hn::Set(d, turns[2 * k * angle]), sine = hn::Set(d, turns[2 * k * angle + 1]);
    StoreComplex(d,
                 Complex<D>{hn::MulSub(c.real, cosine, hn::Mul(c.imaginary, sine)),
                            hn::MulAdd(c.real, sine, hn::Mul(c.imaginary, cosine))},
                 y + k * to);
  }
};

template <class D>
HWY_INLINE void OfTwo(const Place<D>& place) {
  const Complex<D> a = place.In(0), b = place.In(1);
  place.Out(0, Added<D>(a, b));
  place.Out(1, Subtracted<D>(a, b));
}

template <class D>
HWY_INLINE void OfFour(const Place<D>& place) {
  const Complex<D> a = place.In(0), b = place.In(1), c = place.In(2), e = place.In(3);
  const Complex<D> even = Added<D>(a, c), across = Subtracted<D>(a, c);
  const Complex<D> odd = Added<D>(b, e), turned = Turned<D>(Subtracted<D>(b, e));
  place.Out(0, Added<D>(even, odd));
  place.Out(1, Subtracted<D>(across, turned));
  place.Out(2, Subtracted<D>(even, odd));
  place.Out(3, Added<D>(across, turned));
}

// Inputs j and radix - j are turned by opposite angles: their sum counts by the cosine, their difference by the sine,
// and results k and radix - k are the sum and the difference of both. kRadix is 0 where it is not known before the run.
template <int64_t kRadix, class D>
HWY_INLINE void OfOdd(const Place<D>& place, int64_t given, int64_t step) {
  const int64_t radix = kRadix != 0 ? kRadix : given;
  const Complex<D> first = place.In(0);
  Complex<D> sum = first;
  for (int64_t j = 1; j <= radix / 2; ++j) {
    const Complex<D> a = place.In(j), b = place.In(radix - j), both = Added<D>(a, b);
    StoreComplex(place.d, both, place.x + j * place.from);
    StoreComplex(place.d, Subtracted<D>(a, b), place.x + (radix - j) * place.from);
    sum = Added<D>(sum, both);
  }
  place.Out(0, sum);
  for (int64_t k = 1; k <= radix / 2; ++k) {
    Complex<D> even = first, odd{hn::Zero(place.d), hn::Zero(place.d)};
    for (int64_t j = 1, turn = k; j <= radix / 2; ++j) {
      const Complex<D> both = place.In(j), difference = place.In(radix - j);
      const auto cosine = hn::Set(place.d, place.turns[2 * turn * step]);
      const auto sine = hn::Set(place.d, place.turns[2 * turn * step + 1]);
      even = {hn::MulAdd(cosine, both.real, even.real), hn::MulAdd(cosine, both.imaginary, even.imaginary)};
      odd = {hn::MulAdd(sine, difference.real, odd.real), hn::MulAdd(sine, difference.imaginary, odd.imaginary)};
      turn = turn + k < radix ? turn + k : turn + k - radix;
    }
    const Complex<D> turned = Turned<D>(odd);
    place.Out(k, Added<D>(even, turned));
    place.Out(radix - k, Subtracted<D>(even, turned));
  }
}

template <class D>
HWY_INLINE void RunStage(D d, const FourierStage& stage) {
  const auto width = static_cast<int64_t>(2 * hn::Lanes(d));
  for (int64_t p = 0; p < stage.blocks; ++p) {
    for (int64_t q = 0; q < stage.stride; ++q) {
      const Place<D> place{d,
                           stage.x + (q + stage.stride * p) * width,
                           stage.y + (q + stage.stride * stage.radix * p) * width,
                           stage.stride * stage.blocks * width,
                           stage.stride * width,
                           p * stage.stride,
                           stage.turns};
      const int64_t step = stage.n / stage.radix;
      switch (stage.radix) {
        case 2:
          OfTwo(place);
          break;
        case 3:
          OfOdd<3>(place, 3, step);
          break;
        case 4:
          OfFour(place);
          break;
        case 5:
          OfOdd<5>(place, 5, step);
          break;
        default:
          OfOdd<0>(place, stage.radix, step);
      }
    }
  }
}

}  // namespace

int64_t DoublesOfVectors() { return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<double>())); }
void RunStageOfVectors(const FourierStage& stage) { RunStage(hn::ScalableTag<double>(), stage); }
void RunStageOfNumbers(const FourierStage& stage) { RunStage(hn::CappedTag<double, 1>(), stage); }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(DoublesOfVectors);
HWY_EXPORT(RunStageOfVectors);
HWY_EXPORT(RunStageOfNumbers);

// Fours first, then a two, then odd primes.
std::vector<int64_t> RadicesOf(int64_t n) {
  std::vector<int64_t> radices;
  for (; n % 4 == 0; n /= 4) radices.push_back(4);
  for (int64_t prime = 2; n > 1; ++prime) {
    if (prime * prime > n) prime = n;
    for (; n % prime == 0; n /= prime) radices.push_back(prime);
  }
  return radices;
}

}  // namespace

int64_t FourierLanes() { return HWY_DYNAMIC_DISPATCH(DoublesOfVectors)(); }

FourierTransform::FourierTransform(int64_t n, int64_t lanes) : n_(n), lanes_(lanes), radices_(RadicesOf(n)) {
  turns_.reserve(static_cast<size_t>(2 * n));
  for (int64_t k = 0; k < n; ++k) {
    const double turn = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    turns_.push_back(std::cos(turn));
    turns_.push_back(std::sin(turn));
  }
}

const double* FourierTransform::Run(double* x, double* y) const {
  FourierStage stage{n_, 0, n_, 1, turns_.data(), x, y};
  for (const int64_t radix : radices_) {
    stage.radix = radix;
    stage.blocks /= radix;
    lanes_ == 1 ? HWY_DYNAMIC_DISPATCH(RunStageOfNumbers)(stage) : HWY_DYNAMIC_DISPATCH(RunStageOfVectors)(stage);
    stage.stride *= radix;
    std::swap(stage.x, stage.y);
  }
  return stage.x;
}

}  // namespace pt::host
#endif
