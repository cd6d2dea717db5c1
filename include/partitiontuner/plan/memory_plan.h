// PlanMemory: places every instance and scratch buffer of a plan in one arena a device, from
// happens-before, not list order. Views, in-place results and slices of concatenations where candidates allow.
//
// External instances get no placement, since the run uses the caller's buffers for them: on the device where the caller
// lends the value (Plan::lent_on), row-major, in the storage type of their value, (1) every instance of a graph input
// and (2) the instance of a graph output that a step makes. The executor reads (1) and writes (2) in place. Neither
// shares bytes with any other instance: no view, in-place result or slice is placed onto them, and a step that would
// have to overwrite one makes the plan infeasible.
//
// What is declared here is how PlanMemory, the timeline and the executor read a plan. CheckPlan uses none of it and has
// rules of its own (lib/plan/check_rules.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// What has no placement because the session binds it: where the caller lends the value, row-major, in the value's own
// type, a graph input is the caller's input buffer and a graph output made by a node is the caller's output buffer.
// Other forms of such values are made by steps and placed like any instance.
bool IsExternal(const Graph& graph, const LentOn& lent_on, const Instance& instance);
// What has no placement because its size is known only at run time: dims not static, or elements without a
// fixed size (strings). The executor allocates it.
bool IsDynamic(const Graph& graph, const Instance& instance);

// Where the inputs of a concatenation lie within its output, when the candidate's forms allow slices.
struct ConcatSlices {
  std::vector<int64_t> offsets;  // one per input, in elements
  std::vector<int64_t> strides;  // outer strides of every slice, in elements: those of the dense output
};
// Empty unless the candidate is one Concat marked kSlicesOfOutput whose inputs are distinct, no constants, all in
// the output's form, and cut blocked dims at block borders only.
std::optional<ConcatSlices> SlicesOf(const Graph& graph, const Candidate& candidate);

// By step: true when its work is done by memory placement alone (views onto their input, concatenations
// whose inputs are slices of the output); the executor only signals such a step.
std::vector<bool> ElidedSteps(const Graph& graph, const Plan& plan);

// Fills plan.memory. Offsets are multiples of 64 bytes, except slices. On hosts with several memory nodes, what units
// of one node write lies together, on pages (of 64 KiB) that no other node's units write. Errors: a required alias that
// cannot hold (kInfeasible), overflow, over `cap_bytes` of a device (kOutOfMemory). A view is placed onto its input
// unless one of the two is external, dynamic or overwritten by a required alias. A concatenation gets slices when every
// input is placed, written by a group or reorder, not read or written by a copy, not overwritten in place and no view.
// Results overwrite their input where an alias allows it and every other reader of those bytes happens before.
Status PlanMemory(const Graph& graph, const Platform& platform, Plan& plan,
                  const std::map<DeviceId, uint64_t>& cap_bytes = {});

}  // namespace pt
