// Engine: the whole chain for applications and tools: load → specialise → simplify → profile → plan → session. An
// Engine holds a Machine, which must outlive the sessions; a Model belongs to the Engine that loaded it. Thread-safe.
//
//   auto engine = pt::Engine::Make({}).value();
//   auto model = engine->Load("model.onnx", {}).value();
//   pt::Plan plan = engine->MakePlan(*model, {.default_plan = true}).value();
//   auto session = engine->MakeSession(*model, plan).value();
//   std::vector<pt::Tensor> outputs = pt::RunTensors(*session, inputs).value();
#pragma once

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
#include "partitiontuner/exec/session.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "partitiontuner/planner/bounds.h"
#include "partitiontuner/planner/planner.h"
#include "partitiontuner/profiler/measure.h"
#include "partitiontuner/transform/constant_inputs.h"
#include "partitiontuner/transform/rewrites.h"

namespace pt {

struct EngineOptions {
  MachineOptions machine;
  // Empty = ProfileDb::DefaultPath(); "none" = no database. Measuring creates it; where it is absent, nothing is
  // measured yet. One that cannot be written to is read all the same.
  std::string db_path;
  // Of each run that planning makes (MakePlanWithin, MakeFinalPlan), as RunOptions::deadline and
  // SessionOptions::run_bytes. No deadline: PatienceFor the plan; 0: none at all.
  std::optional<std::chrono::nanoseconds> trial_deadline = {};
  uint64_t trial_bytes = Limits().run_bytes;
};

// Settings of plans that begin so name inputs that the model was loaded to know as constants, and their numbers.
inline constexpr std::string_view kConstantSetting = "constant ";

struct ModelOptions {
  LoadOptions load;
  std::map<std::string, int64_t> dims;                 // by dim name: --dim batch=1
  std::map<std::string, std::vector<int64_t>> shapes;  // by input name: --shape x=1x3x224x224
  // Of the first inputs, in order, from data that will be fed (InputsByPosition); shapes by name win. More dims than
  // the model has inputs, or dims that contradict its types: kInvalidInput.
  std::vector<std::vector<int64_t>> input_dims;
  // By input name: for dims that the file leaves open and nothing above says. Not looked at where they do not fit.
  std::map<std::string, std::vector<int64_t>> default_dims;
  // Inputs that always have this number in every element: what depends on them is computed once. Plans made for the
  // model say so (kConstantSetting), and its sessions refuse runs with other values.
  ConstantInputs constants;
  bool simplify = true;
  // Keeps the graph as it was before the passes, with all weights that they have replaced.
  bool keep_loaded = false;
  // False when the model will only run by plans that exist already, read from files say: Model::candidates stays empty,
  // which saves their enumeration. Nothing can be measured or planned then, and an operator that no library runs is not
  // refused here: no plan for it is legal.
  bool to_plan = true;
  // What candidates may compute in, and so store: fp32 alone unless more is allowed. Where the processor has no
  // instructions for a mode, nothing is offered in it.
  Precision precision;
  // Only candidates that keep NaN (backend/nan.h), which are slower for Relu, Clip, Max, Min and what ends in one of
  // them. Plans made for the model say so (kNanSetting).
  bool keep_nan = false;
  // Ends loading (kRunFailed) where it computes what is constant; may be null.
  const CancelToken* cancel = nullptr;
  // What is done to the planned graph. Plans made for the model say so (setting "rewrite").
  Rewrites rewrites;
};

// A model as its file has it, dims that the file leaves open included: read once for models of several sizes, which
// share its weights. Of no engine.
struct ModelFile {
  std::string path;
  LoadReport load_report;
  std::shared_ptr<const Graph> graph;
};

// Errors: those of LoadOnnx.
Result<std::shared_ptr<const ModelFile>> OpenModel(const std::string& path, const LoadOptions& options = {});

// The inputs of the file, by their index in the graph's, that `count` pieces of data by position are for, in their
// order: those without a default (LoadReport::defaults), and all of them where that is less. Of a graph that answers
// several requests: the first one's.
std::vector<size_t> InputsByPosition(const Graph& graph, const LoadReport& report, size_t count, size_t requests = 1);

// The dims that the file's inputs have by `dims`, `shapes` and `input_dims` of the options; none of what is no tensor.
// Errors: kUsage (unknown dims: the hint is the exact flag to give), kInvalidInput, as Engine::Load.
Result<std::vector<std::vector<int64_t>>> InputDimsOf(const ModelFile& file, const ModelOptions& options);

// A loaded model: its planned graph and everything that can run it.
struct Model {
  std::string path;
  LoadReport load_report;
  std::shared_ptr<const Graph> loaded;  // specialised, before the passes; null unless it was to be kept
  std::shared_ptr<const Graph> graph;   // the planned graph
  std::vector<Candidate> candidates;    // within `precision`; none when it was not loaded to plan
  Precision precision;
  bool keep_nan = false;
  Rewrites rewrites;  // that the planned graph has been through
  ConstantInputs constants;
  std::vector<std::optional<Tensor>> constant_inputs;  // by input of the planned graph, what `constants` make of it
  std::string model_hash, graph_hash;
};

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

struct PlanOptions {
  std::string planner = "search";  // "single:cpu", "random:7"
  Constraints constraints = {};
  uint64_t effort = 0, seed = 1;
  std::chrono::nanoseconds time_limit{};
  const Profile* profile = nullptr;  // instead of the database
  bool allow_estimates = true;
  SplitMargin margin = SplitMargin::kUncertainty;
  // Where nobody has measured enough to plan or to estimate by (kPartial): MakePlan gives MakeDefaultPlan's plan
  // instead of the error. PlanningNotes::default_plan and Plan::planner tell, and Plan::complete is false.
  bool default_plan = false;
};

// What is told about making a plan beside the plan itself.
struct PlanningNotes {
  std::chrono::nanoseconds search_time{};  // of the planner itself, without reading costs before and checks afterwards
  std::optional<PredictedGain> gain = {};  // of what `search` found over the best single device
  bool split_declined = false;             // the plan is that device's, for the gain is not sure
  bool default_plan = false;               // nobody has measured enough, and PlanOptions::default_plan allows for it
};

// When a run of the plan is taken for one that never ends: after a minute, or after a hundred times what is predicted
// where that is longer.
std::chrono::nanoseconds PatienceFor(const Plan& plan);

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
  // Errors: kUsage (no such planner); kPartial (unless PlanOptions::default_plan): nodes that nobody has measured and
  // nothing estimates; kInfeasible; kInvalidInput for a database that cannot be read.
  Result<Plan> MakePlan(const Model& model, const PlanOptions& options, Explanations* explanations = nullptr,
                        PlanningNotes* notes = nullptr);
  // The fastest plan found that strays from the plan in fp32 no further than the budget allows; that one itself where
  // nothing faster does. Of a model that was loaded with a Precision beyond fp32; runs the plans that it tries on the
  // machine. Errors: those of MakePlan, MakeSession and runs; kUsage for a budget that is none.
  Result<Plan> MakePlanWithin(const Model& model, const PlanOptions& options, const ErrorBudget& budget);
  // The plans with the best predictions, of options.planner and of the others, run in turns on the machine. Errors:
  // those of MakePlan, MakeSession and runs; kUsage for no plans or no rounds.
  Result<FinalChoice> MakeFinalPlan(const Model& model, const PlanOptions& options, const FinalistOptions& finalists);
  // Plans under ever tighter caps on the memory of all devices together: see MemoryFrontOf. Constraints hold for each.
  // Errors: those of MakePlan without more caps.
  Result<std::vector<Plan>> MakeMemoryFront(const Model& model, const PlanOptions& options);
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
