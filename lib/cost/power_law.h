// a·n^b + c: the law one operator family's times follow in the amount of work, fitted robustly.
#pragma once

#include <optional>

#include "lib/cost/law_sample.h"

namespace pt {

struct PowerLaw {
  double a = 0, b = 0, c = 0;
  bool by_flops = false;  // n = flops, else bytes

  double Predict(const WorkFeatures& work) const;
};

// Least absolute deviations of log time, c >= 0, 0 <= b <= 2, n the better of flops and bytes. Empty with
// fewer than kLeastFitSamples usable samples (positive work and time).
std::optional<PowerLaw> FitPowerLaw(LawSamples samples);

}  // namespace pt
