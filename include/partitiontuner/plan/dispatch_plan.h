// DispatchPlan: what may run where, for runs that decide while they run which task goes to which unit. Plain data, made
// for one machine by MakeDispatchPlan (planner) and never stored. Every way to run every task is there, so that it can
// be compiled beforehand; no memory is used twice, so that every decision is safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// A task on a unit.
struct DispatchPlacement {
  UnitId unit;
  int64_t expected_ns = 0;    // of its groups alone, nothing moved
  std::vector<StepId> steps;  // one a group, in order, all on that unit
};

// Groups that go to one unit together. None but the first reads what other tasks make.
struct DispatchTask {
  std::vector<DispatchPlacement> placements;  // at least one; of equal merit, the earlier one is taken
  std::vector<uint32_t> readers;              // tasks that read what this one makes, once each
  uint32_t makers = 0;                        // how many tasks it waits for
  int64_t rank_ns = 0;                        // of tasks that are ready at once the largest goes first, then the first
};

// One copy or reorder, which whoever needs it does.
struct DispatchMove {
  InstanceId from, to;
  std::vector<StepId> steps;  // the ways to do it: of a reorder one for every unit in use on its device, of a copy one
};

// How an instance is made from another one of its value.
struct DispatchRoute {
  InstanceId from, to;
  std::vector<uint32_t> moves;  // in order: the first reads `from`, the last makes `to`
};

// All that may run where, with what has to be moved between.
struct DispatchTable {
  std::vector<DispatchTask> tasks;  // makers before readers
  std::vector<DispatchMove> moves;
  std::vector<DispatchRoute> routes;  // by from and to, both ascending
  // For inputs of the graph that are read: the caller's. For outputs that a group makes: what the caller wants.
  std::vector<InstanceId> inputs, outputs;
};

struct DispatchPlan {
  // Its steps are all that may run, each at most once in a run; their order means nothing, and no `after` is given.
  // Instances have places of their own; steps of one unit share their scratch. makespan is not known.
  Plan plan;
  DispatchTable table;
};

// Null when there is none.
const DispatchRoute* FindRoute(const DispatchTable& table, InstanceId from, InstanceId to);

// The step among the ways of a move that suits who does it: on `unit`, else on `own`, else the first.
StepId WayOf(const Plan& plan, const DispatchMove& move, UnitId unit, UnitId own);

// The first thing that is wrong, kInvalidInput: numbers out of range, tasks that do not wait for what they read, units
// of several cores, a route that does not lead where it says, bytes that two instances or units share. Whether its
// steps are right is left to CheckPlan, asked about the plans that it can become (StaticPlanOf).
Status CheckDispatchPlan(const Platform& platform, const DispatchPlan& dispatch);

// What a run does that places task i by its placement choices[i], as an ordinary plan: tasks in the order of the table,
// a value moved when its first reader elsewhere needs it. Its sequential twin computes the same bits.
// Precondition: the table's numbers are in range. kInvalidInput when a value cannot be brought to a reader.
Result<Plan> StaticPlanOf(const Graph& graph, const Platform& platform, const DispatchPlan& dispatch,
                          std::span<const uint32_t> choices);

}  // namespace pt
