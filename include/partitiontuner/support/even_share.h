// Nearly equal shares of a range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace pt {

// The k-th of n stretches of 0..count-1, one behind the other, the longer ones first: where it begins and where it
// ends.
inline std::pair<int64_t, int64_t> EvenShare(int64_t count, int64_t k, int64_t n) {
  const auto at = [&](int64_t i) { return count / n * i + std::min(i, count % n); };
  return {at(k), at(k + 1)};
}

}  // namespace pt
