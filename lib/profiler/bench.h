// Bench: what the measurers of one call of MeasureProfile share.
#pragma once

#include "lib/profiler/device_lock.h"
#include "lib/profiler/hogs.h"
#include "lib/profiler/sampler.h"
#include "lib/profiler/work_list.h"

namespace pt {

struct Bench {
  // The task must outlive it.
  explicit Bench(const ProfilingTask& profiling)
      : task(profiling),
        locks(profiling.platform, profiling.options.cancel, profiling.options.watch),
        sampler(profiling, locks) {}

  const ProfilingTask& task;
  DeviceLocks locks;
  Sampler sampler;
  std::map<std::pair<UnitClassId, Hogs::Kind>, Hogs> hogs;  // beside units of the class; made when first needed
};

}  // namespace pt
