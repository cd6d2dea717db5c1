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

// As far as the first point that is not below the bytes.
int64_t FetchCost::ns(uint64_t bytes) const {
  if (points.empty()) return static_cast<int64_t>(std::ceil(static_cast<double>(bytes) * ns_per_byte));
  double low_bytes = 0, low_ns = 0;
  for (const auto& [high_bytes, high_ns] : points) {
    const auto until = static_cast<double>(high_bytes), until_ns = static_cast<double>(high_ns);
    if (bytes > high_bytes) {
      low_bytes = until;
      low_ns = until_ns;
      continue;
    }
    const double share = (static_cast<double>(bytes) - low_bytes) / (until - low_bytes);
    return std::llround(low_ns + share * (until_ns - low_ns));
  }
  return points.back().second;
}

int64_t SegmentLaunch::ns(size_t steps) const { return std::llround(fixed_ns + step_ns * static_cast<double>(steps)); }

int64_t SimulatedLaunchNs(const Platform& platform, DeviceId device) {
  const auto rates = platform.simulated.find(device);
  return rates == platform.simulated.end() ? 0 : rates->second.launches.step_ns;
}

DeviceCost SimulatedDeviceCost(const Platform& platform, DeviceId device) {
  const auto rates = platform.simulated.find(device);
  if (rates == platform.simulated.end()) return {SegmentLaunch{0, 0, Provenance::kSimulated}};
  const SimulatedRates::Launches& launches = rates->second.launches;
  return {SegmentLaunch{static_cast<double>(launches.segment_ns), static_cast<double>(launches.segment_step_ns),
                        Provenance::kSimulated}};
}

double DemandOf(const Graph& graph, const Platform& platform, const Candidate& candidate, const StepCost& cost) {
  return cost.demand > 0 ? cost.demand : SimulatedDemand(graph, platform, candidate);
}

}  // namespace pt
