#include "partitiontuner/profiler/measure.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <new>
#include <optional>
#include <tuple>

#include "lib/profiler/device_watch.h"
#include "lib/profiler/fault.h"
#include "lib/profiler/ledger.h"
#include "lib/profiler/measurers.h"
#include "lib/profiler/sampling.h"
#include "lib/profiler/work_list.h"
#include "partitiontuner/exec/host_pace.h"
#include "partitiontuner/exec/judge_plan.h"

namespace pt {
namespace {

constexpr std::chrono::milliseconds kReferenceLasts{200};
constexpr double kFinalistReach = 1.75;  // times the fastest of the decision on that unit class
constexpr double kVariantReach = 1.25;   // times the fastest that differs in its variant alone
constexpr double kHopelessReach = 100;   // times the fastest so far, or what was expected
constexpr double kQuickNs = 20'000'000;  // what takes no longer is measured, whatever it competes with

// What planners tell apart of the ways to do the same work: of all others they take the fastest.
using Kind = std::tuple<UnitClassId, std::string, MathMode, std::vector<Form>, std::vector<Form>>;

// Tells the watch, if there is one, what is at work.
class Watched {
 public:
  Watched(MeasureWatch* watch, const WorkItem& item) : watch_(watch) {
    if (watch_ != nullptr) watch_->Begin(item.needed.key, item.label);
  }
  ~Watched() {
    if (watch_ != nullptr) watch_->End();
  }
  Watched(const Watched&) = delete;

 private:
  MeasureWatch* watch_;
};

// From when on an item is so far behind that its exact time is of no use.
int64_t HopelessNs(const WorkItem& item, int64_t fastest_ns) {
  double reach = std::min(static_cast<double>(fastest_ns), static_cast<double>(item.known_ns));
  if (const double rough = RoughNs(item.needed); rough > 0) reach = std::min(reach, rough);
  const double ns = std::max(kQuickNs, kHopelessReach * reach);
  return ns < 9e18 ? static_cast<int64_t>(ns) : INT64_MAX;
}

// Goes through the decisions: some samples of every way, then the rest of those that may still win.
class Profiling {
 public:
  Profiling(const ProfilingTask& task, Ledger& ledger)
      : task_(task), ledger_(ledger), bench_(task), devices_(task.machine) {}

  Status MeasureDecision(Decision& decision);
  std::vector<DeviceStates> DevicesSeen() { return devices_.Close(); }

 private:
  Status MeasureOnce(Decision& decision);
  Status TimeReference();
  Kind KindOf(const WorkItem& item) const;
  void ChooseFinalists(Decision& decision);
  void NoteFastest(const Decision& decision, const std::map<UnitClassId, int64_t>& fastest);
  Status MeasureFinalists(Decision& decision, Ledger::Clock::time_point deadline);
  Status Settle(WorkItem& item, Error error);
  void DropFaulty(Decision& decision);
  DeviceId DeviceOf(const NeededKey& needed) const;

