// Sampler: takes the times of candidates and reorders, a slice of a series at a time.
#pragma once

#include <map>
#include <memory>

#include "lib/profiler/device_lock.h"
#include "lib/profiler/subject.h"
#include "lib/profiler/work_list.h"

namespace pt {

class Sampler {
 public:
  // The task and the locks must outlive the sampler.
  Sampler(const ProfilingTask& task, DeviceLocks& locks);

  // Compiles and binds what the item asks for.
  Status Prepare(WorkItem& item);
  // The first few samples, after warming up.
  Status TakeFirst(WorkItem& item);
  // A few more, within one slice.
  Status TakeMore(WorkItem& item);
  // Whether the item needs no more samples: steady, or no better for trying longer.
  bool HasEnough(const WorkItem& item) const;

 private:
  Result<UnitRunner*> RunnerOf(UnitClassId kind);
  Status TakeSlice(WorkItem& item, uint32_t count, bool warm_up);
  Result<Timing> TakeOne(WorkItem& item, uint32_t batch);

  const ProfilingTask& task_;
  DeviceLocks& locks_;
  const int64_t clock_ns_ = ClockOverheadNs();
  std::map<UnitClassId, std::unique_ptr<UnitRunner>> runners_;
  UnitClassId widest_;  // the host class with the most cores: prepares caches
  std::unique_ptr<CacheState> caches_;
};

}  // namespace pt
