// What a plan is worth, as pt-plan says it.
#pragma once

#include <set>
#include <string>

#include "partitiontuner/engine/plan_options.h"
#include "tools/common/estimates.h"
#include "tools/pt-plan/plan_flags.h"
#include "tools/report/plan_facts.h"

namespace pt::tools {

struct Summary {
  int64_t best_single_ns = 0;
  std::string best_single;
  double spread = 0;           // of the makespan, as a share of it
  double gain = 0, noise = 0;  // over the best single device, and how far that may be off
  bool declined = false;       // the gain is of a plan that this one stands in for
  Unmeasured unmeasured;
  MoveCounts moves;
  std::set<std::string> units;
};
// Without what is unmeasured.
Summary Summarise(const Platform& platform, const Plan& plan, const PlanningNotes& notes);

// "stopped by effort".
std::string StoppedText(const PlanReport& report);
// "result: 3.0 % faster than single:cpu, on 2 units.", a line.
std::string ResultText(const Summary& summary);
// Tables and lines with the result.
std::string SummaryText(const Platform& platform, const Plan& plan, const Summary& summary);
Json SummaryJson(const PlanFlags& flags, const Plan& plan, const Summary& summary);

}  // namespace pt::tools
