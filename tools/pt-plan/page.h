// pt-plan --html: the plan, or two that are compared, as a page.
#pragma once

#include <map>
#include <string>

#include "partitiontuner/plan/plan_diff.h"
#include "tools/pt-plan/plan_flags.h"
#include "tools/pt-plan/summary.h"

namespace pt::tools {

// Where --html is given. Errors: those of costs; kInvalidInput where the file cannot be written.
Status WritePlanPage(const PlanFlags& flags, const PlanningSetup& setup, const Plan& plan, const Summary& summary,
                     const Explanations& explanations);

// The same of --diff.
Status WriteDiffPage(const PlanFlags& flags, const Plan& a, const Plan& b,
                     const std::vector<PlanDifference>& differences);

}  // namespace pt::tools
