// The costs of the executor itself: a step's overhead, launches of segments, hand-overs between units, waits of streams
// for each other, copies between devices.
#pragma once

#include "lib/profiler/bench.h"

namespace pt {

// Each fills the item's samples and says that it is done.
Status MeasureOverhead(Bench& bench, WorkItem& item);
Status MeasureSegment(Bench& bench, WorkItem& item);
Status MeasureWait(Bench& bench, WorkItem& item);
Status MeasureStreamWaits(Bench& bench, WorkItem& item);
Status MeasureCopy(Bench& bench, WorkItem& item);

}  // namespace pt
