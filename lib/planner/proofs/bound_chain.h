// The bound of segments one after another: each from every slot in which the value before it may be made to every slot
// in which its own last value may be, and the chain of slots that is shortest in sum.
#pragma once

#include "lib/planner/proofs/relaxation.h"

namespace pt {

class ChainBound {
 public:
  // All must outlive it. barred: see Relaxation.
  ChainBound(const Space& space, const Segments& segments, const MoveSegments& moves,
             const std::vector<bool>* barred = nullptr);

  // What the weights show of each segment; any weights do.
  void Add(const Pricing& pricing);
  // Each segment is bounded by the lesser of both: of the same segments, with other options barred.
  void OrElse(const ChainBound& other);
  // In ns. Longest paths are counted too.
  double Shortest() const;

 private:
  // Between segments; before the first and behind the last there is one state of no value.
  struct Border {
    ValueId value;  // none: states are not told apart
    std::vector<uint32_t> slots = {kNothing};
  };

  Border BorderBehind(uint32_t segment) const;
  size_t Pairs(uint32_t segment) const { return borders_[segment].slots.size() * borders_[segment + 1].slots.size(); }
  void AddPaths();
  std::vector<int64_t> PathsFrom(uint32_t segment, uint32_t slot) const;
  int64_t Arrival(ValueId value, uint32_t slot, uint32_t segment, uint32_t from,
                  const std::vector<int64_t>& made) const;

  const Space& space_;
  const Segments& segments_;
  const MoveSegments& moves_;
  const std::vector<bool>* const barred_;
  std::vector<Border> borders_;                // before each segment, and behind the last
  std::vector<std::vector<NodeId>> nodes_;     // by segment, in order
  std::vector<std::vector<double>> bound_ns_;  // by segment and pair of states
};

}  // namespace pt
