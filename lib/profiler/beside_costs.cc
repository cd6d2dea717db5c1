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

}  // namespace

Hogs& BesideSampler::HogsBeside(UnitClassId unit_class, Hogs::Kind kind) {
  return hogs_.try_emplace(std::pair(unit_class, kind), kind, OtherCores(task_.platform, unit_class), task_.platform)
      .first->second;
}

Status BesideSampler::Measure(WorkItem& item) {
  if (item.needed.kind == NeededKey::Kind::kMemoryHog) return MeasureHogs(item);
  return MeasureBeside(item);
}

Status BesideSampler::MeasureHogs(WorkItem& item) {
  Hogs& hogs = HogsBeside(item.needed.unit_class, Hogs::Kind::kMemory);
  const UnitId unit = UnitsOf(task_.platform, item.needed.unit_class).front();
  PT_ASSIGN(const auto runner, UnitRunner::Make(task_.machine, unit));
  return locks_.Hold(kHostDevice, [&]() -> Status {
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

Status BesideSampler::MeasureBeside(WorkItem& item) {
  const bool memory = item.needed.kind == NeededKey::Kind::kBesideMemory;
  Hogs& hogs = HogsBeside(item.needed.unit_class, memory ? Hogs::Kind::kMemory : Hogs::Kind::kCompute);
  PT_CHECK_OK(sampler_.Prepare(item));
  PT_ASSIGN(HostRunner * runner, sampler_.HostRunnerOf(item.needed.unit_class));
  return MeasurePairs(
      locks_, item, [&] { return runner->Time(*item.subject); },
      [&] { return runner->TimeBeside(hogs, *item.subject); });
}

}  // namespace pt
