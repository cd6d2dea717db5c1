// What a library's own work takes: candidates and reorders.
#pragma once

#include "lib/profiler/bench.h"

namespace pt {

// The first few samples; the rest only where they may still win. On a simulated device what its file says, and the item
// is done.
Status MeasureRun(Bench& bench, WorkItem& item);
Status MeasureReorder(Bench& bench, WorkItem& item);

}  // namespace pt
