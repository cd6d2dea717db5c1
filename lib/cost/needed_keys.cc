#include <algorithm>
#include <set>
#include <span>

#include "lib/cost/candidate_classes.h"
#include "lib/cost/cost_keys.h"
#include "lib/cost/demands.h"
#include "lib/cost/fetch_shares.h"
#include "partitiontuner/candidate/run_time_sizes.h"
#include "partitiontuner/cost/beside_costs.h"
#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

constexpr uint64_t kLeastCopyBytes = 256;
constexpr uint64_t kMostCopyBytes = uint64_t{64} << 20;
// From a few lines to more than a core's own caches hold: beyond that, nothing lies in them that another core made.
constexpr uint64_t kLeastFetchBytes = uint64_t{1} << 10;
constexpr uint64_t kMostFetchBytes = uint64_t{4} << 20;
// The least that a segment has, and so many more that what each takes stands out.
constexpr uint32_t kLeastSegmentSteps = 2, kMostSegmentSteps = 34;

// Collects keys once each, in the order they were first met.
class KeyList {
 public:
  bool Add(NeededKey key) {
    if (!known_.insert(key.key.hash).second) return false;
    keys_.push_back(std::move(key));
    return true;
  }
  std::vector<NeededKey> Take() && { return std::move(keys_); }

 private:
  std::set<Hash128> known_;
  std::vector<NeededKey> keys_;
};

// The forms in which a value may exist in a plan: as its producers make it, as its readers take it, row-major
// at the graph's ends.
struct ValueForms {
  std::set<Form> made, taken;
};

std::vector<ValueForms> FormsOfValues(const Graph& graph, std::span<const Candidate> candidates) {
  std::vector<ValueForms> forms(graph.values().size());
  for (const Candidate& candidate : candidates) {
    const std::vector<ValueId> inputs = GroupInputs(graph, candidate.nodes);
    for (size_t i = 0; i < inputs.size() && i < candidate.in.size(); ++i) {
      forms[inputs[i].index()].taken.insert(candidate.in[i]);
    }
    const std::vector<ValueId> outputs = GroupOutputs(graph, candidate.nodes);
    for (size_t i = 0; i < outputs.size() && i < candidate.out.size(); ++i) {
      forms[outputs[i].index()].made.insert(candidate.out[i]);
    }
  }
  const auto row_major = [&graph](ValueId id) { return RowMajorForm(graph.value(id).type); };
  for (ValueId id : graph.inputs()) forms[id.index()].made.insert(row_major(id));
  for (ValueId id : graph.outputs()) forms[id.index()].taken.insert(row_major(id));
  return forms;
}

void AddReorders(const Graph& graph, const Platform& platform, std::span<const Candidate> candidates,
                 const std::string& versions, uint64_t reuse_distance, KeyList& keys) {
  const std::vector<ValueForms> forms = FormsOfValues(graph, candidates);
  for (size_t v = 0; v < forms.size(); ++v) {
    const Value& value = graph.values()[v];
    const std::optional<std::vector<int64_t>> dims = value.type.static_dims();
    if (value.is_constant() || !dims || value.type.dims.empty()) continue;
    // A plan may also pass through another form of the value on the way (row-major for a copy).
    std::set<Form> all = forms[v].made;
    all.insert(forms[v].taken.begin(), forms[v].taken.end());
    if (all.size() < 2) continue;
    for (const Form& from : all) {
      for (const Form& to : all) {
        if (from == to) continue;
        for (size_t k = 0; k < platform.unit_classes.size(); ++k) {
          const UnitClassId unit_class(k);
          if (!MeasuresReorders(platform, unit_class)) continue;
          NeededKey key;
          key.key = AfterReuse(ReorderKey(platform, unit_class, *dims, from, to, versions), reuse_distance);
          key.kind = NeededKey::Kind::kReorder;
          key.dims = *dims;
          key.from = from;
          key.to = to;
          key.unit_class = unit_class;
          key.expected_bytes = ReorderBytes(*dims, from, to);
          keys.Add(std::move(key));
        }
      }
    }
  }
}

