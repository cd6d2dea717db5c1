// What people read of the steps of a plan. The plan must be sane: ids in range (CheckPlan, or made by a planner).
#pragma once

#include <string>

#include "partitiontuner/plan/plan.h"

namespace pt {

// "Conv conv1 (#3) + Relu (#4)".
std::string GroupLabel(const Graph& graph, const Candidate& candidate);
// The group, "copy x", or "reorder x abcd to aBcd16b"; the storage only where it is not the value's own.
std::string WorkLabel(const Graph& graph, const Plan& plan, const Step& step);
// "onednn brgconv in bf16": library, variant, and math other than fp32; empty for copies.
std::string LibraryLabel(const Plan& plan, const Step& step);
std::string LibraryLabel(const Candidate& candidate);

}  // namespace pt
