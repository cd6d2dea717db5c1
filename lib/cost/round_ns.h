// Times as the cost models state them: whole nanoseconds, at least one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pt {

inline int64_t RoundNs(double ns) { return static_cast<int64_t>(std::llround(std::clamp(ns, 1.0, 1e15))); }

}  // namespace pt