void AddCopies(const Platform& platform, KeyList& keys) {
  for (size_t l = 0; l < platform.links.size(); ++l) {
    const LinkId link(l);
    if (IsSimulatedLink(platform, link)) continue;
    for (const uint64_t bytes : CopyLadder()) {
      NeededKey key;
      key.key = CopyKey(platform, link, bytes);
      key.kind = NeededKey::Kind::kCopy;
      key.link = link;
      key.bytes = bytes;
      key.expected_bytes = static_cast<double>(bytes);
      keys.Add(std::move(key));
    }
  }
}

void AddFetching(const Platform& platform, UnitClassId from, UnitClassId to, KeyList& keys) {
  for (const uint64_t bytes : FetchLadder()) {
    NeededKey fetch;
    fetch.key = FetchKey(platform, from, to, bytes);
    fetch.kind = NeededKey::Kind::kFetch;
    fetch.unit_class = from;
    fetch.to_class = to;
    fetch.bytes = bytes;
    fetch.expected_bytes = static_cast<double>(bytes);
    keys.Add(std::move(fetch));
  }
}

// What MakeBesideCosts asks for. `runs`: the keys of the candidates.
void AddBeside(const Graph& graph, const Platform& platform, std::span<const Candidate> candidates,
               std::span<const NeededKey> runs, KeyList& keys) {
  for (const auto& [of, index] : HeaviestOfClasses(graph, platform, candidates)) {
    NeededKey beside = runs[index];
    beside.kind = NeededKey::Kind::kBesideMemory;
    beside.key = BesideKey(runs[index].key, kMemoryHogs);
    keys.Add(beside);
    beside.kind = NeededKey::Kind::kBesideCompute;
    beside.key = BesideKey(runs[index].key, kComputeHogs);
    keys.Add(beside);
    NeededKey hog;
    hog.key = MemoryHogKey(platform, beside.unit_class);
    hog.kind = NeededKey::Kind::kMemoryHog;
    hog.unit_class = beside.unit_class;
    hog.expected_bytes = kHogBytes;
    keys.Add(std::move(hog));
  }
}

// What ReadFetchShares asks for. `runs`: the keys of the candidates.
void AddFetchedInputs(const Graph& graph, const Platform& platform, std::span<const Candidate> candidates,
                      std::span<const NeededKey> runs, KeyList& keys) {
  const Makers makers = FindMakers(platform);
  for (const auto& [of, index] : KeenestOfClasses(graph, platform, makers, candidates)) {
    NeededKey fetched = runs[index];
    fetched.kind = NeededKey::Kind::kFetchedInputs;
    fetched.from_class = *makers[fetched.unit_class.index()];
    fetched.key = FetchedKey(runs[index].key, platform, fetched.from_class);
    keys.Add(std::move(fetched));
  }
}

// What ReadDemands asks for. `runs`: the keys of the candidates.
void AddDemands(const Graph& graph, const Platform& platform, std::span<const Candidate> candidates,
                std::span<const NeededKey> runs, KeyList& keys) {
  for (const auto& [of, index] : HeaviestOfDemandClasses(graph, platform, candidates)) {
    NeededKey demand = runs[index];
    demand.kind = NeededKey::Kind::kDemand;
    demand.key = DemandKey(runs[index].key);
    keys.Add(std::move(demand));
  }
}

// Of every class whose times no file gives: what a step costs its unit (or its driver's core), and what it takes until
// another unit goes on.
void AddOverheads(const Platform& platform, KeyList& keys) {
  for (size_t k = 0; k < platform.unit_classes.size(); ++k) {
    const UnitClassId from(k);
    if (IsSimulatedClass(platform, from)) continue;
    NeededKey overhead;
    overhead.key = OverheadKey(platform, from);
    overhead.kind = NeededKey::Kind::kOverhead;
    overhead.unit_class = from;
    keys.Add(std::move(overhead));
    for (size_t other = 0; other < platform.unit_classes.size(); ++other) {
      const UnitClassId to(other);
      if (IsSimulatedClass(platform, to) || !HandOverUnits(platform, from, to)) continue;
      NeededKey wait;
      wait.key = WaitKey(platform, from, to);
      wait.kind = NeededKey::Kind::kWait;
      wait.unit_class = from;
      wait.to_class = to;
      keys.Add(std::move(wait));
      if (IsFetched(platform, from, to)) AddFetching(platform, from, to, keys);
    }
  }
}

