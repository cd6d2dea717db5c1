#include "partitiontuner/profiler/measure.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>

#include "lib/profiler/device_lock.h"
#include "lib/profiler/sampling.h"
#include "lib/profiler/subject.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/exec/unit_runner.h"

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMostWarmUps = 4;
constexpr uint32_t kQuickSamples = 3;  // then only what may still win its decision is measured on
constexpr uint32_t kMostQuickSlices = 4;
constexpr double kFinalistReach = 1.75;  // times the fastest of the decision on that unit class
constexpr uint32_t kMostSamples = 60;
constexpr int64_t kSliceNs = 20'000'000;  // the cores and the device's lock are held no longer at once
constexpr int64_t kTinyNs = 2'000;        // shorter ones are timed in batches of about this length
constexpr uint32_t kMostBatch = 64;
constexpr int64_t kClockGrainNs = 100;  // a spread below this is no noise worth fighting
constexpr uint32_t kOverheadSteps = 2'000, kOverheadRepeats = 9;

// Rough rates of one core, to order work and to say how much is left before anything was measured.
double RoughNs(const NeededKey& needed) { return needed.expected_flops / 20.0 + needed.expected_bytes / 8.0; }

// One key to be measured.
struct Item {
  NeededKey needed;
  Measurement row;
  std::string label;
  double weight = 0;  // expected share of the whole profiling time
  std::unique_ptr<Subject> subject;
  std::vector<int64_t> samples, preempted;
  uint32_t batch = 1;
  int64_t spent_ns = 0;
  bool finalist = false, done = false;
};

class Profiling {
 public:
  Profiling(const Graph& graph, std::span<const Candidate> candidates, Machine& machine, ProfileDb& db,
            const MeasureOptions& options, const ProgressCallback& progress)
      : graph_(graph),
        candidates_(candidates),
        machine_(machine),
        platform_(machine.platform()),
        db_(db),
        options_(options),
        report_progress_(progress),
        started_(Clock::now()) {}

  Result<MeasureReport> Run();

 private:
  bool StopNow();
  Status CollectItems(std::vector<std::vector<Item>>& decisions);
  Item MakeItem(NeededKey needed) const;
  Status MeasureDecision(std::vector<Item>& items);
  void MeasureOnce(std::vector<Item>& items);
  void ChooseFinalists(std::vector<Item>& items);
  Status Prepare(Item& item);
  Status Sample(Item& item, uint32_t count, bool warm_up);
  Status SampleOnce(Item& item);
  Status SampleInRounds(std::vector<Item>& items);
  Status MeasureOverhead(Item& item);
  Status MeasureCopy(Item& item);
  Status KnownTime(Item& item);
  Status Commit(Item& item);
  Result<UnitRunner*> RunnerOf(UnitClassId kind);
  Result<Timing> SampleOne(Item& item, uint32_t batch);
  Status Locked(UnitClassId kind, const std::function<Status()>& timed);
  void Fail(Item& item, const Error& error);
  bool IsNoisy(const SampleSummary& summary) const {
    return summary.noise() > options_.max_noise && summary.spread_ns > kClockGrainNs;
  }
  void Summarise();

  const Graph& graph_;
  const std::span<const Candidate> candidates_;
  Machine& machine_;
  const Platform& platform_;
  ProfileDb& db_;
  const MeasureOptions& options_;
  const ProgressCallback& report_progress_;
  const Clock::time_point started_;
  const int64_t clock_ns_ = ClockOverheadNs();

  MeasureReport report_;
  MeasureProgress progress_;
  std::map<UnitClassId, std::unique_ptr<UnitRunner>> runners_;
  UnitClassId widest_;  // the host class with the most cores: prepares caches
  std::unique_ptr<CacheState> caches_;
  std::map<DeviceId, DeviceLock> locks_;
  std::vector<std::pair<double, std::string>> noises_;  // of what was measured to the end, with its label
  double weight_done_ = 0, weight_left_ = 0;
};

std::string LabelOf(const Graph& graph, const Platform& platform, std::span<const Candidate> candidates,
                    const NeededKey& needed) {
  switch (needed.kind) {
    case NeededKey::Kind::kCandidate: {
      const Candidate& candidate = candidates[needed.candidate];
      std::string label = NodeLabel(graph, HeaviestNode(graph, candidate.nodes));
      if (candidate.nodes.size() > 1) label += " and " + std::to_string(candidate.nodes.size() - 1) + " more";
      return candidate.variant.empty() ? label : label + ", " + candidate.variant;
    }
    case NeededKey::Kind::kReorder:
      return "reorder " + ToString(needed.from.layout) + " to " + ToString(needed.to.layout) + " of " +
             std::to_string(static_cast<int64_t>(needed.expected_bytes / 2)) + " bytes";
    case NeededKey::Kind::kCopy: {
      const Link& link = platform.link(needed.link);
      return "copy " + std::to_string(needed.bytes) + " bytes " + platform.device(link.from).name + " to " +
             platform.device(link.to).name;
    }
    case NeededKey::Kind::kOverhead:
      return "overhead of a step";
    case NeededKey::Kind::kWait:
      return "hand-over to " + platform.unit_class(needed.to_class).name;
  }
  return {};
}

