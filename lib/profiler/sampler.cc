#include "lib/profiler/sampler.h"

#include <algorithm>
#include <chrono>

#include "lib/profiler/sampling.h"

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMostWarmUps = 4;
constexpr uint32_t kQuickSamples = 3;  // then only what may still win its decision is measured on
constexpr uint32_t kMostQuickSlices = 4;
constexpr int64_t kSliceNs = 20'000'000;  // the cores and the device's lock are held no longer at once
constexpr int64_t kTinyNs = 2'000;        // shorter ones are timed in batches of about this length
constexpr uint32_t kMostBatch = 64;

}  // namespace

Sampler::Sampler(const ProfilingTask& task, DeviceLocks& locks) : task_(task), locks_(locks) {
  const Platform& platform = task.platform();
  for (size_t k = 0; k < platform.unit_classes.size(); ++k) {
    const uint32_t cores = platform.unit_classes[k].cores;
    if (cores > (widest_.valid() ? platform.unit_class(widest_).cores : 0)) widest_ = UnitClassId(k);
  }
  const uint64_t reuse_distance = ReuseDistance(task.graph, platform);
  caches_ = std::make_unique<CacheState>(platform.unit_class(widest_).cores, reuse_distance,
                                         reuse_distance >= InMemoryDistance(platform));
}

Result<UnitRunner*> Sampler::RunnerOf(UnitClassId kind) {
  std::unique_ptr<UnitRunner>& runner = runners_[kind];
  if (runner == nullptr) {
    PT_ASSIGN(runner, UnitRunner::Make(task_.machine, UnitsOf(task_.platform(), kind).front()));
  }
  return runner.get();
}

Status Sampler::Prepare(WorkItem& item) {
  PT_ASSIGN(UnitRunner * runner, RunnerOf(item.needed.unit_class));
  const NeededKey& needed = item.needed;
  if (needed.kind == NeededKey::Kind::kReorder) {
    PT_ASSIGN(item.subject, Subject::OfReorder(needed.dims, needed.from, needed.to, task_.machine, *runner));
  } else {
    PT_ASSIGN(item.subject,
              Subject::OfCandidate(task_.graph, task_.candidates[needed.candidate], task_.machine, *runner));
  }
  return {};
}

// Prepares on all cores, then times on the unit's own.
Result<Timing> Sampler::TakeOne(WorkItem& item, uint32_t batch) {
  PT_ASSIGN(UnitRunner * all, RunnerOf(widest_));
  PT_ASSIGN(UnitRunner * own, RunnerOf(item.needed.unit_class));
  PT_CHECK_OK(all->Run([&](Stream& stream) -> Status {
    item.subject->Prepare(*stream.team(), *caches_);
    return {};
  }));
  Timing timing;
  PT_CHECK_OK(own->Run([&](Stream& stream) -> Status {
    PT_ASSIGN(timing, item.subject->Sample(stream, batch));
    return {};
  }));
  timing.ns = std::max<int64_t>(1, timing.ns - clock_ns_ / batch);
  return timing;
}

// Up to `count` more samples. Warming up ends when two times in a row agree. Samples during which a core was taken
// away are kept only where there are no others: long work on a busy machine.
Status Sampler::TakeSlice(WorkItem& item, uint32_t count, bool warm_up) {
  return locks_.Hold(task_.platform().unit_class(item.needed.unit_class).device, [&]() -> Status {
    const Clock::time_point begin = Clock::now();
    const auto spent = [&] { return (Clock::now() - begin).count(); };
    int64_t before = 0;
    for (uint32_t i = 0; warm_up && i < kMostWarmUps && (i == 0 || spent() < kSliceNs); ++i) {
      PT_ASSIGN(const Timing timing, TakeOne(item, 1));
      const bool agrees = i > 0 && std::abs(timing.ns - before) < timing.ns / 10;
      before = timing.ns;
      if (agrees) break;
    }
    if (warm_up && before < kTinyNs) {
      item.batch = static_cast<uint32_t>(std::clamp<int64_t>(kTinyNs / std::max<int64_t>(before, 1), 1, kMostBatch));
    }
    const size_t enough = item.samples.size() + count;
    for (bool first = true; item.samples.size() < enough && (first || spent() < kSliceNs); first = false) {
      PT_ASSIGN(const Timing timing, TakeOne(item, item.batch));
      (timing.preempted ? item.preempted : item.samples).push_back(timing.ns);
    }
    item.spent_ns += spent();
    return {};
  });
}

// As many slices as a busy machine makes necessary, within reason.
Status Sampler::TakeFirst(WorkItem& item) {
  for (uint32_t slice = 0; slice < kMostQuickSlices && item.samples.size() < kQuickSamples; ++slice) {
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
  return summary.samples >= options.min_samples && !IsNoisy(summary, options.max_noise);
}

}  // namespace pt
