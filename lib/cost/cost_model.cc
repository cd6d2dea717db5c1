#include "partitiontuner/cost/cost_model.h"

#include <array>
#include <utility>

namespace pt {
namespace {

constexpr std::array<std::pair<Provenance, std::string_view>, 4> kProvenanceNames = {{
    {Provenance::kMeasured, "measured"},
    {Provenance::kSimulated, "simulated"},
    {Provenance::kEstimated, "estimated"},
    {Provenance::kTable, "table"},
}};

}  // namespace

std::string_view ProvenanceName(Provenance provenance) {
  for (const auto& [value, name] : kProvenanceNames) {
    if (value == provenance) return name;
  }
  return "unknown";
}

std::optional<Provenance> ProvenanceFromName(std::string_view name) {
  for (const auto& [value, known] : kProvenanceNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

double DemandOf(const Graph& graph, const Platform& platform, const Candidate& candidate, const CostModel& costs) {
  const double known = costs.Demand(candidate);
  return known > 0 ? known : SimulatedDemand(graph, platform, candidate);
}

}  // namespace pt
