#include "partitiontuner/engine/engine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "lib/engine/finalists.h"
#include "lib/engine/load_model.h"
#include "lib/engine/made_for.h"
#include "lib/engine/make_plan.h"
#include "lib/engine/measured_lowerings.h"
#include "lib/engine/memory_front.h"
#include "lib/engine/models_apart.h"
#include "lib/engine/nested_plans.h"
#include "lib/engine/rate_plan.h"
#include "lib/engine/rough_costs.h"
#include "partitiontuner/cost/beside_costs.h"
#include "partitiontuner/cost/needed_keys.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/engine/several_models.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/planner/dispatch.h"
#include "partitiontuner/support/caught.h"
#include "partitiontuner/version.h"

namespace pt {

namespace {

struct PlanningProfile {
  Profile profile;
  ProfileSummary summary;  // of what is this model's own
};

struct PlanningCosts {
  std::unique_ptr<CostModel> costs;   // some way to run every node has one
  std::unique_ptr<CostModel> beside;  // the same with how steps slow each other down; null unless asked for
  ProfileSummary summary;
};

}  // namespace

struct Engine::State {
  EngineOptions options;
  std::shared_ptr<Machine> machine;
  Platform measured_platform;  // what costs are asked with
  std::mutex db_mutex;
  std::optional<ProfileDb> db;  // empty: none wanted, not there, or not opened yet

  bool keeps_reference() const {
    const std::vector<std::string>& named = options.machine.libraries;
    return std::find(named.begin(), named.end(), "reference") != named.end();
  }
  TrialLimits limits() const { return {options.trial_deadline, options.trial_bytes}; }
  // With db_mutex held. Opened on first use: who only runs a plan needs none. Null where it is only to be read and is
  // not there: then nothing is measured yet.
  enum class Use { kRead, kWrite };
  Result<ProfileDb*> Database(Use use);
  Result<Profile> ReadProfile(const Model& model, bool* lacks_some = nullptr);
  Result<PlanningProfile> ProfileForPlanning(const Model& model, const PlanOptions& plan_options);
  Result<PlanningCosts> CostsForPlanning(const Model& model, const PlanOptions& plan_options, bool beside = false);
  std::unique_ptr<CostModel> CostsFrom(const Model& model, Profile profile, bool allow_estimates,
                                       bool look_up_at_once) const;
  // As given, with what this engine knows of the model and of nested graphs.
  SessionOptions OptionsFor(const Model& model, const SessionOptions& given) const;
  PlanningContext SceneFor(const Model& model, const PlanningCosts& found, const PlanOptions& plan_options) const;
};

namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// For people, and to tell two profiles of one machine apart; nothing decides by it.
std::map<std::string, std::string> EnvironmentOf(const Machine& machine) {
  std::map<std::string, std::string> environment;
  environment["tool"] = kVersion;
  for (const auto& [name, version] : LibraryVersions(machine)) environment["library " + name] = version;
  if (const std::string governor = FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
      !governor.empty()) {
    environment["governor"] = governor;
  }
  if (const std::string kernel = FirstLine("/proc/sys/kernel/osrelease"); !kernel.empty())
    environment["kernel"] = kernel;
  return environment;
}

// Simulated devices need no profiling: what their libraries know is filled in where the profile lacks it.
void AddKnownTimes(const Model& model, const Machine& machine, const Platform& platform, Profile& profile) {
  const uint64_t reuse_distance = ReuseDistance(*model.graph, platform);
  for (const Candidate& candidate : model.candidates) {
    const UnitClass& unit_class = platform.unit_class(candidate.unit_class);
    const Library* library = machine.library(candidate.library);
    if (!platform.device(unit_class.device).simulated || library == nullptr) continue;
    const std::optional<int64_t> ns = library->KnownCost(*model.graph, platform, candidate);
    if (!ns) continue;
    const MeasurementKey key = CostKey(*model.graph, platform, candidate, library->version(), reuse_distance);
    Measurement known;
    known.key_text = key.text;
    known.median_ns = *ns;
    known.provenance = Provenance::kSimulated;
    known.family = model.graph->node(HeaviestNode(*model.graph, candidate.nodes)).op;
    known.device = platform.device(unit_class.device).fingerprint;
    known.unit_class = unit_class.name;
    known.library = candidate.library;
    known.math = MathModeName(candidate.math);
    profile.measurements.emplace(key.hash, std::move(known));
  }
}

Status CheckIsToPlan(const Model& model) {
  if (!model.candidates.empty() || model.graph->nodes().empty()) return {};
  return MakeError(ErrorCode::kUsage, "engine.not_to_plan",
                   "the model was loaded only to run by plans that exist already",
                   "load it with ModelOptions::to_plan to measure or plan it");
}

// What the graph alone cannot tell: of several models with the same graph, which is which.
Status CheckIsForModels(const Model& model, const Plan& plan) {
  return StatusOf(PlanVerdict{ModelDifferences(model, plan), {}, {}});
}

// Some way to run every node must have a cost, else a planner could only guess.
Status CheckProfiled(const Model& model, const CostModel& costs) {
  std::vector<bool> covered(model.graph->nodes().size(), false);
  for (const Candidate& candidate : model.candidates) {
    const bool new_node = std::any_of(candidate.nodes.begin(), candidate.nodes.end(),
                                      [&](NodeId node) { return !covered[node.index()]; });
    if (!new_node || !costs.OfStep(candidate).run) continue;
    for (NodeId node : candidate.nodes) covered[node.index()] = true;
  }
  const auto missing = std::find(covered.begin(), covered.end(), false);
  if (missing == covered.end()) return {};
  Error error = MakeError(ErrorCode::kPartial, "engine.not_profiled",
                          std::to_string(std::count(covered.begin(), covered.end(), false)) + " of " +
                              std::to_string(covered.size()) + " nodes have no measured way to run on this machine",
                          "run pt-profile " + model.path + " first");
  error.file = model.path;
  error.node = NodeLabel(*model.graph, NodeId(static_cast<size_t>(missing - covered.begin())));
  return error;
}

}  // namespace

