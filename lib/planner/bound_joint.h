// L4: the work of steps and moves together, weighted over devices, links and shared resources.
#pragma once

#include "lib/planner/lane_weights.h"

namespace pt {

struct JointBounds {
  double whole_ns = 0;              // the best weighting
  std::vector<double> segments_ns;  // by segment: the best for each, without moves between segments
};

// segment_of: by node; work in different segments never overlaps.
JointBounds BoundJointly(const Space& space, const std::vector<uint32_t>& segment_of, size_t segments);

}  // namespace pt
