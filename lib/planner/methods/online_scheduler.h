// OnlineScheduler: the schedule of a solution that is still being made. Choices are appended one at a time, with the
// moves they need and nothing of what will follow: the clock of planners that decide as time goes by.
#pragma once

#include "lib/planner/schedule/schedule.h"

namespace pt {

// One thread at a time. What Scheduler says of the whole differs where what comes later decides: copies from the host
// start there right after what they read, and which views and concatenations are elided is known (here they are where
// nothing about their values alone forbids it). Slowdown beside other work is not in it.
class OnlineScheduler : private Scheduler {
 public:
  explicit OnlineScheduler(const Space& space);

  // When the step ends. kImpossible when an input is not made yet or cannot be moved there: then nothing is appended.
  int64_t Append(const Choice& choice);

  // When all that was appended for the unit is over. A unit whose steps are launched by a core waits for that as well.
  int64_t FreeAt(UnitId unit) const;
  // What the value lacks to be in the slot when copies between devices are free: the cheapest change of form from any
  // slot it is in. kImpossible when it is in none that leads there.
  int64_t FormNs(ValueId value, uint32_t slot) const;

 private:
  bool Bring(ValueId value, uint32_t slot);

  uint32_t count_ = 0;  // choices appended
};

}  // namespace pt
