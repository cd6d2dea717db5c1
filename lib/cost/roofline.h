// The roofline of a kind of unit: no work is faster than the best arithmetic and the best traffic that were measured.
#pragma once

#include <optional>

#include "lib/cost/law_sample.h"

namespace pt {

struct Roofline {
  double flops_per_ns = 0, bytes_per_ns = 0;  // 0: never seen

  double Predict(const WorkFeatures& work) const;
  // What the work takes at least; 0 where it may leave out what it seems to read (views, gathers).
  double Floor(const WorkFeatures& work) const;
};

// Of the samples of one kind of unit and math mode, and of its reorders. Empty with fewer than kLeastFitSamples that
// tell something.
std::optional<Roofline> FitRoofline(LawSamples samples);

}  // namespace pt
