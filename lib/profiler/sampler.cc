#include "lib/profiler/sampler.h"

#include <algorithm>
#include <chrono>

#include "lib/profiler/device_runner.h"
#include "lib/profiler/sampling.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMostWarmUps = 4;
constexpr uint32_t kQuickSamples = 3;  // then only what may still win its decision is measured on
constexpr uint32_t kMostQuickSlices = 4;
constexpr int64_t kSliceNs = 20'000'000;  // the cores and the device's lock are held no longer at once

}  // namespace

Sampler::Sampler(const ProfilingTask& task, DeviceLocks& locks) : task_(task), locks_(locks) {}

Result<HostRunner*> Sampler::HostRunnerOf(UnitClassId unit_class) {
  std::unique_ptr<HostRunner>& runner = host_runners_[unit_class];
  if (runner != nullptr) return runner.get();
  const UnitId unit = UnitsOf(task_.platform, unit_class).front();
  if (host_caches_ == nullptr) {
    PT_ASSIGN(host_cores_, HostCores::Make(task_.machine));
    host_caches_ =
        std::make_unique<HostCaches>(*host_cores_, task_.platform, ReuseDistance(task_.graph, task_.platform));
  }
  PT_ASSIGN(runner, MakeHostRunner(task_.machine, unit, host_cores_->CoresOf(unit), *host_caches_));
  return runner.get();
}

Result<DeviceRunner*> Sampler::DeviceRunnerOf(UnitClassId unit_class) {
  std::unique_ptr<DeviceRunner>& runner = device_runners_[unit_class];
  if (runner != nullptr) return runner.get();
  const UnitId unit = UnitsOf(task_.platform, unit_class).front();
  PT_ASSIGN(runner,
            MakeDeviceRunner(task_.machine, unit, ReuseDistance(task_.graph, task_.platform), task_.options.cancel));
  return runner.get();
}

Result<Runner*> Sampler::RunnerOf(UnitClassId unit_class) {
  if (task_.platform.unit_class(unit_class).on_host()) {
    PT_ASSIGN(HostRunner * runner, HostRunnerOf(unit_class));
    return runner;
  }
  PT_ASSIGN(DeviceRunner * runner, DeviceRunnerOf(unit_class));
  return runner;
}

Result<std::unique_ptr<Subject>> Sampler::MakeSubject(UnitClassId unit_class) {
  PT_ASSIGN(Runner * runner, RunnerOf(unit_class));
  return std::make_unique<Subject>(task_.machine, unit_class, runner->compile_context());
}

Status Sampler::Prepare(WorkItem& item) {
  PT_ASSIGN(item.subject, MakeSubject(item.needed.unit_class()));
  if (const auto* reorder = std::get_if<ReorderWork>(&item.needed.work)) {
    return item.subject->MakeReorder(reorder->dims, reorder->from, reorder->to);
  }
  return item.subject->MakeCandidate(task_.graph, task_.candidates[item.needed.candidate().candidate]);
}

// What has no hope keeps one sample.
bool Sampler::GaveUp(WorkItem& item, const Timing& timing) {
  if (timing.ns <= item.hopeless_ns) return false;
  item.samples = {timing.ns};
  if (timing.launch_ns > 0) item.launches = {timing.launch_ns};
  item.done = true;
  return true;
}

// Up to `count` more samples. Warming up ends when two times in a row agree. Samples during which a core was taken
// away are kept only where there are no others: long work on a busy machine. The first run of a device or of a runtime
// with threads of its own says nothing: it may still be preparing something.
Status Sampler::TakeSlice(WorkItem& item, uint32_t count, bool warm_up) {
  PT_ASSIGN(Runner * runner, RunnerOf(item.needed.unit_class()));
  return locks_.Hold(task_.platform.unit_class(item.needed.unit_class()).device, [&]() -> Status {
    const Clock::time_point begin = Clock::now();
    const auto spent = [&] { return (Clock::now() - begin).count(); };
    const bool prepares =
        !task_.platform.unit_class(item.needed.unit_class()).on_host() || item.subject->brings_threads();
    int64_t before = 0;
    for (uint32_t i = 0; warm_up && i < kMostWarmUps && (i == 0 || spent() < kSliceNs); ++i) {
      PT_ASSIGN(const Timing timing, runner->Time(*item.subject));
      const bool agrees = i > 0 && std::abs(timing.ns - before) < timing.ns / 10;
      before = timing.ns;
      if (agrees || ((i > 0 || !prepares) && GaveUp(item, timing))) break;
    }
    const size_t enough = item.samples.size() + count;
    for (bool first = true; !item.done && item.samples.size() < enough && (first || spent() < kSliceNs);
         first = false) {
      PT_ASSIGN(const Timing timing, runner->Time(*item.subject));
      if (GaveUp(item, timing)) break;
      (timing.preempted ? item.preempted : item.samples).push_back(timing.ns);
      if (timing.launch_ns > 0) item.launches.push_back(timing.launch_ns);
    }
    item.spent_ns += spent();
    return {};
  });
}

// As many slices as a busy machine makes necessary, within reason.
Status Sampler::TakeFirst(WorkItem& item) {
  for (uint32_t slice = 0; slice < kMostQuickSlices && !item.done && item.samples.size() < kQuickSamples; ++slice) {
    PT_CHECK_OK(TakeSlice(item, kQuickSamples - static_cast<uint32_t>(item.samples.size()), slice == 0));
    if (item.spent_ns >= task_.options.max_time_per_key.count()) break;
  }
  if (item.samples.empty()) item.samples = item.preempted;
  return {};
}

Status Sampler::TakeMore(WorkItem& item) { return TakeSlice(item, kQuickSamples, false); }

bool Sampler::HasEnough(const WorkItem& item) const {
  const MeasureOptions& options = task_.options;
  if (item.samples.size() >= kMostSamples || item.spent_ns >= options.max_time_per_key.count()) return true;
  const SampleSummary summary = Summarise(item.samples);
  return summary.samples >= options.min_samples && !IsNoisy(summary, item.target);
}

}  // namespace pt
