// In the place of lib/exec/clock.h where lib/exec is compiled for test/schedules: time that the explored world makes.
#pragma once

#include <chrono>
#include <cstdint>

#include "test/schedules/world.h"

namespace pt {

inline int64_t NowNs() { return schedules::World::NowNs(); }

inline std::chrono::steady_clock::time_point TimeOf(int64_t ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

}  // namespace pt
