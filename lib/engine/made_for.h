// What a plan says it was made for: graph, machine, versions, settings and measurements.
#pragma once

#include <cstdint>
#include <string>

#include "partitiontuner/cost/profile.h"
#include "partitiontuner/engine/model.h"
#include "partitiontuner/engine/plan_options.h"
#include "partitiontuner/exec/machine.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

struct ProfileSummary {
  std::string hash;  // of keys and times
  uint64_t samples = 0;
};
ProfileSummary SummaryOf(const Profile& profile);

// Of a plan of the model that is to be kept.
MadeFor MadeForOf(const Model& model, const Machine& machine, const Plan& plan, const ProfileSummary& profile,
                  const PlanOptions& options);
// Graph, machine and versions alone, for a plan that is not kept.
MadeFor MadeForOf(const Graph& graph, const Machine& machine, const Plan& plan);

}  // namespace pt
