#pragma once

#include <algorithm>
#include <vector>

namespace pt {

// Of at least one value; the upper of the two in the middle.
template <typename T>
T MedianOf(std::vector<T> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace pt
