// The interval in which a quantile lies, by order statistics: no assumption about how samples are distributed.
#pragma once

#include <cstddef>

namespace pt {

// Places among n sorted samples, the smallest being 1: the interval runs from the low-th to the high-th. 0 and n + 1:
// it has no end on that side, not even the whole range holds it so surely.
struct QuantileRanks {
  size_t low = 0, high = 0;
};

// The 95 % interval of a quantile, from above 0 to below 1, of n samples that are independent of each other. Takes time
// in proportion to n.
QuantileRanks QuantileInterval(size_t n, double quantile);

// The median's runs from the k-th smallest of n samples to the k-th largest. 0 where n < 6: there is none.
size_t MedianIntervalRank(size_t n);

}  // namespace pt
