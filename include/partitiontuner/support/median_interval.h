// The interval in which a median lies, by order statistics: no assumption about how samples are distributed.
#pragma once

#include <cstddef>

namespace pt {

// Of n sorted samples, which are independent of each other, the 95 % interval of the median runs from the k-th smallest
// to the k-th largest. 0 where n < 6: even the whole range does not hold it so surely.
size_t MedianIntervalRank(size_t n);

}  // namespace pt
