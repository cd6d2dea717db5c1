#include "lib/exec/segments.h"

#include <algorithm>

#include "partitiontuner/plan/launch_segments.h"

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
  std::vector<bool> captures;
  for (size_t d = 0; d < platform.devices.size(); ++d) captures.push_back(options.captures(DeviceId(d)));
  LaunchSegments found = FindLaunchSegments(platform, HappensBefore(platform, plan), captures);
  program.segment_of = std::move(found.of_step);
  for (std::vector<StepId>& steps : found.steps) {
    Segment& segment = program.segments.emplace_back();
    segment.steps = std::move(steps);
    FindUnits(plan, segment);
  }
}

}  // namespace pt