const char* FamilyOf(NeededKey::Kind kind) {
  switch (kind) {
    case NeededKey::Kind::kReorder:
      return "reorder";
    case NeededKey::Kind::kCopy:
      return "copy";
    case NeededKey::Kind::kOverhead:
      return "overhead";
    case NeededKey::Kind::kWait:
      return "wait";
    case NeededKey::Kind::kCandidate:
      break;
  }
  return "";
}

Item Profiling::MakeItem(NeededKey needed) const {
  Item item;
  item.label = LabelOf(graph_, platform_, candidates_, needed);
  item.row.key_text = needed.key.text;
  item.row.family = FamilyOf(needed.kind);
  item.row.flops = needed.expected_flops;
  item.row.bytes = needed.expected_bytes;
  if (needed.kind == NeededKey::Kind::kCandidate) {
    const Candidate& candidate = candidates_[needed.candidate];
    item.row.family = graph_.node(HeaviestNode(graph_, candidate.nodes)).op;
    item.row.library = candidate.library;
  }
  if (needed.unit_class.valid()) {
    const UnitClass& kind = platform_.unit_class(needed.unit_class);
    item.row.unit_class = kind.name;
    item.row.device = platform_.device(kind.device).fingerprint;
  } else {
    item.row.device = platform_.device(platform_.link(needed.link).from).fingerprint;
  }
  // Compiling costs some milliseconds whatever is measured.
  item.weight = 3e6 + std::min<double>(static_cast<double>(options_.max_time_per_key.count()), 12 * RoughNs(needed));
  item.needed = std::move(needed);
  return item;
}

// What is missing, as decisions (ways to do the same work), heaviest first; costs of the executor before all.
Status Profiling::CollectItems(std::vector<std::vector<Item>>& decisions) {
  std::vector<NeededKey> needed = NeededKeys(graph_, platform_, candidates_, LibraryVersions(machine_));
  std::vector<MeasurementKey> keys;
  keys.reserve(needed.size());
  for (const NeededKey& key : needed) keys.push_back(key.key);
  PT_ASSIGN(const auto known, db_.Get(keys));
  report_.needed = needed.size();
  std::map<std::string, size_t> decision_of;
  for (NeededKey& key : needed) {
    const auto row = known.find(key.key.hash);
    const bool again = !options_.refresh.empty() && fnmatch(options_.refresh.c_str(), key.key.text.c_str(), 0) == 0;
    if (row != known.end() && !again) {
      ++report_.reused;
      const Measurement& m = row->second;
      if (!m.failure.empty()) ++report_.failed;
      const bool is_work = key.kind == NeededKey::Kind::kCandidate || key.kind == NeededKey::Kind::kReorder;
      if (is_work && m.provenance == Provenance::kMeasured && m.samples >= options_.min_samples) {
        noises_.emplace_back(static_cast<double>(m.spread_ns) / static_cast<double>(std::max<int64_t>(m.median_ns, 1)),
                             LabelOf(graph_, platform_, candidates_, key));
      }
      continue;
    }
    std::string decision = key.key.text;
    if (key.kind == NeededKey::Kind::kCandidate) decision = WorkSignature(graph_, candidates_[key.candidate].nodes);
    const auto [at, added] = decision_of.emplace(std::move(decision), decisions.size());
    if (added) decisions.emplace_back();
    decisions[at->second].push_back(MakeItem(std::move(key)));
  }
  const auto urgency = [](const std::vector<Item>& items) {
    const NeededKey::Kind kind = items.front().needed.kind;
    if (kind == NeededKey::Kind::kOverhead || kind == NeededKey::Kind::kWait) return 1e300;
    return RoughNs(items.front().needed);
  };
  std::stable_sort(decisions.begin(), decisions.end(),
                   [&](const auto& a, const auto& b) { return urgency(a) > urgency(b); });
  for (const std::vector<Item>& items : decisions) {
    for (const Item& item : items) weight_left_ += item.weight;
  }
  return {};
}

