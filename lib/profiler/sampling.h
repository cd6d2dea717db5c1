// What a series of times says: median, its confidence interval, and whether to go on measuring.
#pragma once

#include <cstdint>
#include <vector>

namespace pt {

struct SampleSummary {
  int64_t median_ns = 0;
  int64_t spread_ns = 0;  // half width of the 95 % confidence interval of the median, by order statistics
  uint32_t samples = 0;   // without outliers
  uint32_t outliers = 0;

  double noise() const;  // spread over median; 1 without samples
};

// Outliers (more than five scaled median absolute deviations off, at most a quarter of the series) are dropped first.
// With fewer than six samples the interval is their whole range.
SampleSummary Summarise(std::vector<int64_t> samples_ns);

}  // namespace pt
