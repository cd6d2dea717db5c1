// pt-plan --annotate: the model with what a plan does with each of its nodes, for viewers such as Netron.
#pragma once

#include "partitiontuner/plan/plan.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {

// Before long work. Errors: kUsage where the file is standard output, or the model itself; kInvalidInput where it
// cannot be written.
Status CheckAnnotate(const PlanFlags& flags);

// Where --annotate is given: the model's file with notes at its nodes. The plan is of `planned`. Warns where weights
// are not where the new file looks for them. Errors: those of files and of AnnotateNodes.
Status WriteAnnotated(const PlanFlags& flags, const Graph& planned, const Platform& platform, const Plan& plan,
                      const Console& console);

}  // namespace pt::tools
