// Plans as JSON: docs/plan-format.md and docs/schema/plan.schema.json. ToJson and PlanFromJson are inverses;
// the same plan gives the same bytes. The graph only adds what people read (operators, sources).
#pragma once

#include "partitiontuner/plan/plan.h"

namespace pt {

Json ToJson(const Plan& plan, const Graph& graph);
Json ToJson(const BudgetReport& budget);     // as a plan's report has it
Json ToJson(const SegmentReport& segments);  // likewise
// Structural checks only (types, ids in range); legality is CheckPlan's. kInvalidInput, kStale on an
// unknown major version.
Result<Plan> PlanFromJson(const Json& json, std::string_view what);

}  // namespace pt
