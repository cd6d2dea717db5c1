// RestBound: the earliest that any completion of a partial schedule can end. What the exact search prunes by.
#pragma once

#include <vector>

#include "lib/planner/proofs/exact_state.h"

namespace pt {

class RestBound {
 public:
  explicit RestBound(const Space& space);
  int64_t LeastEnd(const PartialSchedule& schedule) const;

 private:
  // The work of all nodes priced by weights on lanes that add up to one.
  struct Weighting {
    std::vector<double> lanes;
    std::vector<double> prices;  // by node
  };

  void FindTails();
  int64_t TailOf(ValueId value, size_t consumer, uint32_t slot) const;
  void AddWeighting(const std::vector<double>& shares);
  int64_t Path(const PartialSchedule& schedule) const;
  int64_t Area(const PartialSchedule& schedule) const;
  int64_t Arrival(const PartialSchedule& schedule, ValueId value, uint32_t slot,
                  const std::vector<int64_t>& done) const;
  std::vector<int64_t> ReadyTimes(const PartialSchedule& schedule) const;  // by unit class

  const Space& space_;
  std::vector<std::vector<std::vector<int64_t>>> tails_;  // by value, consumer and slot: from there to the end
  std::vector<int64_t> rest_;                             // by option: from its start to the end
  std::vector<Weighting> weightings_;
};

}  // namespace pt
