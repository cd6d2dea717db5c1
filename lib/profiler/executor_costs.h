// The costs of the executor itself: a step's overhead, launches of segments, hand-overs between units, copies between
// devices.
#pragma once

#include "lib/profiler/device_lock.h"
#include "lib/profiler/work_list.h"

namespace pt {

// Each fills the item's samples and says that it is done.
Status MeasureOverhead(const ProfilingTask& task, DeviceLocks& locks, WorkItem& item);
Status MeasureSegment(const ProfilingTask& task, DeviceLocks& locks, WorkItem& item);
Status MeasureWait(const ProfilingTask& task, DeviceLocks& locks, WorkItem& item);
Status MeasureCopy(const ProfilingTask& task, DeviceLocks& locks, WorkItem& item);

}  // namespace pt
