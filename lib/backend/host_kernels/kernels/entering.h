// Where in a stretch of neighbours the next element lies that may be among the greatest (or least) so far; vectorised.
#pragma once

#include <cstdint>

namespace pt::host {

// The first i for which x[i] is greater than `held` (least: less), or NaN on either side; n where there is none.
template <typename T>
struct Entering {
  using Find = int64_t (*)(const T* x, int64_t n, T held);
  Find greater = nullptr, less = nullptr;
};

// For the processor it is called on: float, int32_t or int64_t.
template <typename T>
Entering<T> FindEntering();
template <>
Entering<float> FindEntering();
template <>
Entering<int32_t> FindEntering();
template <>
Entering<int64_t> FindEntering();

}  // namespace pt::host
