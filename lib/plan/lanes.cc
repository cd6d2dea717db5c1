#include "partitiontuner/plan/lanes.h"

#include <algorithm>
#include <set>

namespace pt {
namespace {

// Operating system's numbers of the cores that the unit is made of, ascending; none for others.
std::vector<uint32_t> CoresOf(const Platform& platform, const Unit& unit) {
  std::vector<uint32_t> cores;
  if (!platform.unit_class(unit.unit_class).on_host() || unit.link) return cores;
  for (const auto& [resource, share] : unit.uses) {
    const std::optional<uint32_t> core = platform.resources[resource.index()].core;
    if (!core) return {};  // of machines that are data alone a resource may be anything
    cores.push_back(*core);
  }
  std::sort(cores.begin(), cores.end());
  return cores;
}

std::vector<LaneRun> RunsOf(const std::vector<uint32_t>& lanes) {
  std::vector<LaneRun> runs;
  for (const uint32_t lane : lanes) {
    if (!runs.empty() && runs.back().first + runs.back().count == lane) {
      ++runs.back().count;
    } else {
      runs.push_back({lane, 1});
    }
  }
  return runs;
}

}  // namespace

StepLanes StepLanesOf(const Platform& platform, const Plan& plan) {
  std::set<UnitId> used;
  for (const Step& step : plan.steps) {
    if (step.expected_ns > 0) used.insert(step.unit);
  }
  std::map<uint32_t, uint32_t> lane_of_core;
  for (const UnitId unit : used) {
    for (const uint32_t core : CoresOf(platform, platform.unit(unit))) lane_of_core.emplace(core, 0);
  }
  StepLanes lanes;
  for (auto& [core, lane] : lane_of_core) {
    lane = static_cast<uint32_t>(lanes.names.size());
    lanes.names.push_back("core " + std::to_string(core));
  }
  for (const UnitId id : used) {
    std::vector<uint32_t> of_unit;
    for (const uint32_t core : CoresOf(platform, platform.unit(id))) of_unit.push_back(lane_of_core.at(core));
    if (of_unit.empty()) {
      of_unit.push_back(static_cast<uint32_t>(lanes.names.size()));
      lanes.names.push_back(platform.unit(id).name);
    }
    lanes.of_unit[id] = RunsOf(of_unit);
  }
  return lanes;
}

}  // namespace pt