  const ProfilingTask& task_;
  Ledger& ledger_;
  Bench bench_;
  DeviceWatch devices_;
  double network_ns_ = 0;     // of the decisions about single operators so far, by the fastest way for each
  int64_t reference_ns_ = 0;  // of the reference work, taken anew from time to time
  Ledger::Clock::time_point reference_until_;
};

Status Profiling::MeasureDecision(Decision& decision) {
  PT_CHECK_OK(TimeReference());
  const Ledger::Clock::time_point deadline = ledger_.DeadlineOf(decision);
  DropFaulty(decision);
  PT_CHECK_OK(MeasureOnce(decision));
  ChooseFinalists(decision);
  PT_CHECK_OK(MeasureFinalists(decision, deadline));
  for (WorkItem& item : decision) {
    if (!item.samples.empty()) {
      item.row.reference_ns = reference_ns_;
      devices_.Note(DeviceOf(item.needed));
    }
    if (item.subject != nullptr) {
      const Watched watched(task_.options.watch, item);
      item.subject.reset();
    }
    PT_CHECK_OK(ledger_.Commit(item));
  }
  return {};
}

// The one whose clock its times are of.
DeviceId Profiling::DeviceOf(const NeededKey& needed) const {
  if (needed.unit_class().valid()) return task_.platform.unit_class(needed.unit_class()).device;
  const Link& link = task_.platform.link(needed.link().link);
  return IsHost(link.from) ? link.to : link.from;
}

void Profiling::DropFaulty(Decision& decision) {
  if (task_.options.faults.empty()) return;
  for (WorkItem& item : decision) {
    const auto fault = task_.options.faults.find(ToHex(item.needed.key.hash));
    if (fault == task_.options.faults.end()) continue;
    const Error error = MakeError(ErrorCode::kRunFailed, "profiler.fault", fault->second.what);
    if (item.needed.kind->is_work && fault->second.is_lasting) {
      item.Fail(error);
    } else {
      ledger_.Skip(item, error);
    }
  }
}

// How fast the host is now. Decisions take some milliseconds each, so most are stamped with an earlier one's.
Status Profiling::TimeReference() {
  if (Ledger::Clock::now() < reference_until_) return {};
  PT_CHECK_OK(bench_.locks.Hold(kHostDevice, [&]() -> Status {
    PT_ASSIGN(reference_ns_, TimeHostPace(task_.machine));
    return {};
  }));
  reference_until_ = Ledger::Clock::now() + kReferenceLasts;
  return {};
}

Status Profiling::MeasureOnce(Decision& decision) {
  std::map<UnitClassId, int64_t> fastest;
  for (WorkItem& item : decision) {
    if (ledger_.StopNow()) break;
    if (item.done) continue;
    const Watched watched(task_.options.watch, item);
    int64_t& least = fastest.try_emplace(item.needed.unit_class(), INT64_MAX).first->second;
    item.hopeless_ns = HopelessNs(item, least);
    if (Status status = MeasureFirst(bench_, item); !status.ok()) PT_CHECK_OK(Settle(item, std::move(status).error()));
    if (!item.samples.empty()) least = std::min(least, std::max<int64_t>(1, Summarise(item.samples).median_ns));
  }
  return {};
}

// Decides what an error means for the item; returns it where nothing else can be measured either.
Status Profiling::Settle(WorkItem& item, Error error) {
  const Origin origin = item.subject != nullptr ? item.subject->origin() : Origin::kElsewhere;
  switch (VerdictOf(origin, error.code)) {
    case Verdict::kCannotRun:
      item.Fail(error);
      return {};
    case Verdict::kNotNow:
      ledger_.Skip(item, error);
      return {};
    case Verdict::kStopped:
      return {};  // StopNow sees it too
    case Verdict::kEnd:
      break;
  }
  if (error.node.empty()) error.node = item.label;
  return error;
}

Kind Profiling::KindOf(const WorkItem& item) const {
  if (item.needed.kind != &kRunKind) return {item.needed.unit_class(), {}, {}, {}, {}};
  const Candidate& candidate = task_.candidates[item.needed.candidate().candidate];
  return {candidate.unit_class, candidate.library, candidate.math, candidate.in, candidate.out};
}

// What is clearly slower than another way to do the same work on that unit class, or than another variant of itself,
// keeps its few samples; the others are measured as exactly as it takes to choose between them.
void Profiling::ChooseFinalists(Decision& decision) {
  std::map<UnitClassId, int64_t> fastest;
  std::map<Kind, int64_t> fastest_of_kind;
  for (const WorkItem& item : decision) {
    if (item.done || item.samples.empty()) continue;
    const int64_t ns = std::max<int64_t>(1, Summarise(item.samples).median_ns);
    const auto note = [ns](int64_t& least) { least = least == 0 ? ns : std::min(least, ns); };
    note(fastest[item.needed.unit_class()]);
    note(fastest_of_kind[KindOf(item)]);
  }
  NoteFastest(decision, fastest);
  for (WorkItem& item : decision) {
    if (item.done || item.samples.empty()) continue;
    const auto ns = static_cast<double>(Summarise(item.samples).median_ns);
    const double times = ns / static_cast<double>(fastest.at(item.needed.unit_class()));
    item.finalist = times <= kFinalistReach && ns <= kVariantReach * static_cast<double>(fastest_of_kind[KindOf(item)]);
    item.done = !item.finalist;
    item.target = TargetOf(task_.options.max_noise, times, network_ns_);
  }
}

void Profiling::NoteFastest(const Decision& decision, const std::map<UnitClassId, int64_t>& fastest) {
  if (fastest.empty() || decision.front().needed.kind != &kRunKind) return;
  if (task_.candidates[decision.front().needed.candidate().candidate].nodes.size() > 1)
    return;  // its nodes count alone, too
  const auto best = std::ranges::min_element(fastest, {}, [](const auto& of_class) { return of_class.second; });
  network_ns_ += static_cast<double>(best->second);
}

// In turn, a few samples each, so that a drift of the machine's speed hits all of them alike. What is not exact enough
// at the deadline stays as it is: all that the network needs, some of it noisy, is worth more than half of it.
Status Profiling::MeasureFinalists(Decision& decision, Ledger::Clock::time_point deadline) {
  for (bool more = true; more;) {
    more = false;
    const bool late = Ledger::Clock::now() >= deadline;
    for (WorkItem& item : decision) {
      if (item.done || !item.finalist) continue;
      if (ledger_.StopNow()) return {};
      if (late || bench_.sampler.HasEnough(item)) {
        item.done = true;
        continue;
      }
      const Watched watched(task_.options.watch, item);
      if (Status status = bench_.sampler.TakeMore(item); !status.ok()) {
        PT_CHECK_OK(Settle(item, std::move(status).error()));
      }
      more = true;
    }
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> LibraryVersions(const Machine& machine) {
  return LibraryVersions(machine.libraries());
}

Platform MeasuredPlatform(const Machine& machine) {
  Platform platform = machine.platform();
  if (!machine.CheckRunsHere().ok()) return platform;  // of another machine's file: it has no drivers
  for (size_t i = 0; i < platform.devices.size(); ++i) {
    Device& device = platform.devices[i];
    if (!device.simulated || machine.driver(DeviceId(i)).HasVirtualClock()) continue;
    device.simulated = false;
    device.fingerprint += ", wall clock";
  }
  return platform;
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
                                     ProfileDb& db, const MeasureOptions& options,
                                     const ProgressCallback& progress) try {
  PT_CHECK_OK(machine.CheckRunsHere());
  const auto started = Ledger::Clock::now();
  const ProfilingTask task{graph, candidates, machine, db, options, MeasuredPlatform(machine)};
  // Nothing, but it tells: a database that can only be read may still be complete.
  const Status can_store = db.Import({});
  int64_t hand_over_ns = 0;
  if (options.watch_hand_overs && can_store.ok()) {
    DeviceLocks locks(task.platform, options.cancel);
    PT_CHECK_OK(locks.Hold(kHostDevice, [&]() -> Status {
      PT_ASSIGN(hand_over_ns, TimeHostHandOver(machine));
      return {};
    }));
  }
  PT_ASSIGN(WorkList list, ListWork(task, hand_over_ns));
  if (!list.decisions.empty()) PT_CHECK_OK(can_store);  // before anything is measured
  Ledger ledger(task, list, progress, started);
  Profiling profiling(task, ledger);
  for (Decision& decision : list.decisions) {
    if (ledger.StopNow()) break;
    PT_CHECK_OK(profiling.MeasureDecision(decision));
    decision.clear();  // buffers and kernels with it
  }
  MeasureReport report = ledger.Close();
  report.devices = profiling.DevicesSeen();
  return report;
} catch (const std::bad_alloc&) {
  return MakeError(ErrorCode::kOutOfMemory, "profiler.memory", "no memory to go on measuring",
                   "what was measured is kept; the same call goes on from there");
}

}  // namespace pt
