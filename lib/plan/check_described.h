// The part of CheckPlan that compares what the file says of candidates and reorders with what their libraries say.
#pragma once

#include <vector>

#include "partitiontuner/plan/check_plan.h"

namespace pt {

// What an absent library means: the plan cannot be legal, or what it says of that library's candidates is believed.
enum class Absent : uint8_t { kFault, kBelieved };

// The candidates to go by, by candidate of the plan: the libraries' own where they gave one, else the plan's.
std::vector<const Candidate*> CheckDescribed(const Plan& plan, const PlanDescription& description, Absent absent,
                                             std::vector<PlanFault>& faults);

}  // namespace pt