SessionOptions Engine::State::OptionsFor(const Model& model, const SessionOptions& given) const {
  SessionOptions session = given;
  if (!model.constants.empty()) session.constant_inputs = model.constant_inputs;
  if (!session.nested_planner) session.nested_planner = MakeNestedPlanner(*machine, keeps_reference());
  return session;
}

PlanningContext Engine::State::SceneFor(const Model& model, const PlanningCosts& found,
                                        const PlanOptions& plan_options) const {
  return {model,
          *machine,
          *found.costs,
          found.summary,
          plan_options,
          limits(),
          MakeNestedPlanner(*machine, keeps_reference())};
}

Result<ProfileDb*> Engine::State::Database(Use use) {
  if (db) return &*db;
  if (options.db_path == "none") {
    return MakeError(ErrorCode::kUsage, "engine.no_database", "this needs a profile database, but none is to be used",
                     "leave out --db none");
  }
  const std::string path = options.db_path.empty() ? ProfileDb::DefaultPath() : options.db_path;
  std::error_code problem;
  const bool absent = std::filesystem::status(path, problem).type() == std::filesystem::file_type::not_found;
  if (absent && use == Use::kRead) return nullptr;
  PT_ASSIGN(ProfileDb opened, ProfileDb::Open(path));
  db.emplace(std::move(opened));
  return &*db;
}

Result<Profile> Engine::State::ReadProfile(const Model& model, bool* lacks_some) {
  PT_CHECK_OK(CheckIsToPlan(model));
  Profile profile;
  profile.platform_fingerprint = PlatformFingerprint(machine->platform());
  profile.environment = EnvironmentOf(*machine);
  if (lacks_some != nullptr) *lacks_some = true;
  ProfileDb* database = nullptr;
  {
    const std::lock_guard lock(db_mutex);
    PT_ASSIGN(database, Database(Use::kRead));
  }
  if (database == nullptr) return profile;
  std::vector<MeasurementKey> keys;
  for (NeededKey& needed : NeededKeys(*model.graph, measured_platform, model.candidates, LibraryVersions(*machine))) {
    keys.push_back(std::move(needed.key));
  }
  const std::lock_guard lock(db_mutex);
  PT_ASSIGN(profile.measurements, database->Get(keys));
  if (lacks_some != nullptr) *lacks_some = profile.measurements.size() < keys.size();
  return profile;
}

Result<PlanningCosts> Engine::State::CostsForPlanning(const Model& model, const PlanOptions& plan_options,
                                                      bool beside) {
  // A name that is unknown is said before anything is read.
  if (const auto planner = FindPlanner(plan_options.planner); !planner.ok()) return planner.error();
  PT_ASSIGN(PlanningProfile found, ProfileForPlanning(model, plan_options));
  const Profile measured = beside ? found.profile : Profile();
  PlanningCosts costs;
  costs.costs = CostsFrom(model, std::move(found.profile), plan_options.allow_estimates, true);
  if (beside) {
    costs.beside = MakeBesideCosts(*model.graph, measured_platform, model.candidates, measured,
                                   LibraryVersions(*machine), *costs.costs);
  }
  costs.summary = std::move(found.summary);
  PT_CHECK_OK(CheckProfiled(model, *costs.costs));
  return costs;
}

