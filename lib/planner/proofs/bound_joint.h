// L4: the work of steps and moves together, weighted over devices, links and shared resources.
#pragma once

#include "lib/planner/proofs/lane_weights.h"
#include "lib/planner/proofs/series_cuts.h"

namespace pt {

struct JointBounds {
  double whole_ns = 0;              // the best weighting
  std::vector<double> segments_ns;  // by segment: the best for each, without moves between segments
};

JointBounds BoundJointly(const Space& space, const Segments& segments);

}  // namespace pt
