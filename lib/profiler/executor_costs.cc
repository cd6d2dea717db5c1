#include "lib/profiler/executor_costs.h"

#include <chrono>

#include "lib/profiler/sampling.h"
#include "partitiontuner/exec/unit_runner.h"

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kSteps = 2'000, kRepeats = 9;

// A series of nanoseconds for `parts` of something each, the lock held for one at a time.
Status TakeSeries(const ProfilingTask& task, DeviceLocks& locks, WorkItem& item, uint32_t parts,
                  const std::function<Result<int64_t>()>& time) {
  const DeviceId device = task.platform().unit_class(item.needed.unit_class).device;
  for (uint32_t repeat = 0; repeat < kRepeats; ++repeat) {
    PT_CHECK_OK(locks.Hold(device, [&]() -> Status {
      PT_ASSIGN(const int64_t ns, time());
      item.samples.push_back(ns / parts);
      return {};
    }));
  }
  item.done = true;
  return {};
}

}  // namespace

Status MeasureOverhead(const ProfilingTask& task, DeviceLocks& locks, WorkItem& item) {
  const UnitId unit = UnitsOf(task.platform(), item.needed.unit_class).front();
  return TakeSeries(task, locks, item, kSteps, [&] { return TimeEmptySteps(task.machine, unit, kSteps); });
}

Status MeasureWait(const ProfilingTask& task, DeviceLocks& locks, WorkItem& item) {
  const auto units = HandOverUnits(task.platform(), item.needed.unit_class, item.needed.to_class);
  return TakeSeries(task, locks, item, 2 * kSteps,
                    [&] { return TimeHandOvers(task.machine, units->first, units->second, kSteps); });
}

// On the calling thread, which is where a driver core would enqueue; until the event is seen.
Status MeasureCopy(const ProfilingTask& task, DeviceLocks& locks, WorkItem& item) {
  const Link& link = task.platform().link(item.needed.link);
  const bool to_device = link.from == DeviceId(0u);
  DeviceDriver& device = task.machine.driver(to_device ? link.to : link.from);
  PT_ASSIGN(const auto host, task.machine.driver(DeviceId(0u)).Allocate(item.needed.bytes));
  PT_ASSIGN(const auto remote, device.Allocate(item.needed.bytes));
  PT_ASSIGN(const auto stream, device.MakeStream());
  PT_ASSIGN(const auto event, device.MakeEvent());
  void* to = to_device ? remote->data() : host->data();
  const void* from = to_device ? host->data() : remote->data();
  const auto direction = to_device ? CopyDirection::kToDevice : CopyDirection::kFromDevice;
  return locks.Hold(DeviceId(0u), [&]() -> Status {
    for (uint32_t i = 0; i < kMostSamples && item.spent_ns < task.options.max_time_per_key.count(); ++i) {
      const Clock::time_point begin = Clock::now();
      PT_CHECK_OK(device.EnqueueCopy(*stream, to, from, item.needed.bytes, direction));
      PT_CHECK_OK(stream->Record(*event));
      for (bool ready = false; !ready;) {
        PT_ASSIGN(ready, event->Ready());
      }
      const int64_t ns = (Clock::now() - begin).count();
      item.spent_ns += ns;
      if (i > 0) item.samples.push_back(ns);  // the first one warms up
    }
    item.done = true;
    return {};
  });
}

}  // namespace pt
