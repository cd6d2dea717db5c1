#include "lib/profiler/work_list.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>

#include "partitiontuner/cost/cost_keys.h"

namespace pt {
namespace {

// Compiling costs some milliseconds whatever is measured.
constexpr double kCompilingNs = 3e6;

// Hand-overs take four to ten times as long while a virtual machine's cores lie on different chips.
constexpr double kMuchFaster = 0.6;

std::string CandidateLabel(const ProfilingTask& task, const Candidate& candidate) {
  std::string label = NodeLabel(task.graph, HeaviestNode(task.graph, candidate.nodes));
  if (candidate.nodes.size() > 1) label += " and " + std::to_string(candidate.nodes.size() - 1) + " more";
  return candidate.variant.empty() ? label : label + ", " + candidate.variant;
}

std::string LabelOf(const ProfilingTask& task, const NeededKey& needed) {
  const Platform& platform = task.platform;
  switch (needed.kind) {
    case NeededKey::Kind::kCandidate:
      return CandidateLabel(task, task.candidates[needed.candidate]);
    case NeededKey::Kind::kFetchedInputs:
      return CandidateLabel(task, task.candidates[needed.candidate]) + " with inputs from " +
             platform.unit_class(needed.from_class).name;
    case NeededKey::Kind::kBesideMemory:
      return CandidateLabel(task, task.candidates[needed.candidate]) + " beside others that use memory";
    case NeededKey::Kind::kBesideCompute:
      return CandidateLabel(task, task.candidates[needed.candidate]) + " beside others that compute";
    case NeededKey::Kind::kDemand:
      return CandidateLabel(task, task.candidates[needed.candidate]) + " several times at once";
    case NeededKey::Kind::kMemoryHog:
      return "memory beside " + platform.unit_class(needed.unit_class).name;
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
    case NeededKey::Kind::kSegment:
      return "launch of a segment of " + std::to_string(needed.steps) + " steps";
    case NeededKey::Kind::kWait:
      return "hand-over to " + platform.unit_class(needed.to_class).name;
    case NeededKey::Kind::kFetch:
      return "fetching " + std::to_string(needed.bytes) + " bytes to " + platform.unit_class(needed.to_class).name;
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
    case NeededKey::Kind::kSegment:
      return "segment";
    case NeededKey::Kind::kWait:
      return "wait";
    case NeededKey::Kind::kFetch:
      return "fetch";
    case NeededKey::Kind::kFetchedInputs:
      return "fetched inputs";
    case NeededKey::Kind::kBesideMemory:
    case NeededKey::Kind::kBesideCompute:
      return "beside";
    case NeededKey::Kind::kMemoryHog:
      return "hog";
    case NeededKey::Kind::kDemand:
      return "demand";
    case NeededKey::Kind::kCandidate:
      break;
  }
  return "";
}

WorkItem MakeItem(const ProfilingTask& task, NeededKey needed) {
  const Platform& platform = task.platform;
  WorkItem item;
  item.label = LabelOf(task, needed);
  item.row.key_text = needed.key.text;
  item.row.family = FamilyOf(needed.kind);
  item.row.flops = needed.expected_flops;
  item.row.bytes = needed.expected_bytes;
  if (needed.kind == NeededKey::Kind::kCandidate) {
    const Candidate& candidate = task.candidates[needed.candidate];
    item.row.family = task.graph.node(HeaviestNode(task.graph, candidate.nodes)).op;
    item.row.library = candidate.library;
    item.row.math = MathModeName(candidate.math);
  }
  if (needed.unit_class.valid()) {
    const UnitClass& unit_class = platform.unit_class(needed.unit_class);
    item.row.unit_class = unit_class.name;
    item.row.device = platform.device(unit_class.device).fingerprint;
  } else {
    item.row.device = platform.device(platform.link(needed.link).from).fingerprint;
  }
  const auto most_ns = static_cast<double>(task.options.max_time_per_key.count());
  item.weight = kCompilingNs + std::min(most_ns, 12 * RoughNs(needed));
  item.needed = std::move(needed);
  return item;
}

void NoteKnown(const ProfilingTask& task, const NeededKey& needed, const Measurement& m, WorkList& list) {
  ++list.reused;
  if (!m.failure.empty()) ++list.known_failures;
  const bool is_work = needed.kind == NeededKey::Kind::kCandidate || needed.kind == NeededKey::Kind::kReorder;
  if (!is_work || m.provenance != Provenance::kMeasured || m.samples < task.options.min_samples) return;
  const auto median = static_cast<double>(std::max<int64_t>(m.median_ns, 1));
  list.known_noises.emplace_back(static_cast<double>(m.spread_ns) / median, LabelOf(task, needed));
}

bool IsBeside(const NeededKey& needed) {
  return needed.kind == NeededKey::Kind::kBesideMemory || needed.kind == NeededKey::Kind::kBesideCompute ||
         needed.kind == NeededKey::Kind::kMemoryHog;
}

bool IsOfExecutor(const NeededKey& needed) {
  return needed.kind == NeededKey::Kind::kOverhead || needed.kind == NeededKey::Kind::kSegment ||
         needed.kind == NeededKey::Kind::kWait || needed.kind == NeededKey::Kind::kFetch;
}

double Urgency(const Decision& decision) {
  const NeededKey& needed = decision.front().needed;
  if (IsBeside(needed)) return -1;  // no planner asks for it
  if (needed.kind == NeededKey::Kind::kFetchedInputs || needed.kind == NeededKey::Kind::kDemand) return 0;
  return IsOfExecutor(needed) ? 1e300 : RoughNs(needed);
}

// The database's costs of the executor are of a time when hand-overs between cores took much longer than now.
bool IsOfSlowHandOvers(const ProfilingTask& task, const std::map<Hash128, Measurement>& known, int64_t hand_over_ns) {
  const std::vector<UnitId> cores = SingleCoreUnits(task.platform);
  if (hand_over_ns == 0 || cores.size() < 2) return false;
  const auto class_of = [&](UnitId unit) { return task.platform.unit(unit).unit_class; };
  const auto row = known.find(WaitKey(task.platform, class_of(cores.front()), class_of(cores.back())).hash);
  if (row == known.end() || !row->second.failure.empty()) return false;
  return static_cast<double>(hand_over_ns) < kMuchFaster * static_cast<double>(row->second.median_ns);
}

// What the database knows of other ways to do the same work.
class KnownTimes {
 public:
  explicit KnownTimes(const ProfilingTask& task) : task_(task) {}

