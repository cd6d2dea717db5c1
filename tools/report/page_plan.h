// What a page shows of a plan.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/exec/trace.h"
#include "partitiontuner/planner/planner.h"
#include "tools/report/page.h"

namespace pt::tools {

// How the steps of a plan are called.
struct StepNames {
  std::function<std::string(const Step& step)> work;
  std::function<std::string(const Step& step)> op;  // of RunGroup alone
};
StepNames NamesBy(const Graph& graph, const Plan& plan);  // borrows both

// Timeline, memory and shares as they were predicted. The plan is legal and its units are the platform's.
PagePlan PagePlanOf(const Platform& platform, const Plan& plan, const StepNames& names, const std::string& title);

// Other candidates for the same nodes, by what they cost as steps alone: at most four a step.
void AddAlternatives(const Platform& platform, const Plan& plan, std::span<const Candidate> candidates,
                     const CostModel& costs, PagePlan& page);
void AddReasons(const Plan& plan, const Explanations& explanations, PagePlan& page);
// One run as it went, at best a typical one, with the time that each step takes in the middle of several. step_ns: by
// step.
void AddMeasured(const Trace& run, std::span<const int64_t> step_ns, const std::string& title, PagePlan& page);

}  // namespace pt::tools
