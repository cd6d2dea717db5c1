// MendDevices: from a solution that breaks the device rules to one that keeps them, with as little moved as that takes.
#pragma once

#include "lib/planner/schedule/device_rules.h"

namespace pt {

// The same groups in the same order. What must stay together goes where most of its time is spent now; of what a device
// has no room for, the first in the order stay, and the others go on to where they are fastest, together where they
// can. Units change only where devices do. Errors: kInfeasible where no room is found for some.
Result<Solution> MendDevices(const Space& space, const DeviceRules& rules, const Solution& solution);

}  // namespace pt
