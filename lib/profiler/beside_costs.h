// What steps on host cores take longer beside other work.
#pragma once

#include <map>

#include "lib/profiler/device_lock.h"
#include "lib/profiler/sampler.h"

namespace pt {

class BesideSampler {
 public:
  // All must outlive it.
  BesideSampler(const ProfilingTask& task, DeviceLocks& locks, Sampler& sampler)
      : task_(task), locks_(locks), sampler_(sampler) {}

  // kBesideMemory, kBesideCompute: what the candidate takes longer beside hogs than right before, alone; 1 ns where
  // it does not. kMemoryHog: nanoseconds that each hog takes for kHogBytes. Fills the samples and says that it is done.
  Status Measure(WorkItem& item);

 private:
  Status MeasureHogs(WorkItem& item);
  Status MeasureBeside(WorkItem& item);
  Hogs& HogsBeside(UnitClassId unit_class, Hogs::Kind kind);

  const ProfilingTask& task_;
  DeviceLocks& locks_;
  Sampler& sampler_;
  std::map<std::pair<UnitClassId, Hogs::Kind>, Hogs> hogs_;
};

}  // namespace pt
