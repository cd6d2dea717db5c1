// The part of CheckPlan about memory; shares nothing with PlanMemory.
#pragma once

#include <vector>

#include "partitiontuner/plan/check_plan.h"

namespace pt {

// Vector clocks over the instruction lists, as CheckPlan computes them.
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

// Ids are in range, every instance is written at most once and read after it is written.
void CheckMemory(const Graph& graph, const Platform& platform, const Plan& plan, const StepOrder& order,
                 std::vector<PlanFault>& faults);

}  // namespace pt
