#include "lib/planner/proofs/lane_weights.h"

#include <algorithm>
#include <cmath>

namespace pt {

std::vector<WeightGroup> WeightGroups(const Space& space) {
  const Platform& platform = space.platform();
  const size_t devices = platform.devices.size();
  std::vector<WeightGroup> groups(devices + platform.links.size());
  std::vector<bool> taken(space.simulator().lanes().count, false), partial(platform.resources.size(), false);
  for (size_t u = 0; u < platform.units.size(); ++u) {
    const Unit& unit = platform.units[u];
    const size_t group = unit.link ? devices + unit.link->index() : platform.device_of(UnitId(u)).index();
    for (uint32_t lane : space.simulator().lanes().of_unit[u]) {
      if (!taken[lane]) groups[group].lanes.push_back(lane);
      taken[lane] = true;
    }
    for (const auto& [resource, use] : unit.uses) {
      if (use < platform.resources[resource.index()].capacity) partial[resource.index()] = true;
    }
  }
  std::erase_if(groups, [](const WeightGroup& group) { return group.lanes.empty(); });
  for (size_t r = 0; r < partial.size(); ++r) {
    if (partial[r]) groups.push_back({{}, ResourceId(r)});
  }
  return groups;
}

LaneWeights::LaneWeights(const Space& space, const std::vector<WeightGroup>& groups, const std::vector<double>& shares,
                         Launches launches)
    : space_(space),
      launches_(launches),
      lanes_(space.simulator().lanes().count, 0),
      resources_(space.platform().resources.size(), 0) {
  for (size_t g = 0; g < groups.size(); ++g) {
    for (uint32_t lane : groups[g].lanes) lanes_[lane] = shares[g] / static_cast<double>(groups[g].lanes.size());
    if (groups[g].resource.valid()) resources_[groups[g].resource.index()] = shares[g];
  }
}

double LaneWeights::OnUnit(UnitId unit, int64_t run_ns, int64_t overhead_ns, double demand) const {
  const Lanes& lanes = space_.simulator().lanes();
  const uint32_t driver = lanes.driver[unit.index()];
  const bool launched = space_.is_launched(space_.platform().unit(unit).unit_class);
  const bool counts = driver != Lanes::kNone && launches_ == Launches::kCount;
  double work = !counts ? 0 : lanes_[driver] * static_cast<double>(overhead_ns);
  const auto busy_ns = static_cast<double>(launched ? run_ns : run_ns + overhead_ns);
  for (uint32_t lane : lanes.of_unit[unit.index()]) work += lanes_[lane] * busy_ns;
  for (const auto& [resource, use] : space_.platform().unit(unit).uses) {
    const double capacity = space_.platform().resources[resource.index()].capacity;
    work += resources_[resource.index()] * (demand > 0 ? demand : use) / capacity * static_cast<double>(run_ns);
  }
  return work;
}

double LaneWeights::OnAny(std::span<const UnitId> units, int64_t run_ns, int64_t overhead_ns, double demand) const {
  double least = INFINITY;
  for (UnitId unit : units) least = std::min(least, OnUnit(unit, run_ns, overhead_ns, demand));
  return least;
}

double LaneWeights::Of(const Option& option) const {
  const int64_t overhead_ns = LeastOverhead(option);
  return OnAny(space_.units(option.unit_class), LeastNs(option) - overhead_ns, overhead_ns, option.demand);
}

double LaneWeights::OfReorder(UnitClassId unit_class, int64_t run_ns) const {
  return OnAny(space_.units(unit_class), run_ns, space_.overhead_ns(unit_class), 0);
}

double LaneWeights::OfCopy(LinkId link, int64_t run_ns) const {
  const std::span<const UnitId> units = space_.copy_units(link);
  return OnAny(units, run_ns, space_.overhead_ns(space_.platform().unit(units.front()).unit_class), 0);
}

}  // namespace pt
