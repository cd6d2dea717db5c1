// JudgePlan: may this plan run here? The one answer of sessions, of the engine and of pt-plan --check.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/plan/check_plan.h"

namespace pt {

// In the order in which they are asked: of a plan for something else every fault would be a consequence, so what comes
// after the first list that is not empty is not looked for.
struct PlanVerdict {
  std::vector<std::string> differences;  // made for another graph, machine or version
  std::vector<PlanFault> faults;         // of structure alone where libraries are absent
  std::set<std::string> absent;          // libraries the plan needs and that are not loaded: it cannot run here

  bool may_run() const { return differences.empty() && faults.empty() && absent.empty(); }
};

using Libraries = std::span<const std::unique_ptr<Library>>;

// graph is the planned graph. Thread-safe.
PlanVerdict JudgePlan(const Graph& graph, const Platform& platform, Libraries libraries, const Plan& plan);

// kStale (all differences), kInvalidInput (all faults), kDeviceUnusable (absent libraries); of a plan that may run,
// none.
Status StatusOf(const PlanVerdict& verdict);

// What the libraries say of the plan, for CheckPlan. Ids that the plan has wrong are left to CheckPlan.
PlanDescription DescribePlan(const Graph& graph, const Platform& platform, Libraries libraries, const Plan& plan);

// Versions by name.
std::map<std::string, std::string> LibraryVersions(Libraries libraries);

}  // namespace pt
