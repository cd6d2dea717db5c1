// The one clock of the executor.
#pragma once

#include <chrono>
#include <cstdint>

namespace pt {

inline int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// As the standard library's waits want it.
inline std::chrono::steady_clock::time_point TimeOf(int64_t ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

}  // namespace pt
