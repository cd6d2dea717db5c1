// What several plans of one model are made from.
#pragma once

#include "lib/engine/finish_plan.h"

namespace pt {

// What stays the same from one plan to the next. References outlive whoever holds it.
struct PlanningScene {
  const Model& model;
  Machine& machine;
  const CostModel& costs;
  const ProfileSummary& profile;
  const PlanOptions& options;
};

}  // namespace pt
