// How plans are written as JSON. docs/plan-format.md and docs/schema/plan.schema.json are made of this.
#pragma once

#include "partitiontuner/plan/plan.h"
#include "partitiontuner/support/fields.h"

namespace pt {

inline constexpr std::string_view kPlanFormat = "partitiontuner plan";
inline constexpr int64_t kPlanMajor = 1;
inline constexpr int64_t kPlanMinor = 9;  // the latest that a field says in Since
inline constexpr FieldRange kPlanTime = {0, std::numeric_limits<double>::infinity(),
                                         "{key} is {value}, which is not a valid time"};

std::string_view ElisionName(Elision elision);

void Fields(FieldVisitor& v, BudgetReport& budget);
void Fields(FieldVisitor& v, SegmentReport& segments);
void Fields(FieldVisitor& v, PlanReport& report, std::optional<size_t> steps);
void Fields(FieldVisitor& v, NamedModel& model);
void Fields(FieldVisitor& v, MadeFor& made_for);
void Fields(FieldVisitor& v, Form& form);
// The graph adds what people read where a plan is written; null: nothing of it is known.
void Fields(FieldVisitor& v, Plan& plan, const Graph* graph);

// The id of an entry of quantisations, which is made from the content.
void QuantisationField(FieldVisitor& v, std::string_view key, QuantisationId& id, const FieldNote& note);

}  // namespace pt
