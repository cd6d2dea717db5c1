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

// Worth more samples: its spread is above `max_noise` of the median, and above what a clock can tell.
bool IsNoisy(const SampleSummary& summary, double max_noise);

inline constexpr uint32_t kMostSamples = 60;  // of one key: more hardly narrow the interval

}  // namespace pt
