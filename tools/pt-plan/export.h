// pt-plan --export: pictures of plans as files.
#pragma once

#include <span>

#include "partitiontuner/plan/draw_timelines.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {

// Errors: kUsage for a file whose ending names no form, and for modes that make no plan.
Status CheckExport(const PlanFlags& flags);

// Where --export is given. .svg: timelines of all plans, one above the other; .dot: the graph as `chosen` runs
// it. Precondition: CheckExport.
Status ExportPlans(const PlanFlags& flags, const Graph& graph, const Platform& platform,
                   std::span<const DrawnPlan> plans, const Plan& chosen);

}  // namespace pt::tools
