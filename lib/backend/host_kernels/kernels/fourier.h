// Discrete Fourier transforms of several lines side by side, in double, by mixed radices.
#pragma once

#include <cstdint>
#include <vector>

namespace pt::host {

// Lines that the widest vectors of this processor take at once.
int64_t FourierLanes();

// X[k] = sum over t of x[t] · e^(-2πi·kt/n), 0 <= k < n. A prime factor of n costs as many operations a number as it is
// large. What is not finite makes nothing of its lane finite. Immutable: may be run from several threads at once.
class FourierTransform {
 public:
  // n >= 1; lanes: 1 or FourierLanes().
  FourierTransform(int64_t n, int64_t lanes);

  int64_t n() const { return n_; }
  int64_t lanes() const { return lanes_; }
  // x and y hold n complex numbers of each lane: [n][real, imaginary][lanes]. Returns which of the two the result lies
  // in; the other's content is lost.
  const double* Run(double* x, double* y) const;

 private:
  int64_t n_, lanes_;
  std::vector<int64_t> radices_;  // their product is n: fours, at most one two, odd primes
  std::vector<double> turns_;     // [n][2]: cosine and sine of -2πk/n
};

// One pass over all numbers, from x to y (Stockham): `blocks` transforms of `radix` numbers for each of `stride` places
// beside each other. x is not kept.
struct FourierStage {
  int64_t n = 0, radix = 0, blocks = 0, stride = 0;
  const double* turns = nullptr;
  double *x = nullptr, *y = nullptr;
};

}  // namespace pt::host
