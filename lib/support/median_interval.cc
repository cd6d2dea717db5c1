#include "partitiontuner/support/median_interval.h"

#include <cmath>

namespace pt {

// The largest k with P(Binomial(n, 1/2) < k) <= 2.5 %.
size_t MedianIntervalRank(size_t n) {
  double probability = std::pow(0.5, static_cast<double>(n));  // of exactly i heads, i = 0
  double cumulated = 0;
  size_t k = 0;
  while (k < n / 2) {
    cumulated += probability;
    if (cumulated > 0.025) break;
    ++k;
    probability *= static_cast<double>(n - k + 1) / static_cast<double>(k);
  }
  return k;
}

}  // namespace pt
