#include "lib/profiler/beside_costs.h"

#include <algorithm>
#include <chrono>

#include "lib/profiler/pairs.h"
#include "partitiontuner/cost/beside_costs.h"

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kHogsRun{2};
constexpr uint32_t kHogRepeats = 9;

Hogs& HogsBeside(Bench& bench, UnitClassId unit_class, Hogs::Kind kind) {
  const Platform& platform = bench.task.platform;
  return bench.hogs.try_emplace(std::pair(unit_class, kind), kind, OtherCores(platform, unit_class), platform)
      .first->second;
}

Status MeasureBeside(Bench& bench, WorkItem& item, Hogs::Kind kind) {
  const UnitClassId unit_class = item.needed.unit_class();
  Hogs& hogs = HogsBeside(bench, unit_class, kind);
  PT_CHECK_OK(bench.sampler.Prepare(item));
  PT_ASSIGN(HostRunner * runner, bench.sampler.HostRunnerOf(unit_class));
  return MeasurePairs(
      bench.locks, item, [&] { return runner->Time(*item.subject); },
      [&] { return runner->TimeBeside(hogs, *item.subject); });
}

}  // namespace

Status MeasureBesideMemory(Bench& bench, WorkItem& item) { return MeasureBeside(bench, item, Hogs::Kind::kMemory); }
Status MeasureBesideCompute(Bench& bench, WorkItem& item) { return MeasureBeside(bench, item, Hogs::Kind::kCompute); }

Status MeasureMemoryHogs(Bench& bench, WorkItem& item) {
  const UnitClassId unit_class = item.needed.unit_class();
  Hogs& hogs = HogsBeside(bench, unit_class, Hogs::Kind::kMemory);
  const UnitId unit = UnitsOf(bench.task.platform, unit_class).front();
  PT_ASSIGN(const auto runner, UnitRunner::Make(bench.task.machine, unit));
  return bench.locks.Hold(kHostDevice, [&]() -> Status {
    for (uint32_t repeat = 0; repeat < kHogRepeats; ++repeat) {
      PT_CHECK_OK(runner->RunBeside(hogs.AsOthers(), [&](Stream&) -> Status {
        hogs.AwaitAll();
        const double before = hogs.bytes();
        const Clock::time_point start = Clock::now();
        while (Clock::now() - start < kHogsRun || hogs.bytes() == before) {
        }
        const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
        const double bytes = (hogs.bytes() - before) / hogs.count();
        item.samples.push_back(std::max<int64_t>(1, static_cast<int64_t>(ns * kHogBytes / bytes)));
        return {};
      }));
    }
    item.done = true;
    return {};
  });
}

}  // namespace pt
