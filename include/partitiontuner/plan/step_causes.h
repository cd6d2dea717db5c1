// What steps wait for across units, as pictures of a plan's or a run's timeline show it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "partitiontuner/plan/memory_use.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

// A step on another unit that had to be over before.
struct StepCause {
  StepId from;
  std::optional<InstanceId> instance;  // what it makes and the other reads; empty: it is waited for alone
  friend bool operator==(const StepCause&, const StepCause&) = default;
};

// By step, each cause once. Steps that take no time in `times` (views, slices of a concatenation) have no causes and
// are none: what they wait for counts in their place. The plan must be sane: ids in range; `times` has one for each
// step.
std::vector<std::vector<StepCause>> StepCausesOf(const Plan& plan, std::span<const StepTime> times);

}  // namespace pt
