// Segments: which steps of a device are recorded and launched as one, by a single core and on several of its units. The
// executor records by this rule, timelines count launches by it.
#pragma once

#include <cstdint>
#include <vector>

#include "partitiontuner/plan/happens_before.h"

namespace pt {

struct LaunchSegments {
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<std::vector<StepId>> steps;  // by segment: ascending, two at least
  std::vector<uint32_t> of_step;           // by step; kNone where it is launched alone
};

// captures: by device. A segment grows with every step of its device that has the same driver core and comes after
// nothing but the segment's own steps and what is over before its first step. So all of a segment can stand where its
// first step stands: waits still point backwards.
LaunchSegments FindLaunchSegments(const Platform& platform, const HappensBefore& order,
                                  const std::vector<bool>& captures);

}  // namespace pt
