#include "partitiontuner/plan/launch_segments.h"

#include <algorithm>

namespace pt {
namespace {

// What is in a segment or over before its first step: as many steps from the begin of each lane.
struct Covered {
  uint32_t segment = LaunchSegments::kNone;
  std::vector<uint32_t> steps;  // by lane

  bool CoversAll(std::span<const uint32_t> clock) const {
    return std::ranges::equal(clock, steps, [](uint32_t before, uint32_t covered) { return before <= covered; });
  }
};

void DropSingles(LaunchSegments& found) {
  std::erase_if(found.steps, [](const std::vector<StepId>& steps) { return steps.size() < 2; });
  found.of_step.assign(found.of_step.size(), LaunchSegments::kNone);
  for (uint32_t i = 0; i < found.steps.size(); ++i) {
    for (const StepId step : found.steps[i]) found.of_step[step.index()] = i;
  }
}

}  // namespace

LaunchSegments FindLaunchSegments(const Platform& platform, const HappensBefore& order,
                                  const std::vector<bool>& captures) {
  LaunchSegments found;
  found.of_step.assign(order.size(), LaunchSegments::kNone);
  std::vector<Covered> latest(platform.devices.size());
  for (size_t s = 0; s < order.size(); ++s) {
    const StepId step(s);
    const Unit& unit = platform.unit(order.unit(step));
    const UnitClass& unit_class = platform.unit_class(unit.unit_class);
    if (unit_class.on_host() || !captures[unit_class.device.index()]) continue;
    Covered& covered = latest[unit_class.device.index()];
    const std::span<const uint32_t> clock = order.clock(step);
    const bool joins = covered.segment != LaunchSegments::kNone &&
                       platform.unit(order.unit(found.steps[covered.segment].front())).driver == unit.driver &&
                       covered.CoversAll(clock);
    if (!joins) {
      covered.segment = static_cast<uint32_t>(found.steps.size());
      covered.steps.assign(clock.begin(), clock.end());
      found.steps.emplace_back();
    }
    for (const uint32_t lane : order.lanes().of_unit[order.unit(step).index()]) covered.steps[lane] = clock[lane] + 1;
    found.steps[covered.segment].push_back(step);
  }
  DropSingles(found);
  return found;
}

}  // namespace pt
