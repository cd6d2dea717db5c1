#include "lib/plan/check_order.h"

#include <algorithm>

namespace pt {

StepOrder::StepOrder(const Platform& platform, const Plan& plan) {
  // A list per resource, and one per unit: what a unit uses in full, its steps go through one at a time.
  lists_ = platform.resources.size() + platform.units.size();
  const size_t steps = plan.steps.size();
  list_.resize(steps);
  position_.resize(steps);
  clocks_.assign(steps * lists_, 0);
  std::vector<std::vector<size_t>> lists(lists_);
  for (size_t s = 0; s < steps; ++s) {
    const Unit& unit = platform.unit(plan.steps[s].unit);
    std::vector<size_t> mine = {platform.resources.size() + plan.steps[s].unit.index()};
    for (const auto& [resource, use] : unit.uses) {
      if (use >= platform.resources[resource.index()].capacity) mine.push_back(resource.index());
    }
    uint32_t* clock = clocks_.data() + s * lists_;
    const auto join = [&](size_t predecessor) {
      const uint32_t* other = clocks_.data() + predecessor * lists_;
      for (size_t l = 0; l < lists_; ++l) clock[l] = std::max(clock[l], other[l]);
      // Every list it stands in has come past it.
      clock[list_[predecessor]] = std::max(clock[list_[predecessor]], position_[predecessor] + 1);
    };
    for (size_t l : mine) {
      if (lists[l].empty()) continue;
      join(lists[l].back());
      clock[l] = std::max(clock[l], static_cast<uint32_t>(lists[l].size()));
    }
    for (StepId predecessor : plan.steps[s].after) join(predecessor.index());
    // Its unit's own list is the one it is asked about by.
    list_[s] = mine.front();
    position_[s] = static_cast<uint32_t>(lists[mine.front()].size());
    for (size_t l : mine) lists[l].push_back(s);
  }
}

}  // namespace pt
