// In the place of lib/exec/spin_timer.h where lib/exec is compiled for test/schedules. Nobody spins: a turn that finds
// nothing changes nothing, so a thread that looks once, later, stands for one that looks many times.
#pragma once

#include <cstdint>

#include "test/schedules/world.h"

namespace pt {

class SpinTimer {
 public:
  explicit SpinTimer(bool /*crowded*/) {}
  static SpinTimer None() { return SpinTimer(false); }
  bool KeepSpinning() { return false; }
  uint32_t turns() const { return 0; }
  static void Doze() { schedules::World::Here()->Doze(); }
};

}  // namespace pt
