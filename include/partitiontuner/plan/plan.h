// Plan: the decision as plain data: which steps run where, in which order, waiting for what, in which
// memory. No behaviour; printed, diffed, edited, checked, simulated and run by free functions elsewhere.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/cost/estimate.h"
#include "partitiontuner/plan/lending.h"
#include "partitiontuner/support/json.h"

namespace pt {

using PlanCandidateId = StrongId<struct PlanCandidateTag>;
using InstanceId = StrongId<struct InstanceTag>;
using StepId = StrongId<struct StepTag>;

// A tensor that exists in a run. At most one of each (value, device, form) per plan.
struct Instance {
  ValueId value;
  DeviceId device;
  Form form;
  friend auto operator<=>(const Instance&, const Instance&) = default;
};

// A candidate runs.
struct RunGroup {
  PlanCandidateId candidate;
  std::vector<InstanceId> in, out;  // parallel to the candidate's in and out
};
// A tensor goes to another device.
struct Copy {
  InstanceId from, to;  // same value and form, other device
  LinkId link;
};
// A tensor is brought into another form.
struct Reorder {
  InstanceId from, to;  // same value and device, other form
  std::string library;
};
using Work = std::variant<RunGroup, Copy, Reorder>;

// What a unit does at one place of its list.
struct Step {
  UnitId unit;
  Work work;
  std::vector<StepId> after;                       // every one smaller than this step's own id
  int64_t expected_start_ns = 0, expected_ns = 0;  // no meaning for correctness
};

// Where an instance lies in its device's arena. Several instances may share bytes: views, in-place
// results, slices of a concatenation, and instances that never live at once.
struct Placement {
  InstanceId instance;
  uint64_t offset = 0, bytes = 0;
  std::vector<int64_t> strides;  // outer strides in elements of a slice; empty = dense
};
// Where the scratch memory of a step lies in its device's arena.
struct ScratchPlacement {
  StepId step;
  uint64_t offset = 0, bytes = 0;
};
// The memory of one device for one run.
struct Arena {
  uint64_t bytes = 0;
  std::vector<Placement> placements;
  std::vector<ScratchPlacement> scratch;
};

// One of several models that a plan serves together.
struct NamedModel {
  std::string name;  // in front of what the model calls its own (graph/disjoint_union.h)
  std::string file;  // as it was called when the plan was made
  std::string hash;  // ModelHash of its graph as loaded

  friend bool operator==(const NamedModel&, const NamedModel&) = default;
};

// What the plan was made from; a run on anything else is refused with the differences.
struct MadeFor {
  std::string tool_version;
  std::map<std::string, std::string> libraries;  // name -> version
  std::string model_hash, graph_hash;
  std::vector<NamedModel> models;  // in their order; none of a plan for one model
  int64_t opset = 0;
  std::map<std::string, std::vector<int64_t>> input_dims;
  Platform platform;  // device, class and unit names and fingerprint
  std::string profile_hash;
  uint64_t profile_samples = 0;
  std::map<std::string, std::string> settings;  // objective, seed, effort, precision, constraints
};

// How far a plan that was made within an error budget is from the plan in fp32, and what that buys. Errors are relative
// to the largest magnitude of each output.
struct BudgetReport {
  double max_error = 0;                                  // the budget
  double calibration_error = 0;                          // on the data by which was chosen what is lowered
  double confirmation_error = 0;                         // on data that was not used for choosing
  uint64_t calibration_sets = 0, confirmation_sets = 0;  // 0 where nothing can be lowered
  uint64_t groups = 0, lowered_groups = 0;               // steps that run a group; those of them in less than fp32
  int64_t fp32_ns = 0;                                   // the predicted makespan of the plan in fp32
  uint64_t plans = 0;                                    // made before one was chosen

  friend bool operator==(const BudgetReport&, const BudgetReport&) = default;
};

// Steps that the timeline takes to be launched as one (launch_segments.h).
struct SegmentReport {
  uint64_t segments = 0, steps = 0;  // steps: of all segments
  int64_t launch_ns = 0;             // of the cores that launch them, all together
  // Devices that capture, but whose time for launching a segment is not known: their steps count one by one.
  std::vector<std::string> unknown;

  friend bool operator==(const SegmentReport&, const SegmentReport&) = default;
};

// What the planner says of the plan.
struct PlanReport {
  std::vector<StepId> critical_path;
  std::map<std::string, double> busy;           // unit name -> share of the makespan
  std::map<std::string, int64_t> baselines_ns;  // planner name -> predicted makespan
  double gap = 0;                               // makespan / lower_bound - 1
  std::string stopped_by;                       // "done", "effort", "time", "interrupted"
  std::optional<BudgetReport> budget;           // of a plan that was made within one
  std::string tight_bound;                      // which bound lower_bound_ns is, "L3 area"; empty: not known
  int64_t reference_ns = 0;                     // of the reference work when the steps were measured; 0: not known
  int64_t hand_over_ns = 0;                     // between cores of the host, as it was measured; 0: not known
  SegmentReport segments;
};

struct Plan {
  MadeFor made_for;
  std::string planner;                // name with argument
  std::vector<Candidate> candidates;  // those used, once each
  // What the quantisations that forms name by id mean. No library offers such forms yet.
  std::map<QuantisationId, Quantisation> quantisations;
  LentOn lent_on;
  std::vector<Instance> instances;
  std::vector<Step> steps;
  std::map<DeviceId, Arena> memory;
  Estimate makespan;
  int64_t lower_bound_ns = 0;
  bool complete = true;  // every cost was measured, none estimated
  PlanReport report;
};

}  // namespace pt
