#include "partitiontuner/cost/cost_model.h"

#include <array>
#include <cmath>
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

int64_t SegmentLaunch::ns(size_t steps) const { return std::llround(fixed_ns + step_ns * static_cast<double>(steps)); }

int64_t SimulatedLaunchNs(const Platform& platform, DeviceId device) {
  const auto rates = platform.simulated.find(device);
  return rates == platform.simulated.end() ? 0 : rates->second.launches.step_ns;
}

SegmentLaunch SimulatedSegmentLaunch(const Platform& platform, DeviceId device) {
  const auto rates = platform.simulated.find(device);
  if (rates == platform.simulated.end()) return {0, 0, Provenance::kSimulated};
  const SimulatedRates::Launches& launches = rates->second.launches;
  return {static_cast<double>(launches.segment_ns), static_cast<double>(launches.segment_step_ns),
          Provenance::kSimulated};
}

double DemandOf(const Graph& graph, const Platform& platform, const Candidate& candidate, const CostModel& costs) {
  const double known = costs.Demand(candidate);
  return known > 0 ? known : SimulatedDemand(graph, platform, candidate);
}

}  // namespace pt
