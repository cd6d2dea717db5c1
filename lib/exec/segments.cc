#include "lib/exec/segments.h"

#include <algorithm>
#include <map>

#include "partitiontuner/plan/happens_before.h"

namespace pt {
namespace {

void FindUnits(const Plan& plan, Segment& segment) {
  segment.origin = plan.steps[segment.steps.front().index()].unit;
  for (StepId step : segment.steps) {
    const UnitId unit = plan.steps[step.index()].unit;
    const auto found = std::find(segment.others.begin(), segment.others.end(), unit);
    if (unit == segment.origin) continue;
    if (found == segment.others.end()) {
      segment.others.push_back(unit);
      segment.last.push_back(step);
    } else {
      segment.last[static_cast<size_t>(found - segment.others.begin())] = step;
    }
  }
}

}  // namespace

void FindSegments(const Platform& platform, const Plan& plan, const ProgramOptions& options, Program& program) {
  program.segment_of.assign(plan.steps.size(), Program::kNoSegment);
  if (options.sequential) return;
  const HappensBefore order(platform, plan);
  std::vector<Segment> found;
  std::vector<uint32_t> found_in(plan.steps.size(), Program::kNoSegment);
  std::map<DeviceId, uint32_t> open;  // the latest segment of each device
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Unit& unit = platform.unit(plan.steps[s].unit);
    const UnitClass& unit_class = platform.unit_class(unit.unit_class);
    if (unit_class.on_host() || !options.captures(unit_class.device)) continue;
    const auto latest = open.find(unit_class.device);
    const bool joins = latest != open.end() && [&] {
      const Segment& segment = found[latest->second];
      const StepId first = segment.steps.front();
      if (platform.unit(plan.steps[first.index()].unit).driver != unit.driver) return false;
      return std::all_of(program.predecessors[s].begin(), program.predecessors[s].end(), [&](StepId predecessor) {
        return found_in[predecessor.index()] == latest->second || order.Before(predecessor, first);
      });
    }();
    if (!joins) {
      open[unit_class.device] = static_cast<uint32_t>(found.size());
      found.emplace_back();
    }
    found_in[s] = open[unit_class.device];
    found[found_in[s]].steps.push_back(StepId(s));
  }
  for (Segment& segment : found) {
    if (segment.steps.size() < 2) continue;
    for (StepId step : segment.steps) program.segment_of[step.index()] = static_cast<uint32_t>(program.segments.size());
    FindUnits(plan, segment);
    program.segments.push_back(std::move(segment));
  }
}

}  // namespace pt