void AddSegmentLaunches(const Platform& platform, KeyList& keys) {
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    const UnitClassId unit_class = SegmentClass(platform, DeviceId(d));
    if (!unit_class.valid() || IsSimulatedClass(platform, unit_class)) continue;
    for (const uint32_t steps : SegmentLadder()) {
      NeededKey segment;
      segment.key = SegmentKey(platform, unit_class, steps);
      segment.kind = NeededKey::Kind::kSegment;
      segment.unit_class = unit_class;
      segment.steps = steps;
      keys.Add(std::move(segment));
    }
  }
}

// A host unit is led by its lowest core.
bool LedByTheSameCore(const Platform& platform, UnitId a, UnitId b) {
  const auto& a_uses = platform.unit(a).uses;
  const auto& b_uses = platform.unit(b).uses;
  return platform.unit_class(platform.unit(a).unit_class).on_host() &&
         platform.unit_class(platform.unit(b).unit_class).on_host() && a_uses.front().first == b_uses.front().first;
}

}  // namespace

std::vector<uint64_t> CopyLadder() {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = kLeastCopyBytes; bytes <= kMostCopyBytes; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

std::vector<uint64_t> FetchLadder() {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = kLeastFetchBytes; bytes <= kMostFetchBytes; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

std::vector<uint32_t> SegmentLadder() { return {kLeastSegmentSteps, kMostSegmentSteps}; }

UnitClassId SegmentClass(const Platform& platform, DeviceId device) {
  if (!platform.device(device).captures) return {};
  const auto computes = [&](const Unit& unit) {
    return !unit.link && platform.unit_class(unit.unit_class).device == device;
  };
  const auto unit = std::ranges::find_if(platform.units, computes);
  return unit == platform.units.end() ? UnitClassId() : unit->unit_class;
}

bool IsFetched(const Platform& platform, UnitClassId from, UnitClassId to) {
  return platform.unit_class(from).on_host() && platform.unit_class(to).on_host() &&
         HandOverUnits(platform, from, to).has_value();
}

bool IsSimulatedClass(const Platform& platform, UnitClassId unit_class) {
  return platform.device(platform.unit_class(unit_class).device).simulated;
}

bool MeasuresReorders(const Platform& platform, UnitClassId unit_class) {
  if (IsSimulatedClass(platform, unit_class)) return false;
  const std::vector<UnitId> units = UnitsOf(platform, unit_class);
  return std::any_of(units.begin(), units.end(), [&](UnitId unit) { return !platform.unit(unit).link.has_value(); });
}

bool IsSimulatedLink(const Platform& platform, LinkId link) {
  return platform.device(platform.link(link).from).simulated || platform.device(platform.link(link).to).simulated;
}

uint64_t FormBytes(std::span<const int64_t> dims, const Form& form) {
  const Result<TensorLayout> tensor =
      DenseLayout(form.storage, std::vector<int64_t>(dims.begin(), dims.end()), form.layout);
  const Result<uint64_t> bytes = tensor.ok() ? BytesOf(*tensor) : Result<uint64_t>(uint64_t{0});
  return bytes.ok() ? *bytes : 0;
}

double ReorderBytes(std::span<const int64_t> dims, const Form& from, const Form& to) {
  return static_cast<double>(FormBytes(dims, from)) + static_cast<double>(FormBytes(dims, to));
}

std::string ReorderVersions(const std::map<std::string, std::string>& library_versions) {
  std::string text;
  for (const auto& [name, version] : library_versions) {
    if (!text.empty()) text += ", ";
    text += name + " " + version;
  }
  return text;
}

std::optional<std::pair<UnitId, UnitId>> HandOverUnits(const Platform& platform, UnitClassId from, UnitClassId to) {
  std::optional<std::pair<UnitId, UnitId>> found;
  for (const UnitId a : UnitsOf(platform, from)) {
    for (const UnitId b : UnitsOf(platform, to)) {
      if (a == b || platform.unit(a).uses.empty() || platform.unit(b).uses.empty()) continue;
      if (LedByTheSameCore(platform, a, b)) continue;
      if (!UnitsConflict(platform, a, b)) return std::pair(a, b);
      if (!found) found.emplace(a, b);
    }
  }
  return found;
}

CallersTensors CallersTensorsOf(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  CallersTensors tensors;
  if (!platform.unit_class(candidate.unit_class).on_host()) return tensors;
  const auto is_plain = [&](ValueId value, const Form& form) { return form == RowMajorForm(graph.value(value).type); };
  const auto is_among = [](std::span<const ValueId> values, ValueId value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  const auto is_first_reader = [&](ValueId value) {
    const auto reads = [&](const Node& node) { return is_among(node.inputs, value); };
    const auto first = std::find_if(graph.nodes().begin(), graph.nodes().end(), reads);
    const NodeId node(static_cast<size_t>(first - graph.nodes().begin()));
    return std::find(candidate.nodes.begin(), candidate.nodes.end(), node) != candidate.nodes.end();
  };
  const std::vector<ValueId> inputs = GroupInputs(graph, candidate.nodes);
  for (size_t i = 0; i < inputs.size() && i < candidate.in.size(); ++i) {
    if (!is_among(graph.inputs(), inputs[i]) || !is_plain(inputs[i], candidate.in[i])) continue;
    if (is_first_reader(inputs[i])) tensors.in.push_back(static_cast<uint32_t>(i));
  }
  const std::vector<ValueId> outputs = GroupOutputs(graph, candidate.nodes);
  for (size_t i = 0; i < outputs.size() && i < candidate.out.size(); ++i) {
    if (!is_among(graph.outputs(), outputs[i]) || !is_plain(outputs[i], candidate.out[i])) continue;
    tensors.out.push_back(static_cast<uint32_t>(i));
  }
  return tensors;
}

MeasurementKey CostKey(const Graph& graph, const Platform& platform, const Candidate& candidate,
                       std::string_view library_version, uint64_t reuse_distance) {
  MeasurementKey key = CandidateKey(graph, platform, candidate, library_version);
  const CallersTensors tensors = CallersTensorsOf(graph, platform, candidate);
  if (!tensors.in.empty() || !tensors.out.empty()) {
    key.text += " | caller's";
    for (const uint32_t i : tensors.in) key.text += " in" + std::to_string(i);
    for (const uint32_t i : tensors.out) key.text += " out" + std::to_string(i);
  }
  return AfterReuse(std::move(key), reuse_distance);
}

std::vector<NeededKey> NeededKeys(const Graph& graph, const Platform& platform, std::span<const Candidate> candidates,
                                  const std::map<std::string, std::string>& library_versions) {
  KeyList keys;
  const uint64_t reuse_distance = ReuseDistance(graph, platform);
  AddOverheads(platform, keys);
  AddSegmentLaunches(platform, keys);
  std::vector<NeededKey> runs(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (!IsSizedBeforeRun(graph, candidate.nodes)) continue;
    const auto version = library_versions.find(candidate.library);
    NeededKey& key = runs[i];
    key.key = CostKey(graph, platform, candidate,
                      version == library_versions.end() ? std::string_view() : version->second, reuse_distance);
    key.kind = NeededKey::Kind::kCandidate;
    key.candidate = i;
    key.unit_class = candidate.unit_class;
    const WorkSize work = WorkSizeOf(graph, candidate.nodes);
    key.expected_flops = work.flops;
    key.expected_bytes = work.bytes;
    keys.Add(key);
  }
  AddFetchedInputs(graph, platform, candidates, runs, keys);
  AddDemands(graph, platform, candidates, runs, keys);
  AddBeside(graph, platform, candidates, runs, keys);
  AddReorders(graph, platform, candidates, ReorderVersions(library_versions), reuse_distance, keys);
  AddCopies(platform, keys);
  return std::move(keys).Take();
}

}  // namespace pt