bool Profiling::StopNow() {
  if (options_.cancel != nullptr && options_.cancel->cancelled()) report_.interrupted = true;
  if (options_.budget.count() > 0 && Clock::now() - started_ > options_.budget) report_.out_of_budget = true;
  return report_.interrupted || report_.out_of_budget;
}

Result<UnitRunner*> Profiling::RunnerOf(UnitClassId kind) {
  std::unique_ptr<UnitRunner>& runner = runners_[kind];
  if (runner == nullptr) {
    PT_ASSIGN(runner, UnitRunner::Make(machine_, UnitsOf(platform_, kind).front()));
  }
  return runner.get();
}

Status Profiling::Locked(UnitClassId kind, const std::function<Status()>& timed) {
  const DeviceId device = platform_.unit_class(kind).device;
  auto lock = locks_.find(device);
  if (lock == locks_.end()) {
    PT_ASSIGN(DeviceLock opened, DeviceLock::Open(platform_.device(device).name));
    lock = locks_.emplace(device, std::move(opened)).first;
  }
  PT_CHECK_OK(lock->second.Acquire(options_.cancel));
  Status status = timed();
  lock->second.Release();
  return status;
}

void Profiling::Fail(Item& item, const Error& error) {
  item.row.failure = ToString(error);
  item.samples.clear();
  item.subject.reset();
  item.done = true;
}

Status Profiling::Prepare(Item& item) {
  PT_ASSIGN(UnitRunner * runner, RunnerOf(item.needed.unit_class));
  const NeededKey& needed = item.needed;
  if (needed.kind == NeededKey::Kind::kReorder) {
    PT_ASSIGN(item.subject, Subject::OfReorder(needed.dims, needed.from, needed.to, machine_, *runner));
  } else {
    PT_ASSIGN(item.subject, Subject::OfCandidate(graph_, candidates_[needed.candidate], machine_, *runner));
  }
  return {};
}

