// LaneWeights: weights on lanes and shared resources that add up to one. What a plan's steps keep busy, weighted, is
// less than its makespan, whatever their order: every weighting makes a lower bound of the least weighted work.
#pragma once

#include <vector>

#include "lib/planner/proofs/least_times.h"

namespace pt {

// What shares a weight: the lanes of a device, those of a link's copy engines, or a resource that units use in part.
struct WeightGroup {
  std::vector<uint32_t> lanes;
  ResourceId resource;  // valid: instead of lanes
};
std::vector<WeightGroup> WeightGroups(const Space& space);

class LaneWeights {
 public:
  // Whether launches of what a queue runs count as work of the core that launches them. They may be over before
  // anything that the work waits for, so they are not part of a stretch of a plan that begins after the start.
  enum class Launches : uint8_t { kCount, kLeaveOut };
  // shares: by group, none negative, the sum at most one.
  LaneWeights(const Space& space, const std::vector<WeightGroup>& groups, const std::vector<double>& shares,
              Launches launches = Launches::kCount);

  const std::vector<double>& lanes() const { return lanes_; }
  // The least weighted work, in ns, of running the option; of a reorder on a unit of the class; of a copy.
  double Of(const Option& option) const;
  double OfReorder(UnitClassId unit_class, int64_t run_ns) const;
  double OfCopy(LinkId link, int64_t run_ns) const;

 private:
  double OnUnit(UnitId unit, int64_t run_ns, int64_t overhead_ns, double demand) const;
  double OnAny(std::span<const UnitId> units, int64_t run_ns, int64_t overhead_ns, double demand) const;

  const Space& space_;
  const Launches launches_;
  std::vector<double> lanes_, resources_;
};

}  // namespace pt
