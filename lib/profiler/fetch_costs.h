// What it costs a step to read what a step on another unit has left in the caches there.
#pragma once

#include "lib/profiler/bench.h"

namespace pt {

// Fills the item's samples and says that it is done. A sample is the time in which all cores of a unit of the class
// `to` have read their share of `bytes` that the cores of a unit of the class `from` have written, less the
// time for what they have written themselves; 1 ns at least.
Status MeasureFetch(Bench& bench, WorkItem& item);

// The same of what the candidate takes longer when a unit of the class that FindMakers says has made its inputs than
// when its own has.
Status MeasureFetchedInputs(Bench& bench, WorkItem& item);

}  // namespace pt
