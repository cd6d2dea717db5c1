// Engine: the whole chain for applications and tools: load → specialise → simplify → profile → plan → session. An
// Engine holds a Machine, which must outlive the sessions; a Model belongs to the Engine that loaded it. Thread-safe.
//
//   auto engine = pt::Engine::Make({}).value();
//   auto model = engine->Load("model.onnx", {}).value();
//   pt::Plan plan = engine->MakePlan(*model, {.default_plan = true}).value();
//   auto session = engine->MakeSession(*model, plan).value();
//   std::vector<pt::Tensor> outputs = pt::RunTensors(*session, inputs).value();
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/cost/profile.h"
#include "partitiontuner/engine/error_budget.h"
#include "partitiontuner/engine/finalists.h"
#include "partitiontuner/engine/memory_front.h"
#include "partitiontuner/engine/model.h"
#include "partitiontuner/engine/plan_options.h"
#include "partitiontuner/engine/rate_plan.h"
#include "partitiontuner/exec/session.h"
#include "partitiontuner/planner/bounds.h"
#include "partitiontuner/planner/planner.h"
#include "partitiontuner/profiler/measure.h"
#include "partitiontuner/transform/rewrites.h"

namespace pt {

// What an engine uses of the machine, and where it keeps measurements.
struct EngineOptions {
  MachineOptions machine;
  // Empty = ProfileDb::DefaultPath(); "none" = no database. Measuring creates it; where it is absent, nothing is
  // measured yet. One that cannot be written to is still read.
  std::string db_path;
  // Of each run that planning makes (MakePlanWithin, MakeFinalPlan), as RunOptions::deadline and
  // SessionOptions::run_bytes. No deadline: PatienceFor the plan; 0: none at all.
  std::optional<std::chrono::nanoseconds> trial_deadline = {};
  uint64_t trial_bytes = Limits().run_bytes;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> Make(const EngineOptions& options);
  // On a machine that the application put together (Machine::Assemble) or shares among engines; of options.machine
  // only `libraries` counts: "reference" named there keeps its candidates beside those of other libraries.
  static Result<std::unique_ptr<Engine>> Make(std::shared_ptr<Machine> machine, const EngineOptions& options);
  ~Engine();

  Machine& machine() const;

  // Errors: kInvalidInput, kUnsupported (an operator, type or shape no library runs: named), kUsage (unknown dims:
  // the hint is the exact flag to give).
  Result<std::shared_ptr<const Model>> Load(const std::string& path, const ModelOptions& options);
  // The same of a file that was read before; of options.load the limits count alone.
  Result<std::shared_ptr<const Model>> Load(const ModelFile& file, const ModelOptions& options);

  // The model with one more split in its graph, without reading its file again. Errors: those of SplitNodes; kUsage for
  // a model that was not loaded to plan, and beside time slices and requests, which come after splits.
  Result<std::shared_ptr<const Model>> Split(const Model& model, const NodeSplit& split);

  Result<MeasureReport> MeasureModel(const Model& model, const MeasureOptions& options,
                                     const ProgressCallback& progress);
  // What the database holds for this model and machine.
  Result<Profile> ProfileOf(const Model& model);
  Result<std::unique_ptr<CostModel>> CostsOf(const Model& model, const PlanOptions& options);

  // With made_for, lower bound and report filled, memory planned and checked. Where `search` gains too little (see
  // SplitMargin), the plan and its planner are the single device's, and report.baselines_ns has what "search" found.
  // Errors: kUsage (no such planner); kPartial (unless PlanOptions::default_plan): nodes that were not measured and
  // nothing estimates; kInfeasible; kInvalidInput for a database that cannot be read; kInterrupted where options.watch
  // ended planning before there was a plan. Ended later, the plan is the best so far, as complete and checked as any,
  // and report.stopped_by is "interrupted".
  Result<Plan> MakePlan(const Model& model, const PlanOptions& options, Explanations* explanations = nullptr,
                        PlanningNotes* notes = nullptr);
  // The fastest plan found that strays from the plan in fp32 no further than the budget allows; that one itself where
  // nothing faster does. Of a model that was loaded with a Precision beyond fp32; runs the plans that it tries on the
  // machine. Errors: those of MakePlan, MakeSession and runs; kUsage for an invalid budget.
  Result<Plan> MakePlanWithin(const Model& model, const PlanOptions& options, const ErrorBudget& budget);
  // The plans with the best predictions, of options.planner and of the others, run in turns on the machine. Errors:
  // those of MakePlan, MakeSession and runs; kUsage for no plans or no rounds.
  Result<FinalChoice> MakeFinalPlan(const Model& model, const PlanOptions& options, const FinalistOptions& finalists);
  // The plan, and the way to run it, for requests that come at a rate: predicted in virtual time and, with a
  // confirmation, by requests that are sent on the machine. It is there whether or not the goal is met. Errors: those
  // of MakePlan, MakeSession and runs; kUsage for a goal or a duration that makes no sense.
  Result<RateChoice> MakePlanForRate(const Model& model, const PlanOptions& options, const RateGoal& goal,
                                     const RateConfirmation* confirmation = nullptr);
  // Plans under ever tighter caps on the memory of all devices together: see MemoryFrontOf. Constraints hold for each.
  // Errors: those of MakePlan without more caps.
  Result<std::vector<Plan>> MakeMemoryFront(const Model& model, const PlanOptions& options);
  // Of several models (OpenModels), what they are predicted to take without a plan for all of them, each by the best
  // plan that `search` finds for it alone. "in-turns": one after the other, each with the whole machine; their sum.
  // "side-by-side": at once, each with an even share of the cores, and the devices beside the host with the one of them
  // that it pays for most; the longest. What cannot be is left out: more models than cores, a model that no library
  // runs there. Constraints are not looked at. Errors: those of MakePlan; kUsage for one model.
  Result<std::map<std::string, int64_t>> PredictApart(const Model& model, const PlanOptions& options);
  // Without a database entry for this model: a plan for one device from rough estimates, never "nothing".
  Result<Plan> MakeDefaultPlan(const Model& model);

  // What may run where, for sessions that decide in the run. options.planner is the rule: "operator" or "path"; effort,
  // seed and margin have no meaning. Errors: those of MakePlan and MakeDispatchPlan.
  Result<DispatchPlan> MakeDispatchPlan(const Model& model, const PlanOptions& options);

  Result<std::unique_ptr<Session>> MakeSession(const Model& model, const Plan& plan,
                                               const SessionOptions& options = {});
  Result<std::unique_ptr<Session>> MakeSession(const Model& model, const DispatchPlan& dispatch,
                                               const SessionOptions& options = {});

 private:
  struct State;
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pt
