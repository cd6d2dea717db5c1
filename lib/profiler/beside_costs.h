// What steps on host cores take longer beside other work.
#pragma once

#include "lib/profiler/bench.h"

namespace pt {

// Each fills in the item's samples and says that it is done. What the candidate takes longer beside hogs on all other
// cores than right before, alone; 1 ns where it does not.
Status MeasureBesideMemory(Bench& bench, WorkItem& item);
Status MeasureBesideCompute(Bench& bench, WorkItem& item);
// Nanoseconds that each of the memory hogs beside a unit of the class takes for kHogBytes.
Status MeasureMemoryHogs(Bench& bench, WorkItem& item);

}  // namespace pt
