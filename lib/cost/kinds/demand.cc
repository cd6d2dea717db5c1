#include "lib/cost/kinds/demand.h"

#include <algorithm>
#include <cmath>

#include "lib/cost/kinds/run.h"
#include "partitiontuner/candidate/run_time_sizes.h"
#include "partitiontuner/cost/cost_keys.h"

namespace pt {
namespace {

constexpr double kDoublingsPerMagnitude = 2;

void List(const CostScope& scope, KeyList& keys) {
  for (const auto& [of, index] : HeaviestOfDemandClasses(scope.graph, scope.platform, scope.candidates)) {
    NeededKey demand = RunOf(scope, index);
    demand.kind = &kDemandKind;
    demand.key = DemandKey(std::move(demand.key));
    keys.Add(std::move(demand));
  }
}

std::string Label(const CostScope& scope, const NeededKey& needed) {
  return RunLabel(scope, needed) + " several times at once";
}

class Reader : public CostReader {
 public:
  explicit Reader(const CostReading& reading) : reading_(reading) {
    const CostScope& scope = reading.scope();
    for (const auto& [of, index] : HeaviestOfDemandClasses(scope.graph, scope.platform, scope.candidates)) {
      const Candidate& candidate = scope.candidates[index];
      if (!scope.library_versions.contains(candidate.library)) continue;
      const Measurement* row = reading.profile().find(DemandKey(scope.KeyOf(candidate)).hash);
      if (row == nullptr) continue;
      demands_[of] = row->failure.empty() ? row->demand : 1;  // what could not be run twice at once asks for all
    }
  }

  void OfStep(const Candidate& candidate, StepCost& cost) const override {
    if (demands_.empty()) return;
    const auto of = DemandClassOf(reading_.scope().graph, reading_.platform(), candidate);
    const auto found = of ? demands_.find(*of) : demands_.end();
    if (found != demands_.end()) cost.demand = found->second;
  }

 private:
  const CostReading& reading_;
  std::map<DemandClass, double> demands_;
};

std::unique_ptr<CostReader> Read(const CostReading& reading) { return std::make_unique<Reader>(reading); }

}  // namespace

const CostKind kDemandKind = {"demand", CostKind::Turn::kLate, false, List, Label, Read};

MeasurementKey DemandKey(MeasurementKey alone) { return WithField(std::move(alone), "demand"); }

bool SharesItsDevice(const Platform& platform, UnitClassId unit_class) {
  if (platform.unit_class(unit_class).on_host() || IsSimulatedClass(platform, unit_class)) return false;
  const std::vector<UnitId> units = UnitsOf(platform, unit_class);
  const auto shares = [&](UnitId id) {
    const Unit& unit = platform.unit(id);
    return !unit.link && std::ranges::any_of(unit.uses, [&](const auto& used) {
      return used.second < platform.resources[used.first.index()].capacity;
    });
  };
  return units.size() > 1 && std::ranges::all_of(units, shares);
}

std::optional<DemandClass> DemandClassOf(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  if (!SharesItsDevice(platform, candidate.unit_class)) return std::nullopt;
  if (!IsSizedBeforeRun(graph, candidate.nodes)) return std::nullopt;
  const double doublings = std::log2(std::max(1.0, WorkOf(graph, candidate)));
  return DemandClass(AnyClassOf(graph, candidate), static_cast<int>(doublings / kDoublingsPerMagnitude));
}

std::map<DemandClass, size_t> HeaviestOfDemandClasses(const Graph& graph, const Platform& platform,
                                                      std::span<const Candidate> candidates) {
  std::map<DemandClass, size_t> heaviest;
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::optional<DemandClass> of = DemandClassOf(graph, platform, candidates[i]);
    if (!of) continue;
    const auto [at, added] = heaviest.emplace(std::move(*of), i);
    if (!added && WorkOf(graph, candidates[i]) > WorkOf(graph, candidates[at->second])) at->second = i;
  }
  return heaviest;
}

}  // namespace pt
