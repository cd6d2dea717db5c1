// What a plan should be, and what is reported about making it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "partitiontuner/cost/profile.h"
#include "partitiontuner/planner/planner.h"

namespace pt {

// When a plan of `search` is worth more than the best one of a single device.
enum class SplitMargin : uint8_t {
  kUncertainty,  // its predicted gain is more than the error of that prediction; else the plan is the single device's
  kNone,         // always
};

// As shares of what the plan of the best single device takes.
struct PredictedGain {
  double share = 0, uncertainty = 0;
  bool is_sure() const { return share > uncertainty; }
};

// What a plan is made by and within.
struct PlanOptions {
  std::string planner = "search";  // "single:cpu", "random:7"
  Constraints constraints = {};
  uint64_t effort = 0, seed = 1;
  std::chrono::nanoseconds time_limit{};
  const Profile* profile = nullptr;  // instead of the database
  bool allow_estimates = true;
  SplitMargin margin = SplitMargin::kUncertainty;
  // Where too little was measured to plan or to estimate by (kPartial): MakePlan gives MakeDefaultPlan's plan
  // instead of the error. PlanningNotes::default_plan and Plan::planner tell, and Plan::complete is false.
  bool default_plan = false;
  PlanningWatch* watch = nullptr;  // see PlanningWatch; may be null
};

// What is reported about making a plan beside the plan itself.
struct PlanningNotes {
  std::chrono::nanoseconds search_time{};  // of the planner itself, without reading costs before and checks afterwards
  std::optional<PredictedGain> gain = {};  // of what `search` found over the best single device
  bool split_declined = false;             // the plan is that device's, for the gain is not sure
  bool default_plan = false;               // too little was measured, and PlanOptions::default_plan allows for it
};

// When a run of the plan is taken for one that never ends: after a minute, or after a hundred times what is predicted
// where that is longer.
std::chrono::nanoseconds PatienceFor(const Plan& plan);

}  // namespace pt
