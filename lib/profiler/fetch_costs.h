// What it costs a step to read what a step on another unit has left in the caches there.
#pragma once

#include "lib/profiler/device_lock.h"
#include "lib/profiler/sampler.h"
#include "lib/profiler/work_list.h"

namespace pt {

// Fills the item's samples and says that it is done. A sample is the time in which all cores of a unit of the class
// `to_class` have read their share of `bytes` that the cores of a unit of the class `unit_class` have written, less the
// time for what they have written themselves; 1 ns at least.
Status MeasureFetch(const ProfilingTask& task, DeviceLocks& locks, WorkItem& item);

// The same for kFetchedInputs: what the candidate takes longer when a unit of `from_class` has made its inputs than
// when its own has.
Status MeasureFetchedInputs(const ProfilingTask& task, DeviceLocks& locks, Sampler& sampler, WorkItem& item);

}  // namespace pt
