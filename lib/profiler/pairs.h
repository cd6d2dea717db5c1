// What work takes longer in another state: timed in both in turns, so that a drift of the machine's speed is in both.
#pragma once

#include <functional>

#include "lib/profiler/device_lock.h"
#include "lib/profiler/runner.h"
#include "lib/profiler/work_list.h"

namespace pt {

using TakeTime = std::function<Result<Timing>()>;

// Fills the item's samples with the differences, 1 ns at least, and says that it is done. Holds the host's lock for a
// pair at a time. The first pair warms up.
Status MeasurePairs(DeviceLocks& locks, WorkItem& item, const TakeTime& before, const TakeTime& after);

}  // namespace pt