// The given profile, or the database's; with what other models taught of the machine where this one lacks something.
Result<PlanningProfile> Engine::State::ProfileForPlanning(const Model& model, const PlanOptions& plan_options) {
  PT_CHECK_OK(CheckIsToPlan(model));
  PlanningProfile found;
  bool lacks_some = false;
  if (plan_options.profile != nullptr) {
    found.profile = *plan_options.profile;
  } else if (options.db_path != "none") {
    PT_ASSIGN(found.profile, ReadProfile(model, &lacks_some));
  }
  AddKnownTimes(model, *machine, measured_platform, found.profile);
  found.summary = SummaryOf(found.profile);
  if (lacks_some && plan_options.allow_estimates) {
    const std::lock_guard lock(db_mutex);
    PT_ASSIGN(ProfileDb * database, Database(Use::kRead));
    if (database != nullptr) {
      PT_ASSIGN(auto others, database->All());
      found.profile.measurements.merge(others);
    }
  }
  return found;
}

std::unique_ptr<CostModel> Engine::State::CostsFrom(const Model& model, Profile profile, bool allow_estimates,
                                                    bool look_up_at_once) const {
  ProfiledCostsOptions costs;
  costs.library_versions = LibraryVersions(*machine);
  costs.allow_estimates = allow_estimates;
  costs.candidates = model.candidates;
  costs.look_up_at_once = look_up_at_once;
  return MakeProfiledCosts(*model.graph, measured_platform, std::move(profile), costs);
}

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::Make(const EngineOptions& options) try {
  PT_ASSIGN(std::shared_ptr<Machine> machine, Machine::Make(options.machine));
  return Make(std::move(machine), options);
} catch (...) {
  return Caught("engine", "make an engine");
}

Result<std::unique_ptr<Engine>> Engine::Make(std::shared_ptr<Machine> machine, const EngineOptions& options) try {
  if (machine == nullptr) return MakeError(ErrorCode::kUsage, "engine.machine", "an engine needs a machine");
  auto state = std::make_unique<State>();
  state->options = options;
  state->measured_platform = MeasuredPlatform(*machine);
  state->machine = std::move(machine);
  return std::unique_ptr<Engine>(new Engine(std::move(state)));
} catch (...) {
  return Caught("engine", "make an engine");
}

Machine& Engine::machine() const { return *state_->machine; }

Result<std::shared_ptr<const Model>> Engine::Load(const std::string& path, const ModelOptions& options) try {
  return LoadModel(path, options, *state_->machine, state_->keeps_reference());
} catch (...) {
  return Caught("engine", "load a model");
}

Result<std::shared_ptr<const Model>> Engine::Load(const ModelFile& file, const ModelOptions& options) try {
  return LoadModel(file, options, *state_->machine, state_->keeps_reference());
} catch (...) {
  return Caught("engine", "load a model");
}

Result<std::shared_ptr<const Model>> Engine::Split(const Model& model, const NodeSplit& split) try {
  PT_CHECK_OK(CheckIsToPlan(model));
  return SplitModel(model, split, *state_->machine, state_->keeps_reference());
} catch (...) {
  return Caught("engine", "split a model");
}

Result<MeasureReport> Engine::MeasureModel(const Model& model, const MeasureOptions& options,
                                           const ProgressCallback& progress) try {
  PT_CHECK_OK(CheckIsToPlan(model));
  const std::lock_guard lock(state_->db_mutex);
  PT_ASSIGN(ProfileDb * database, state_->Database(State::Use::kWrite));
  return MeasureProfile(*model.graph, model.candidates, *state_->machine, *database, options, progress);
} catch (...) {
  return Caught("engine", "measure a model");
}

Result<Profile> Engine::ProfileOf(const Model& model) try { return state_->ReadProfile(model); } catch (...) {
  return Caught("engine", "read a profile");
}

Result<std::unique_ptr<CostModel>> Engine::CostsOf(const Model& model, const PlanOptions& options) try {
  PT_ASSIGN(PlanningProfile found, state_->ProfileForPlanning(model, options));
  return state_->CostsFrom(model, std::move(found.profile), options.allow_estimates, false);
} catch (...) {
  return Caught("engine", "find costs");
}