// Prepares on all cores, then times on the unit's own.
Result<Timing> Profiling::SampleOne(Item& item, uint32_t batch) {
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

// Up to `count` more samples, within one slice. Warming up ends when two times in a row agree. Samples during which
// a core was taken away are kept only where there are no others: long work on a busy machine.
Status Profiling::Sample(Item& item, uint32_t count, bool warm_up) {
  return Locked(item.needed.unit_class, [&]() -> Status {
    const Clock::time_point begin = Clock::now();
    const auto spent = [&] { return (Clock::now() - begin).count(); };
    int64_t before = 0;
    for (uint32_t i = 0; warm_up && i < kMostWarmUps && (i == 0 || spent() < kSliceNs); ++i) {
      PT_ASSIGN(const Timing timing, SampleOne(item, 1));
      const bool agrees = i > 0 && std::abs(timing.ns - before) < timing.ns / 10;
      before = timing.ns;
      if (agrees) break;
    }
    if (warm_up && before < kTinyNs) {
      item.batch = static_cast<uint32_t>(std::clamp<int64_t>(kTinyNs / std::max<int64_t>(before, 1), 1, kMostBatch));
    }
    const size_t enough = item.samples.size() + count;
    for (bool first = true; item.samples.size() < enough && (first || spent() < kSliceNs); first = false) {
      PT_ASSIGN(const Timing timing, SampleOne(item, item.batch));
      (timing.preempted ? item.preempted : item.samples).push_back(timing.ns);
    }
    item.spent_ns += spent();
    return {};
  });
}

// The first samples: as many slices as a busy machine makes necessary, within reason.
Status Profiling::SampleOnce(Item& item) {
  for (uint32_t slice = 0; slice < kMostQuickSlices && item.samples.size() < kQuickSamples; ++slice) {
    PT_CHECK_OK(Sample(item, kQuickSamples - static_cast<uint32_t>(item.samples.size()), slice == 0));
    if (item.spent_ns >= options_.max_time_per_key.count()) break;
  }
  if (item.samples.empty()) item.samples = item.preempted;
  return {};
}

// Finalists in turn, a few samples each, so that a drift of the machine's speed hits all of them alike.
Status Profiling::SampleInRounds(std::vector<Item>& items) {
  for (bool more = true; more;) {
    more = false;
    for (Item& item : items) {
      if (item.done || !item.finalist) continue;
      if (StopNow()) return {};
      const SampleSummary summary = pt::Summarise(item.samples);
      const bool steady = summary.samples >= options_.min_samples && !IsNoisy(summary);
      if (steady || item.samples.size() >= kMostSamples || item.spent_ns >= options_.max_time_per_key.count()) {
        item.done = true;
        continue;
      }
      if (Status status = Sample(item, kQuickSamples, false); !status.ok()) {
        if (status.error().code == ErrorCode::kInterrupted) return {};
        Fail(item, status.error());
      }
      more = true;
    }
  }
  return {};
}

Status Profiling::MeasureOverhead(Item& item) {
  const NeededKey& needed = item.needed;
  for (uint32_t repeat = 0; repeat < kOverheadRepeats; ++repeat) {
    PT_CHECK_OK(Locked(needed.unit_class, [&]() -> Status {
      if (needed.kind == NeededKey::Kind::kOverhead) {
        PT_ASSIGN(const int64_t ns,
                  TimeEmptySteps(machine_, UnitsOf(platform_, needed.unit_class).front(), kOverheadSteps));
        item.samples.push_back(ns / kOverheadSteps);
      } else {
        const auto units = HandOverUnits(platform_, needed.unit_class, needed.to_class);
        PT_ASSIGN(const int64_t ns, TimeHandOvers(machine_, units->first, units->second, kOverheadSteps));
        item.samples.push_back(ns / (2 * int64_t{kOverheadSteps}));
      }
      return {};
    }));
  }
  item.done = true;
  return {};
}

// On the calling thread, which is where a driver core would enqueue; until the event is seen.
Status Profiling::MeasureCopy(Item& item) {
  const Link& link = platform_.link(item.needed.link);
  const bool to_device = link.from == DeviceId(0u);
  DeviceDriver& device = machine_.driver(to_device ? link.to : link.from);
  PT_ASSIGN(const auto host, machine_.driver(DeviceId(0u)).Allocate(item.needed.bytes));
  PT_ASSIGN(const auto remote, device.Allocate(item.needed.bytes));
  PT_ASSIGN(const auto stream, device.MakeStream());
  PT_ASSIGN(const auto event, device.MakeEvent());
  void* to = to_device ? remote->data() : host->data();
  const void* from = to_device ? host->data() : remote->data();
  const auto direction = to_device ? CopyDirection::kToDevice : CopyDirection::kFromDevice;
  return Locked(UnitClassId(0u), [&]() -> Status {
    for (uint32_t i = 0; i < kMostSamples && item.spent_ns < options_.max_time_per_key.count(); ++i) {
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

Status Profiling::KnownTime(Item& item) {
  const Candidate& candidate = candidates_[item.needed.candidate];
  const Library* library = machine_.library(candidate.library);
  const std::optional<int64_t> ns =
      library != nullptr ? library->KnownCost(graph_, platform_, candidate) : std::nullopt;
  if (ns) {
    item.row.median_ns = *ns;
    item.row.provenance = Provenance::kSimulated;
    item.done = true;
  } else {
    Fail(item, MakeError(ErrorCode::kUnsupported, "profiler.simulated", "its platform file gives no time for this"));
  }
  return {};
}

void Profiling::MeasureOnce(std::vector<Item>& items) {
  for (Item& item : items) {
    if (StopNow()) break;
    Status status;
    switch (item.needed.kind) {
      case NeededKey::Kind::kOverhead:
      case NeededKey::Kind::kWait:
        status = MeasureOverhead(item);
        break;
      case NeededKey::Kind::kCopy:
        status = MeasureCopy(item);
        break;
      case NeededKey::Kind::kCandidate:
        if (platform_.device(platform_.unit_class(item.needed.unit_class).device).simulated) {
          status = KnownTime(item);
          break;
        }
        [[fallthrough]];
      case NeededKey::Kind::kReorder:
        status = Prepare(item);
        if (status.ok()) status = SampleOnce(item);
        break;
    }
    if (!status.ok()) {
      const ErrorCode code = status.error().code;
      if (code == ErrorCode::kInterrupted) break;
      if (code == ErrorCode::kOutOfMemory) {  // another time may have the memory: nothing to remember
        item.subject.reset();
        item.samples.clear();
        continue;
      }
      Fail(item, status.error());
    }
  }
}

// What is clearly slower than another way to do the same work on that unit class keeps its few samples.
void Profiling::ChooseFinalists(std::vector<Item>& items) {
  std::map<UnitClassId, int64_t> fastest;
  for (const Item& item : items) {
    if (item.done || item.samples.empty()) continue;
    const auto [at, added] = fastest.emplace(item.needed.unit_class, INT64_MAX);
    at->second = std::min(at->second, pt::Summarise(item.samples).median_ns);
  }
  for (Item& item : items) {
    if (item.done || item.samples.empty()) continue;
    const double reach = kFinalistReach * static_cast<double>(fastest.at(item.needed.unit_class));
    item.finalist = static_cast<double>(pt::Summarise(item.samples).median_ns) <= reach;
    item.done = !item.finalist;
  }
}

Status Profiling::MeasureDecision(std::vector<Item>& items) {
  MeasureOnce(items);
  ChooseFinalists(items);
  PT_CHECK_OK(SampleInRounds(items));
  for (Item& item : items) PT_CHECK_OK(Commit(item));
  return {};
}

// What is finished, or was stopped with enough samples to be worth keeping.
Status Profiling::Commit(Item& item) {
  weight_left_ -= item.weight;
  weight_done_ += item.weight;
  item.subject.reset();
  if (!item.done && item.samples.size() < options_.min_samples) return {};
  const SampleSummary summary = pt::Summarise(item.samples);
  if (!item.samples.empty()) {
    item.row.median_ns = summary.median_ns;
    item.row.spread_ns = summary.spread_ns;
    item.row.samples = summary.samples;
    if (item.finalist) {  // costs of the executor are too small for a relative error to mean anything
      noises_.emplace_back(summary.noise(), item.label);
      if (IsNoisy(summary)) ++report_.noisy;
    }
  } else if (item.row.failure.empty() && item.row.provenance == Provenance::kMeasured) {
    return {};  // stopped before the first sample
  }
  PT_CHECK_OK(db_.Put(item.needed.key, item.row));
  ++(item.row.failure.empty() ? report_.measured : report_.failed);
  progress_.done = report_.reused + report_.measured + report_.failed;
  progress_.failed = report_.failed;
  progress_.elapsed = Clock::now() - started_;
  progress_.left = std::chrono::nanoseconds(static_cast<int64_t>(
      static_cast<double>(progress_.elapsed.count()) * std::max(0.0, weight_left_) / std::max(1.0, weight_done_)));
  progress_.current = item.label;
  progress_.unit_class = item.row.unit_class;
  progress_.library = item.row.library;
  progress_.failure = item.row.failure;
  progress_.ns = item.row.median_ns;
  progress_.noise = summary.noise();
  if (report_progress_) report_progress_(progress_);
  return {};
}

void Profiling::Summarise() {
  if (noises_.empty()) return;
  std::sort(noises_.begin(), noises_.end());
  report_.median_noise = noises_[noises_.size() / 2].first;
  report_.worst_noise = noises_.back().first;
  report_.worst_key = noises_.back().second;
}

Result<MeasureReport> Profiling::Run() {
  std::vector<std::vector<Item>> decisions;
  PT_CHECK_OK(CollectItems(decisions));
  for (size_t k = 0; k < platform_.unit_classes.size(); ++k) {
    const uint32_t cores = platform_.unit_classes[k].cores;
    if (cores > (widest_.valid() ? platform_.unit_class(widest_).cores : 0)) widest_ = UnitClassId(k);
  }
  const uint64_t reuse_distance = ReuseDistance(graph_, platform_);
  caches_ = std::make_unique<CacheState>(platform_.unit_class(widest_).cores, reuse_distance,
                                         reuse_distance >= InMemoryDistance(platform_));
  const size_t known_failures = report_.failed;
  progress_.total = report_.needed;
  progress_.reused = report_.reused;
  report_.failed = 0;
  for (std::vector<Item>& items : decisions) {
    if (StopNow()) break;
    PT_CHECK_OK(MeasureDecision(items));
    items.clear();  // buffers and kernels with it
  }
  report_.missing = report_.needed - report_.reused - report_.measured - report_.failed;
  report_.failed += known_failures;
  Summarise();
  return report_;
}

}  // namespace

std::map<std::string, std::string> LibraryVersions(const Machine& machine) {
  std::map<std::string, std::string> versions;
  for (const auto& library : machine.libraries()) versions.emplace(library->name(), library->version());
  return versions;
}

const Library* ReorderLibrary(const Machine& machine, UnitClassId unit_class, std::span<const int64_t> dims,
                              const Form& from, const Form& to) {
  const Platform& platform = machine.platform();
  const DeviceId device = platform.unit_class(unit_class).device;
  for (const auto& library : machine.libraries()) {
    if (library->Serves(platform, device) && library->CanReorder(platform, unit_class, dims, from, to)) {
      return library.get();
    }
  }
  return nullptr;
}

Result<MeasureReport> MeasureProfile(const Graph& graph, std::span<const Candidate> candidates, Machine& machine,
                                     ProfileDb& db, const MeasureOptions& options, const ProgressCallback& progress) {
  return Profiling(graph, candidates, machine, db, options, progress).Run();
}

}  // namespace pt
