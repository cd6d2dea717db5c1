#include "lib/profiler/work_list.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>

#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

// Compiling costs some milliseconds whatever is measured.
constexpr double kCompilingNs = 3e6;

// Hand-overs take four to ten times as long while a virtual machine's cores lie on different chips.
constexpr double kMuchFaster = 0.6;

WorkItem MakeItem(const ProfilingTask& task, const CostScope& scope, NeededKey needed) {
  const Platform& platform = task.platform;
  WorkItem item;
  item.label = needed.kind->label(scope, needed);
  item.row.key_text = needed.key.text;
  item.row.family = needed.kind->family;
  item.row.flops = needed.expected_flops;
  item.row.bytes = needed.expected_bytes;
  if (needed.kind == &kRunKind) {
    const Candidate& candidate = task.candidates[needed.candidate().candidate];
    item.row.family = task.graph.node(HeaviestNode(task.graph, candidate.nodes)).op;
    item.row.library = candidate.library;
    item.row.math = MathModeName(candidate.math);
  }
  if (needed.unit_class().valid()) {
    const UnitClass& unit_class = platform.unit_class(needed.unit_class());
    item.row.unit_class = unit_class.name;
    item.row.device = platform.device(unit_class.device).fingerprint;
  } else {
    item.row.device = platform.device(platform.link(needed.link().link).from).fingerprint;
  }
  const auto most_ns = static_cast<double>(task.options.max_time_per_key.count());
  item.weight = kCompilingNs + std::min(most_ns, 12 * RoughNs(needed));
  item.needed = std::move(needed);
  return item;
}

void NoteKnown(const ProfilingTask& task, const CostScope& scope, const NeededKey& needed, const Measurement& m,
               WorkList& list) {
  ++list.reused;
  if (!m.failure.empty()) ++list.known_failures;
  if (!needed.kind->is_work || m.provenance != Provenance::kMeasured || m.samples < task.options.min_samples) return;
  const auto median = static_cast<double>(std::max<int64_t>(m.median_ns, 1));
  list.known_noises.emplace_back(static_cast<double>(m.spread_ns) / median, needed.kind->label(scope, needed));
}

double Urgency(const Decision& decision) {
  const NeededKey& needed = decision.front().needed;
  switch (needed.kind->turn) {
    case CostKind::Turn::kFirst:
      return 1e300;
    case CostKind::Turn::kByWeight:
      return RoughNs(needed);
    case CostKind::Turn::kLate:
      return 0;
    case CostKind::Turn::kLast:
      return -1;
  }
  return 0;
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

// Before all other work one decision of each operator, by itself and in groups, those that take least first: a budget
// that ends early leaves something of every one to estimate by, without which a network cannot be planned.
void BringOperatorsForward(const ProfilingTask& task, std::vector<Decision>& decisions) {
  const auto is_work = std::ranges::find_if(
      decisions, [](const Decision& decision) { return decision.front().needed.kind->turn != CostKind::Turn::kFirst; });
  std::set<std::pair<std::string, bool>> met;
  const auto others = std::stable_partition(is_work, decisions.end(), [&](const Decision& decision) {
    const WorkItem& item = decision.front();
    if (item.needed.kind != &kRunKind) return false;
    const bool alone = task.candidates[item.needed.candidate().candidate].nodes.size() == 1;
    return met.emplace(item.row.family, alone).second;
  });
  std::stable_sort(is_work, others, [](const Decision& a, const Decision& b) { return Urgency(a) < Urgency(b); });
}

// What the decision that the key belongs to is about.
std::string DecisionOf(const Graph& graph, std::span<const Candidate> candidates, const NeededKey& key) {
  return key.kind == &kRunKind ? WorkSignature(graph, candidates[key.candidate().candidate].nodes) : key.key.text;
}

bool IsInShard(const std::string& decision, const Shard& shard) {
  return shard.count <= 1 || HashText(decision).low % shard.count == shard.index;
}

// What the database knows of other ways to do the same work.
class KnownTimes {
 public:
  explicit KnownTimes(const ProfilingTask& task) : task_(task) {}

  void Note(const NeededKey& key, const Measurement& m) {
    if (key.kind == &kRunKind && m.failure.empty()) rows_.push_back({key, m.median_ns});
  }
  // decision_of: the place of each by its work.
  void TellItems(const std::map<std::string, size_t>& decision_of, std::vector<Decision>& decisions) const {
    if (decisions.empty()) return;
    for (const auto& [key, ns] : rows_) {
      const auto at = decision_of.find(WorkSignature(task_.graph, task_.candidates[key.candidate().candidate].nodes));
      if (at == decision_of.end()) continue;
      for (WorkItem& item : decisions[at->second]) {
        if (item.needed.unit_class() == key.unit_class()) item.known_ns = std::min(item.known_ns, ns);
      }
    }
  }

 private:
  const ProfilingTask& task_;
  std::vector<std::pair<NeededKey, int64_t>> rows_;
};

}  // namespace

bool IsInShard(const Graph& graph, std::span<const Candidate> candidates, const NeededKey& key, const Shard& shard) {
  return IsInShard(DecisionOf(graph, candidates, key), shard);
}

double RoughNs(const NeededKey& needed) { return needed.expected_flops / 20.0 + needed.expected_bytes / 8.0; }

void WorkItem::Fail(const Error& error) {
  row.failure = ToString(error);
  samples.clear();
  subject.reset();
  done = true;
}

Result<WorkList> ListWork(const ProfilingTask& task, int64_t hand_over_ns) {
  const std::map<std::string, std::string> versions = LibraryVersions(task.machine);
  const CostScope scope{task.graph, task.platform, task.candidates, versions, ReuseDistance(task.graph, task.platform)};
  std::vector<NeededKey> needed = NeededKeys(task.graph, task.platform, task.candidates, versions);
  std::vector<MeasurementKey> keys;
  keys.reserve(needed.size());
  for (const NeededKey& key : needed) keys.push_back(key.key);
  PT_ASSIGN(const auto known, task.db.Get(keys));
  WorkList list;
  const std::string& refresh = task.options.refresh;
  const bool slow_hand_overs = IsOfSlowHandOvers(task, known, hand_over_ns);
  std::map<std::string, size_t> decision_of;
  KnownTimes known_times(task);
  for (NeededKey& key : needed) {
    std::string decision = DecisionOf(task.graph, task.candidates, key);
    if (!IsInShard(decision, task.options.shard)) {
      ++list.in_other_shards;
      continue;
    }
    ++list.needed;
    const auto row = known.find(key.key.hash);
    const bool again = (!refresh.empty() && fnmatch(refresh.c_str(), key.key.text.c_str(), 0) == 0) ||
                       (slow_hand_overs && key.kind->turn == CostKind::Turn::kFirst);
    if (row != known.end() && !again) {
      NoteKnown(task, scope, key, row->second, list);
      known_times.Note(key, row->second);
      continue;
    }
    const auto [at, added] = decision_of.emplace(std::move(decision), list.decisions.size());
    if (added) list.decisions.emplace_back();
    list.decisions[at->second].push_back(MakeItem(task, scope, std::move(key)));
  }
  known_times.TellItems(decision_of, list.decisions);
  std::stable_sort(list.decisions.begin(), list.decisions.end(),
                   [](const Decision& a, const Decision& b) { return Urgency(a) > Urgency(b); });
  BringOperatorsForward(task, list.decisions);
  return list;
}

}  // namespace pt
