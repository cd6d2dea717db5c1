// MoveWays: the least weighted work of bringing values from slot to slot.
#pragma once

#include "lib/planner/proofs/lane_weights.h"

namespace pt {

class MoveWays {
 public:
  static constexpr double kMost = 1e15;  // more than any sum of times; impossible

  // Both must outlive it.
  MoveWays(const Space& space, const LaneWeights& weights) : space_(space), weights_(weights) {}
  // By from * slots + to. Values of the same dims and forms share them.
  const std::vector<double>& Of(ValueId value);

 private:
  const Space& space_;
  const LaneWeights& weights_;
  std::vector<std::vector<double>> ways_;  // by routes
};

}  // namespace pt
