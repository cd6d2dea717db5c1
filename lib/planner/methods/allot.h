// Allotment: how many cores each group of a cover gets when several run side by side. See docs/planners.md.
#pragma once

#include <vector>

#include "lib/planner/schedule/schedule.h"

namespace pt {

// The cover's groups placed by HEFT under several allotments: from the least core time to the shortest critical path,
// in steps. Empty where no group can run on two different numbers of host cores. `cover` must be in legal order.
std::vector<Solution> ScheduleByAllotment(const Space& space, const Solution& cover);

// The cover's groups placed by HEFT where more cores must be worth it: a step on them must end earlier by what the core
// time that it takes costs, at several prices. Empty likewise.
std::vector<Solution> ScheduleByCorePrice(const Space& space, const Solution& cover);

}  // namespace pt
