#include "lib/profiler/beside_costs.h"

#include <algorithm>
#include <chrono>

#include "partitiontuner/cost/beside_costs.h"

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kPairs = 11;
constexpr uint32_t kLeastPairs = 3;
constexpr int64_t kLongNs = 20'000'000;  // after so much time the least number of pairs is enough
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

// Alone and beside in turns, so that a drift of the machine's speed is in both. The first pair warms up.
Status BesideSampler::MeasureBeside(WorkItem& item) {
  const bool memory = item.needed.kind == NeededKey::Kind::kBesideMemory;
  Hogs& hogs = HogsBeside(item.needed.unit_class, memory ? Hogs::Kind::kMemory : Hogs::Kind::kCompute);
  PT_CHECK_OK(sampler_.Prepare(item));
  PT_ASSIGN(HostRunner * runner, sampler_.HostRunnerOf(item.needed.unit_class));
  const Clock::time_point begin = Clock::now();
  for (uint32_t pair = 0; pair <= kPairs; ++pair) {
    PT_CHECK_OK(locks_.Hold(kHostDevice, [&]() -> Status {
      PT_ASSIGN(const Timing alone, runner->Time(*item.subject));
      PT_ASSIGN(const Timing beside, runner->TimeBeside(hogs, *item.subject));
      if (pair == 0) return {};
      auto& samples = alone.preempted || beside.preempted ? item.preempted : item.samples;
      samples.push_back(std::max<int64_t>(1, beside.ns - alone.ns));
      return {};
    }));
    if (pair >= kLeastPairs && (Clock::now() - begin).count() > kLongNs) break;
  }
  if (item.samples.empty()) item.samples = item.preempted;
  item.done = true;
  return {};
}

}  // namespace pt