  void Note(const NeededKey& key, const Measurement& m) {
    if (key.kind == NeededKey::Kind::kCandidate && m.failure.empty()) rows_.push_back({key, m.median_ns});
  }
  // decision_of: the place of each by its work.
  void TellItems(const std::map<std::string, size_t>& decision_of, std::vector<Decision>& decisions) const {
    if (decisions.empty()) return;
    for (const auto& [key, ns] : rows_) {
      const auto at = decision_of.find(WorkSignature(task_.graph, task_.candidates[key.candidate].nodes));
      if (at == decision_of.end()) continue;
      for (WorkItem& item : decisions[at->second]) {
        if (item.needed.unit_class == key.unit_class) item.known_ns = std::min(item.known_ns, ns);
      }
    }
  }

 private:
  const ProfilingTask& task_;
  std::vector<std::pair<NeededKey, int64_t>> rows_;
};

}  // namespace

double RoughNs(const NeededKey& needed) { return needed.expected_flops / 20.0 + needed.expected_bytes / 8.0; }

void WorkItem::Fail(const Error& error) {
  row.failure = ToString(error);
  samples.clear();
  subject.reset();
  done = true;
}

Result<WorkList> ListWork(const ProfilingTask& task, int64_t hand_over_ns) {
  std::vector<NeededKey> needed = NeededKeys(task.graph, task.platform, task.candidates, LibraryVersions(task.machine));
  std::vector<MeasurementKey> keys;
  keys.reserve(needed.size());
  for (const NeededKey& key : needed) keys.push_back(key.key);
  PT_ASSIGN(const auto known, task.db.Get(keys));
  WorkList list;
  list.needed = needed.size();
  const std::string& refresh = task.options.refresh;
  const bool slow_hand_overs = IsOfSlowHandOvers(task, known, hand_over_ns);
  std::map<std::string, size_t> decision_of;
  KnownTimes known_times(task);
  for (NeededKey& key : needed) {
    const auto row = known.find(key.key.hash);
    const bool again = (!refresh.empty() && fnmatch(refresh.c_str(), key.key.text.c_str(), 0) == 0) ||
                       (slow_hand_overs && IsOfExecutor(key));
    if (row != known.end() && !again) {
      NoteKnown(task, key, row->second, list);
      known_times.Note(key, row->second);
      continue;
    }
    std::string decision = key.key.text;
    if (key.kind == NeededKey::Kind::kCandidate) {
      decision = WorkSignature(task.graph, task.candidates[key.candidate].nodes);
    }
    const auto [at, added] = decision_of.emplace(std::move(decision), list.decisions.size());
    if (added) list.decisions.emplace_back();
    list.decisions[at->second].push_back(MakeItem(task, std::move(key)));
  }
  known_times.TellItems(decision_of, list.decisions);
  std::stable_sort(list.decisions.begin(), list.decisions.end(),
                   [](const Decision& a, const Decision& b) { return Urgency(a) > Urgency(b); });
  return list;
}

}  // namespace pt
