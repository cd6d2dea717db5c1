// a·n^b + c: the law one operator family's times follow in the amount of work, fitted robustly.
#pragma once

#include <optional>
#include <span>

namespace pt {

struct WorkSample {
  double flops = 0, bytes = 0, ns = 0;
};

struct FamilyFit {
  double a = 0, b = 0, c = 0;
  bool by_flops = false;      // n = flops, else bytes
  double relative_error = 0;  // typical |predicted/measured - 1| of the samples, by leave-out

  double Predict(double flops, double bytes) const;
};

inline constexpr size_t kLeastFitSamples = 10;

// Least absolute deviations of log time, c >= 0, 0 <= b <= 2, n the better of flops and bytes. Empty with
// fewer than kLeastFitSamples usable samples (positive work and time).
std::optional<FamilyFit> FitFamily(std::span<const WorkSample> samples);

}  // namespace pt