Result<Plan> Engine::MakePlan(const Model& model, const PlanOptions& options, Explanations* explanations,
                              PlanningNotes* notes) try {
  const Result<PlanningCosts> found = state_->CostsForPlanning(model, options);
  if (found.ok()) {
    return MakeModelPlan(model, *state_->machine, *found->costs, found->summary, options, explanations, notes);
  }
  if (found.error().code != ErrorCode::kPartial || !options.default_plan) return found.error();
  if (notes != nullptr) *notes = {.default_plan = true};
  return MakeDefaultPlan(model);
} catch (...) {
  return Caught("engine", "make a plan");
}

Result<Plan> Engine::MakePlanWithin(const Model& model, const PlanOptions& options, const ErrorBudget& budget) try {
  PT_ASSIGN(const PlanningCosts found, state_->CostsForPlanning(model, options));
  return PlanWithin(state_->SceneFor(model, found, options), budget);
} catch (...) {
  return Caught("engine", "make a plan");
}

Result<FinalChoice> Engine::MakeFinalPlan(const Model& model, const PlanOptions& options,
                                          const FinalistOptions& finalists) try {
  PT_ASSIGN(const PlanningCosts found, state_->CostsForPlanning(model, options, true));
  return RunFinalists(state_->SceneFor(model, found, options), *found.beside, finalists);
} catch (...) {
  return Caught("engine", "choose among plans");
}

Result<RateChoice> Engine::MakePlanForRate(const Model& model, const PlanOptions& options, const RateGoal& goal,
                                           const RateConfirmation* confirmation) try {
  PT_CHECK_OK(CheckRateGoal(goal, confirmation));
  PT_ASSIGN(const PlanningCosts found, state_->CostsForPlanning(model, options));
  return PlanForRate(state_->SceneFor(model, found, options), goal, confirmation);
} catch (...) {
  return Caught("engine", "plan for a rate");
}

Result<std::vector<Plan>> Engine::MakeMemoryFront(const Model& model, const PlanOptions& options) try {
  PT_ASSIGN(const PlanningCosts found, state_->CostsForPlanning(model, options));
  return pt::MakeMemoryFront(state_->SceneFor(model, found, options));
} catch (...) {
  return Caught("engine", "make plans");
}

Result<std::map<std::string, int64_t>> Engine::PredictApart(const Model& model, const PlanOptions& options) try {
  if (model.models.empty()) {
    return MakeError(ErrorCode::kUsage, "engine.one_model", "one model is not to be told apart",
                     "OpenModels joins several");
  }
  PT_ASSIGN(const PlanningCosts found, state_->CostsForPlanning(model, options));
  return PredictModelsApart(model, *state_->machine, *found.costs, options);
} catch (...) {
  return Caught("engine", "predict models apart");
}

Result<Plan> Engine::MakeDefaultPlan(const Model& model) try {
  PT_CHECK_OK(CheckIsToPlan(model));
  const std::unique_ptr<CostModel> costs = MakeRoughCosts(*model.graph, *state_->machine);
  PlanOptions options;
  options.planner = "single:cpu";
  PT_ASSIGN(Plan plan, MakeModelPlan(model, *state_->machine, *costs, {}, options, nullptr, nullptr));
  plan.complete = false;
  return plan;
} catch (...) {
  return Caught("engine", "make a plan");
}

Result<DispatchPlan> Engine::MakeDispatchPlan(const Model& model, const PlanOptions& options) try {
  // A rule that is unknown is said before anything is read.
  if (const auto rule = DispatchRuleNamed(options.planner); !rule.ok()) return rule.error();
  PT_ASSIGN(const PlanningCosts found, state_->CostsForPlanning(model, options));
  return MakeModelDispatchPlan(model, *state_->machine, *found.costs, found.summary, options);
} catch (...) {
  return Caught("engine", "make a plan");
}

Result<std::unique_ptr<Session>> Engine::MakeSession(const Model& model, const Plan& plan,
                                                     const SessionOptions& options) try {
  PT_CHECK_OK(CheckIsForModels(model, plan));
  return Session::Create(model.graph, plan, *state_->machine, state_->OptionsFor(model, options));
} catch (...) {
  return Caught("engine", "make a session");
}

Result<std::unique_ptr<Session>> Engine::MakeSession(const Model& model, const DispatchPlan& dispatch,
                                                     const SessionOptions& options) try {
  PT_CHECK_OK(CheckIsForModels(model, dispatch.plan));
  return Session::CreateDispatch(model.graph, dispatch, *state_->machine, state_->OptionsFor(model, options));
} catch (...) {
  return Caught("engine", "make a session");
}

}  // namespace pt
