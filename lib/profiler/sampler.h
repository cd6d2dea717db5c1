// Sampler: takes the times of candidates and reorders, a slice of a series at a time.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "lib/profiler/device_lock.h"
#include "lib/profiler/host_caches.h"
#include "lib/profiler/host_cores.h"
#include "lib/profiler/runner.h"
#include "lib/profiler/work_list.h"

namespace pt {

class Sampler {
 public:
  // The task and the locks must outlive the sampler.
  Sampler(const ProfilingTask& task, DeviceLocks& locks);

  // For work of that class; nothing is compiled yet.
  Result<std::unique_ptr<Subject>> MakeSubject(UnitClassId unit_class);
  // Compiles and binds what the item asks for.
  Status Prepare(WorkItem& item);
  // The first few samples, after warming up; one, and the item is done, where that is beyond item.hopeless_ns.
  Status TakeFirst(WorkItem& item);
  // A few more, within one slice.
  Status TakeMore(WorkItem& item);
  // Whether the item needs no more samples: steady, or no better for trying longer.
  bool HasEnough(const WorkItem& item) const;
  // unit_class: of host cores.
  Result<HostRunner*> HostRunnerOf(UnitClassId unit_class);
  // unit_class: of an asynchronous device.
  Result<DeviceRunner*> DeviceRunnerOf(UnitClassId unit_class);
  // Of a host unit, as HostCores counts them; only once HostRunnerOf was asked for one.
  std::vector<uint32_t> CoresOf(UnitId unit) const { return host_cores_->CoresOf(unit); }

 private:
  Result<Runner*> RunnerOf(UnitClassId unit_class);
  static bool GaveUp(WorkItem& item, const Timing& timing);
  Status TakeSlice(WorkItem& item, uint32_t count, bool warm_up);

  const ProfilingTask& task_;
  DeviceLocks& locks_;
  std::unique_ptr<HostCores> host_cores_;  // made, as the caches, with the first runner of host cores
  std::unique_ptr<HostCaches> host_caches_;
  std::map<UnitClassId, std::unique_ptr<HostRunner>> host_runners_;
  std::map<UnitClassId, std::unique_ptr<DeviceRunner>> device_runners_;
};

}  // namespace pt
