// Planners: each one file and one row of the table. They see graph, platform, candidates and costs as
// plain data, never a backend.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/plan/plan.h"
#include "partitiontuner/planner/planning_watch.h"

namespace pt {

// What every plan must keep.
struct Constraints {
  std::vector<std::pair<NodeId, UnitClassId>> pin;     // this node must run there
  std::vector<std::pair<NodeId, UnitClassId>> forbid;  // this node must not run there
  std::set<NodeId> in_fp32;                            // computed in fp32 whatever mode candidates offer
  // A plan's arenas, in bytes: of one device, and of all together. Weights and what the caller lends are not in them.
  std::map<DeviceId, uint64_t> memory_caps;
  std::optional<uint64_t> total_memory_cap = {};
  LentOn lent_on;  // where the caller has inputs and wants outputs: see LendingFault
  // Lists of nodes that run on one device each, whichever that is; the units may differ.
  std::vector<std::vector<NodeId>> together = {};
  // What each node keeps on its device for as long as the plan is used (weights, buffers), in bytes, by node; those
  // behind the end keep nothing. And what devices have for that; those without an entry have enough.
  std::vector<uint64_t> resident_bytes = {};
  std::map<DeviceId, uint64_t> resident_caps = {};

  bool caps_memory() const { return !memory_caps.empty() || total_memory_cap.has_value(); }
  // What a node may do depends on where others run.
  bool binds_devices() const { return !together.empty() || !resident_caps.empty(); }
  // Whether a plan is within them is seen of the whole plan only.
  bool limits_whole_plans() const { return caps_memory() || binds_devices(); }
};

// Written by planners, read by pt-plan --explain; planners run alike without one.
class Explanations {
 public:
  void Add(NodeId node, std::string line);
  std::span<const std::string> of(NodeId node) const;

 private:
  std::map<NodeId, std::vector<std::string>> lines_;
};

// All that a planner sees. What it refers to outlives the call.
struct PlanningProblem {
  const Graph& graph;
  const Platform& platform;
  std::span<const Candidate> candidates;
  const CostModel& costs;
  Constraints constraints = {};
  uint64_t effort = 0;  // evaluations the search may spend; 0 = the planner's default
  uint64_t seed = 1;
  std::string_view argument = {};        // what followed ':' in the planner's name
  int64_t time_limit_ns = 0;             // safety cut; 0 = none
  std::function<int64_t()> now_ns = {};  // of a clock that never goes back; empty = the steady clock
  int64_t bound_ns = 0;  // no plan is faster (planner/bounds.h): the search may end there; 0 = not known
  std::span<const StepCost> step_costs = {};  // of the candidates, where they are known already; empty: costs say them
  PlanningWatch* watch = nullptr;             // hears of the best makespan, and may end planning; may be null
};

// A row of the table of planners.
struct Planner {
  std::string_view name, summary;
  // A complete legal plan with memory and expected times; `made_for` is filled by the engine.
  // Errors: kInfeasible (some node has no usable candidate: named), kUsage (bad argument, or a value
  // that cannot be lent there), kInterrupted (the watch ended it before there was a plan; else the plan is the best so
  // far, and stopped by "interrupted").
  Result<Plan> (*make_plan)(const PlanningProblem&, Explanations*);
  std::string_view variant = {};  // an argument that makes other rules of it, compared like a planner; empty: none
};

std::span<const Planner> Planners();                        // the table
Result<const Planner*> FindPlanner(std::string_view name);  // name before ':'; kUsage lists the known ones

}  // namespace pt
