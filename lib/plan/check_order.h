// StepOrder: which steps are over before which others start, by vector clocks over the instruction lists. The checker's
// own; planners and PlanMemory use HappensBefore.
#pragma once

#include <cstdint>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

class StepOrder {
 public:
  StepOrder(const Platform& platform, const Plan& plan);  // ids in range, waits ascending
  bool Before(size_t a, size_t b) const { return clocks_[b * lists_ + list_[a]] > position_[a]; }

 private:
  size_t lists_ = 0;
  std::vector<size_t> list_;        // by step: one list it stands in
  std::vector<uint32_t> position_;  // by step: its position there, from 0
  std::vector<uint32_t> clocks_;    // by step and list: how many are over before it starts
};

}  // namespace pt
