// What several plans of one model are made from.
#pragma once

#include <chrono>
#include <optional>

#include "lib/engine/made_for.h"
#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/engine/model.h"
#include "partitiontuner/engine/plan_options.h"
#include "partitiontuner/exec/machine.h"
#include "partitiontuner/exec/session.h"

namespace pt {

// What runs of plans may take that are tried out.
struct TrialLimits {
  std::optional<std::chrono::nanoseconds> deadline;  // as EngineOptions::trial_deadline
  uint64_t bytes = Limits().run_bytes;

  RunOptions run_options(const Plan& plan) const {
    const std::chrono::nanoseconds time = deadline.value_or(PatienceFor(plan));
    return time.count() > 0 ? RunOptions{.deadline = time} : RunOptions{};
  }
  SessionOptions session_options() const {
    SessionOptions options;
    options.run_bytes = bytes;
    options.alone = AloneRuns::kNever;  // what is measured is the plan
    return options;
  }
};

// What stays the same from one plan to the next. References outlive whoever holds it.
struct PlanningContext {
  const Model& model;
  Machine& machine;
  const CostModel& costs;
  const ProfileSummary& profile;
  const PlanOptions& options;
  TrialLimits limits = {};
  NestedPlanner nested_planner = {};

  SessionOptions session_options() const {
    SessionOptions options = limits.session_options();
    options.nested_planner = nested_planner;
    return options;
  }
};

}  // namespace pt
