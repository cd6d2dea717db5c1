#include "lib/profiler/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "partitiontuner/support/quantile_interval.h"

namespace pt {
namespace {

double MedianOf(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

}  // namespace

double SampleSummary::noise() const {
  if (samples == 0) return 1.0;
  return static_cast<double>(spread_ns) / static_cast<double>(std::max<int64_t>(median_ns, 1));
}

SampleSummary Summarise(std::vector<int64_t> samples_ns) {
  SampleSummary summary;
  if (samples_ns.empty()) return summary;
  std::vector<double> sorted(samples_ns.begin(), samples_ns.end());
  std::sort(sorted.begin(), sorted.end());
  const double middle = MedianOf(sorted);
  std::vector<double> deviations;
  deviations.reserve(sorted.size());
  for (double s : sorted) deviations.push_back(std::abs(s - middle));
  std::sort(deviations.begin(), deviations.end());
  // A clock's granularity can make the deviation zero; 1 % of the median is never an outlier.
  const double reach = std::max(5 * 1.4826 * MedianOf(deviations), 0.01 * middle);
  size_t first = 0, last = sorted.size();
  const size_t fewest = sorted.size() - sorted.size() / 4;
  while (last - first > fewest && sorted[last - 1] > middle + reach) --last;
  while (last - first > fewest && sorted[first] < middle - reach) ++first;
  const std::vector<double> kept(sorted.begin() + static_cast<ptrdiff_t>(first),
                                 sorted.begin() + static_cast<ptrdiff_t>(last));
  const size_t outside = MedianIntervalRank(kept.size());
  summary.samples = static_cast<uint32_t>(kept.size());
  summary.outliers = static_cast<uint32_t>(sorted.size() - kept.size());
  summary.median_ns = std::llround(MedianOf(kept));
  // The interval runs from the k-th smallest to the k-th largest; with too few samples that is all of them.
  const size_t edge = outside > 0 ? outside - 1 : 0;
  summary.spread_ns = std::llround(0.5 * (kept[kept.size() - 1 - edge] - kept[edge]));
  if (kept.size() == 1) summary.spread_ns = summary.median_ns;  // one time says nothing about the next
  return summary;
}

NoiseTarget TargetOf(double max_noise, double times, double network_ns) {
  constexpr double kNoiseByDistance = 4, kShareOfNetwork = 1.0 / 40'000;
  return {max_noise * (1 + kNoiseByDistance * (times - 1)),
          std::max(kClockGrainNs, static_cast<int64_t>(network_ns * kShareOfNetwork))};
}

bool IsNoisy(const SampleSummary& summary, const NoiseTarget& target) {
  return summary.noise() > target.share && summary.spread_ns > target.ns;
}

}  // namespace pt
