#include "lib/cost/demands.h"

#include <algorithm>
#include <cmath>

#include "lib/cost/cost_keys.h"
#include "partitiontuner/candidate/run_time_sizes.h"
#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

constexpr double kDoublingsPerMagnitude = 2;

}  // namespace

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

std::map<DemandClass, double> ReadDemands(const Graph& graph, const Platform& platform,
                                          std::span<const Candidate> candidates, const Profile& profile,
                                          const std::map<std::string, std::string>& library_versions,
                                          uint64_t reuse_distance) {
  std::map<DemandClass, double> demands;
  for (const auto& [of, index] : HeaviestOfDemandClasses(graph, platform, candidates)) {
    const Candidate& candidate = candidates[index];
    const auto version = library_versions.find(candidate.library);
    if (version == library_versions.end()) continue;
    const MeasurementKey key = CostKey(graph, platform, candidate, version->second, reuse_distance);
    const Measurement* row = profile.find(DemandKey(key).hash);
    if (row == nullptr) continue;
    demands[of] = row->failure.empty() ? row->demand : 1;
  }
  return demands;
}

}  // namespace pt
