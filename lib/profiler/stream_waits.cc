// What it takes a core to let a stream wait for the event of another one.
#include <algorithm>
#include <chrono>
#include <memory>

#include "lib/profiler/bench.h"
#include "lib/profiler/device_costs.h"
#include "lib/profiler/executor_costs.h"

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kWaitRepeats = 9;
constexpr uint32_t kWaits = 25;  // fewer, with the launches between them, than any queue holds

// Nanoseconds for kWaits, each for a launch that has just been enqueued, as in a run.
Result<int64_t> TimeWaits(CopyWork& made, CopyWork& waits) {
  int64_t ns = 0;
  for (uint32_t i = 0; i < kWaits; ++i) {
    PT_CHECK_OK(made.Launch());
    const Clock::time_point begin = Clock::now();
    PT_CHECK_OK(waits.WaitFor(made));
    ns += (Clock::now() - begin).count();
  }
  PT_CHECK_OK(waits.Launch());
  PT_CHECK_OK(waits.AwaitLast());
  return ns;
}

}  // namespace

Status MeasureStreamWaits(Bench& bench, WorkItem& item) {
  const ProfilingTask& task = bench.task;
  const UnitId unit = UnitsOf(task.platform, item.needed.unit_class()).front();
  PT_ASSIGN(const auto made, CopyWork::Least(task.machine, unit, task.options.cancel));
  PT_ASSIGN(const auto waits, CopyWork::Least(task.machine, unit, task.options.cancel));
  for (uint32_t repeat = 0; repeat <= kWaitRepeats; ++repeat) {
    PT_CHECK_OK(bench.locks.Hold(task.platform.device_of(unit), [&]() -> Status {
      PT_ASSIGN(const int64_t ns, TimeWaits(*made, *waits));
      if (repeat > 0) item.samples.push_back(std::max<int64_t>(1, ns / kWaits));  // the first one warms up
      return {};
    }));
  }
  item.done = true;
  return {};
}

}  // namespace pt
