// What a series of times says: median, its confidence interval, and whether to go on measuring.
#pragma once

#include <cstdint>
#include <vector>

namespace pt {

inline constexpr int64_t kClockGrainNs = 100;  // a spread below this is not noise worth fighting

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

// How exact a median has to be: within the share of it, or within the time, whichever is more.
struct NoiseTarget {
  double share = 0;
  int64_t ns = kClockGrainNs;
};

// Of what takes `times` as long as the fastest way to do the same work, which may have max_noise, in a network that
// takes about network_ns: five times the noise at twice the time, since it would have to be that wrong to be chosen
// wrongly; and a spread of a forty-thousandth of the network is not noise worth fighting, either.
NoiseTarget TargetOf(double max_noise, double times, double network_ns);

// Worth more samples: its spread is above the target.
bool IsNoisy(const SampleSummary& summary, const NoiseTarget& target);

inline constexpr uint32_t kMostSamples = 60;  // of one key: more hardly narrow the interval

}  // namespace pt
