// Fetched inputs: how much of what fetching costs candidates feel, measured of one of a class, whose inputs another
// unit has made.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "lib/cost/candidate_classes.h"
#include "lib/cost/kinds/fetch.h"
#include "lib/cost/kinds/reorder.h"
#include "lib/cost/kinds/run.h"
#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

// A class of candidates, and the magnitude of what they read.
using FetchClass = std::pair<CandidateClass, int>;

constexpr int kDoublingsPerMagnitude = 3;
// More is noise: of a tiny input beside much work.
constexpr double kMostShare = 4;

// Of each input that the step before leaves in its caches.
std::vector<uint64_t> FetchedBytes(const CostScope& scope, const Candidate& candidate) {
  const std::vector<ValueId> inputs = GroupInputs(scope.graph, candidate.nodes);
  const std::vector<uint32_t> callers = CallersTensorsOf(scope.graph, scope.platform, candidate).in;
  std::vector<uint64_t> bytes;
  for (size_t i = 0; i < inputs.size() && i < candidate.in.size(); ++i) {
    if (std::find(callers.begin(), callers.end(), i) != callers.end()) continue;
    const std::optional<std::vector<int64_t>> dims = scope.graph.value(inputs[i]).type.static_dims();
    bytes.push_back(dims ? FormBytes(*dims, candidate.in[i]) : 0);
  }
  return bytes;
}

struct Fetching {
  FetchClass of;
  uint64_t bytes = 0;  // of all inputs together
};

// Empty where the candidate fetches nothing from other units' caches.
std::optional<Fetching> FetchingOf(const CostScope& scope, const Makers& makers, const Candidate& candidate) {
  if (!makers[candidate.unit_class.index()]) return std::nullopt;
  std::optional<CandidateClass> of = ClassOf(scope.graph, scope.platform, candidate);
  if (!of) return std::nullopt;
  const std::vector<uint64_t> inputs = FetchedBytes(scope, candidate);
  const uint64_t bytes = std::accumulate(inputs.begin(), inputs.end(), uint64_t{0});
  if (bytes == 0) return std::nullopt;
  return Fetching{{std::move(*of), static_cast<int>(std::bit_width(bytes)) / kDoublingsPerMagnitude}, bytes};
}

// Of each class the candidate whose time depends most on its inputs, by index; of equals the first.
std::map<FetchClass, size_t> KeenestOfClasses(const CostScope& scope, const Makers& makers) {
  std::map<FetchClass, std::pair<double, size_t>> keenest;  // work per byte that is fetched, and index
  for (size_t i = 0; i < scope.candidates.size(); ++i) {
    std::optional<Fetching> fetching = FetchingOf(scope, makers, scope.candidates[i]);
    if (!fetching) continue;
    const double work = WorkOf(scope.graph, scope.candidates[i]) / static_cast<double>(fetching->bytes);
    const auto [at, added] = keenest.try_emplace(std::move(fetching->of), work, i);
    if (!added && work < at->second.first) at->second = {work, i};
  }
  std::map<FetchClass, size_t> indices;
  for (const auto& [of, of_class] : keenest) indices.emplace(of, of_class.second);
  return indices;
}

void List(const CostScope& scope, KeyList& keys) {
  const Makers makers = FindMakers(scope.platform);
  for (const auto& [of, index] : KeenestOfClasses(scope, makers)) {
    NeededKey fetched = RunOf(scope, index);
    fetched.kind = &kFetchedInputsKind;
    fetched.key = FetchedKey(std::move(fetched.key), scope.platform, *makers[fetched.unit_class().index()]);
    keys.Add(std::move(fetched));
  }
}

std::string Label(const CostScope& scope, const NeededKey& needed) {
  const UnitClassId maker = *FindMakers(scope.platform)[needed.unit_class().index()];
  return RunLabel(scope, needed) + " with inputs from " + ClassName(scope, maker);
}

class Reader : public CostReader {
 public:
  explicit Reader(const CostReading& reading) : reading_(reading), makers_(FindMakers(reading.platform())) {
    if (reading.is_empty()) return;
    for (const auto& [of, index] : KeenestOfClasses(reading.scope(), makers_)) {
      if (const auto share = ShareOf(reading.scope().candidates[index])) shares_[of] = *share;
    }
  }

  void OfStep(const Candidate& candidate, StepCost& cost) const override {
    if (shares_.empty()) return;
    const std::optional<Fetching> fetching = FetchingOf(reading_.scope(), makers_, candidate);
    const auto found = fetching ? shares_.find(fetching->of) : shares_.end();
    if (found != shares_.end()) cost.fetch_share = found->second;
  }

 private:
  std::optional<double> ShareOf(const Candidate& candidate) const {
    const CostScope& scope = reading_.scope();
    if (!scope.library_versions.contains(candidate.library)) return std::nullopt;
    const UnitClassId from = *makers_[candidate.unit_class.index()];
    const Measurement* longer = reading_.Ran(FetchedKey(scope.KeyOf(candidate), scope.platform, from));
    if (longer == nullptr) return std::nullopt;
    const FetchCost fetch = ReadFetch(reading_, from, candidate.unit_class);
    int64_t whole_ns = 0;
    for (const uint64_t bytes : FetchedBytes(scope, candidate)) whole_ns += fetch.ns(bytes);
    if (whole_ns <= 0) return std::nullopt;
    return std::min(kMostShare, static_cast<double>(longer->median_ns) / static_cast<double>(whole_ns));
  }

  const CostReading& reading_;
  const Makers makers_;
  std::map<FetchClass, double> shares_;  // of classes that the profile knows
};

std::unique_ptr<CostReader> Read(const CostReading& reading) { return std::make_unique<Reader>(reading); }

}  // namespace

const CostKind kFetchedInputsKind = {"fetched inputs", CostKind::Turn::kLate, false, List, Label, Read};

MeasurementKey FetchedKey(MeasurementKey own, const Platform& platform, UnitClassId from) {
  return WithField(std::move(own), "inputs from " + platform.unit_class(from).name);
}

Makers FindMakers(const Platform& platform) {
  Makers makers(platform.unit_classes.size());
  for (size_t to = 0; to < makers.size(); ++to) {
    std::optional<UnitClassId>& narrowest = makers[to];
    for (size_t k = 0; k < makers.size(); ++k) {
      const UnitClassId from(k);
      if (!IsFetched(platform, from, UnitClassId(to))) continue;
      if (!narrowest || platform.unit_class(from).cores < platform.unit_class(*narrowest).cores) narrowest = from;
    }
  }
  return makers;
}

}  // namespace pt
