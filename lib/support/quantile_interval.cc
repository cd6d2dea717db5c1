#include "partitiontuner/support/quantile_interval.h"

#include <cmath>

namespace pt {

// How many samples lie below the quantile is binomial. The low end is the largest k with P(fewer than k) <= 2.5 %, the
// high end the smallest with P(at least k) <= 2.5 %. Probabilities as logarithms: that of none is less than any double
// from a thousand samples on.
QuantileRanks QuantileInterval(size_t n, double quantile) {
  constexpr double kOutside = 0.025;
  const double odds = std::log(quantile) - std::log1p(-quantile);
  double logarithm = static_cast<double>(n) * std::log1p(-quantile);  // of the probability of exactly k below
  double fewer = 0;                                                   // than k below
  QuantileRanks ranks{0, n + 1};
  for (size_t k = 0; k <= n; ++k) {
    if (fewer <= kOutside) ranks.low = k;
    if (1 - fewer <= kOutside) {
      ranks.high = k;
      break;
    }
    fewer += std::exp(logarithm);
    logarithm += std::log(static_cast<double>(n - k)) - std::log(static_cast<double>(k + 1)) + odds;
  }
  return ranks;
}

size_t MedianIntervalRank(size_t n) { return QuantileInterval(n, 0.5).low; }

}  // namespace pt
