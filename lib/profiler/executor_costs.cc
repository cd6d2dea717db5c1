#include "lib/profiler/executor_costs.h"

#include <memory>

#include "lib/profiler/device_costs.h"
#include "lib/profiler/sampling.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/exec/unit_runner.h"

namespace pt {
namespace {

constexpr uint32_t kSteps = 2'000, kStepRepeats = 9;
constexpr uint32_t kLaunches = 50;  // on a device, of which each takes microseconds

bool IsAsynchronous(const ProfilingTask& task, UnitClassId unit_class) {
  return !task.platform.unit_class(unit_class).on_host();
}

// A series of nanoseconds for `parts` of something each, the lock held for one at a time.
Status TakeSeries(DeviceLocks& locks, DeviceId device, WorkItem& item, uint32_t parts,
                  const std::function<Result<int64_t>()>& time) {
  for (uint32_t repeat = 0; repeat < kStepRepeats; ++repeat) {
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

Status MeasureOverhead(Bench& bench, WorkItem& item) {
  const ProfilingTask& task = bench.task;
  const UnitClassId unit_class = item.needed.unit_class();
  const UnitId unit = UnitsOf(task.platform, unit_class).front();
  const DeviceId device = task.platform.unit_class(unit_class).device;
  if (!IsAsynchronous(task, unit_class)) {
    return TakeSeries(bench.locks, device, item, kSteps, [&] { return TimeEmptySteps(task.machine, unit, kSteps); });
  }
  PT_ASSIGN(const auto work, CopyWork::Least(task.machine, unit, task.options.cancel));
  return TakeSeries(bench.locks, device, item, kLaunches, [&] { return TimeLaunches(*work, kLaunches); });
}

Status MeasureSegment(Bench& bench, WorkItem& item) {
  const ProfilingTask& task = bench.task;
  const UnitClassId unit_class = item.needed.unit_class();
  const UnitId unit = UnitsOf(task.platform, unit_class).front();
  PT_ASSIGN(const auto work, CopyWork::Least(task.machine, unit, task.options.cancel));
  PT_ASSIGN(const auto segment, work->Capture(item.needed.of_class().steps));
  PT_CHECK_OK(TimeSegmentLaunches(*work, *segment, 1));  // the first one brings it to the device
  return TakeSeries(bench.locks, task.platform.unit_class(unit_class).device, item, kLaunches,
                    [&] { return TimeSegmentLaunches(*work, *segment, kLaunches); });
}

Status MeasureWait(Bench& bench, WorkItem& item) {
  const ProfilingTask& task = bench.task;
  const Platform& platform = task.platform;
  const UnitClassId from = item.needed.pair().from, to = item.needed.pair().to;
  const auto units = HandOverUnits(platform, from, to);
  const DeviceId device = platform.unit_class(IsAsynchronous(task, from) ? from : to).device;
  if (!IsAsynchronous(task, from) && !IsAsynchronous(task, to)) {
    return TakeSeries(bench.locks, device, item, 2 * kSteps,
                      [&] { return TimeHandOvers(task.machine, units->first, units->second, kSteps); });
  }
  const auto work_of = [&](UnitClassId unit_class, UnitId unit) -> Result<std::unique_ptr<CopyWork>> {
    if (!IsAsynchronous(task, unit_class)) return std::unique_ptr<CopyWork>();
    return CopyWork::Least(task.machine, unit, task.options.cancel);
  };
  PT_ASSIGN(const auto sender, work_of(from, units->first));
  PT_ASSIGN(const auto receiver, work_of(to, units->second));
  if (sender && receiver && sender->CanWaitFor(*receiver) && receiver->CanWaitFor(*sender)) {
    return TakeSeries(bench.locks, device, item, 2 * kLaunches,
                      [&] { return TimeStreamHandOvers(*sender, *receiver, kLaunches); });
  }
  // Through the host, which sees the end on one side and launches on the other.
  return TakeSeries(bench.locks, device, item, 2 * kLaunches, [&]() -> Result<int64_t> {
    int64_t ns = 0;
    for (CopyWork* side : {sender.get(), receiver.get()}) {
      if (side == nullptr) continue;
      PT_ASSIGN(const int64_t latency, TimeLatencies(*side, kLaunches));
      ns += latency;
    }
    return ns;
  });
}

Status MeasureCopy(Bench& bench, WorkItem& item) {
  const ProfilingTask& task = bench.task;
  PT_ASSIGN(const auto copy,
            CopyWork::Over(task.machine, item.needed.link().link, item.needed.link().bytes, task.options.cancel));
  return bench.locks.Hold(copy->driver().id(), [&]() -> Status {
    const int64_t most_ns = task.options.max_time_per_key.count();
    for (uint32_t i = 0; i < kMostSamples && (item.samples.empty() || item.spent_ns < most_ns); ++i) {
      PT_ASSIGN(const int64_t ns, copy->OwnNs());
      item.spent_ns += ns;
      if (i > 0) item.samples.push_back(ns);  // the first one warms up
    }
    item.done = true;
    return {};
  });
}

}  // namespace pt
