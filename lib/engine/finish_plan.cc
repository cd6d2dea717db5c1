#include "lib/engine/finish_plan.h"

#include <algorithm>
#include <set>

#include "lib/engine/step_cost.h"
#include "lib/engine/useful_split.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/plan/plan_precision.h"
#include "partitiontuner/plan/timeline.h"
#include "partitiontuner/planner/dispatch.h"
#include "partitiontuner/transform/passes.h"
#include "partitiontuner/version.h"

namespace pt {
namespace {

std::string ConstraintsText(const Graph& graph, const Platform& platform, const Constraints& constraints) {
  std::string text;
  const auto add = [&](const char* what, const auto& pairs) {
    for (const auto& [node, unit_class] : pairs) {
      text += (text.empty() ? "" : ", ") + std::string(what) + " " + NodeLabel(graph, node) + " " +
              platform.unit_class(unit_class).name;
    }
  };
  add("pin", constraints.pin);
  add("forbid", constraints.forbid);
  const bool all_in_fp32 = constraints.in_fp32.size() == graph.nodes().size();
  if (all_in_fp32) text += (text.empty() ? "" : ", ") + std::string("all in fp32");
  for (const NodeId node : all_in_fp32 ? std::set<NodeId>() : constraints.in_fp32) {
    text += (text.empty() ? "" : ", ") + std::string("fp32 ") + NodeLabel(graph, node);
  }
  for (const auto& [device, bytes] : constraints.memory_caps) {
    text += (text.empty() ? "" : ", ") + std::string("memory ") + platform.device(device).name + " " +
            std::to_string(bytes);
  }
  for (const std::vector<NodeId>& nodes : constraints.together) {
    text += (text.empty() ? "" : ", ") + std::string("together");
    for (const NodeId node : nodes) text += " " + NodeLabel(graph, node);
  }
  for (const auto& [device, bytes] : constraints.resident_caps) {
    text += (text.empty() ? "" : ", ") + std::string("resident ") + platform.device(device).name + " " +
            std::to_string(bytes);
  }
  if (constraints.total_memory_cap) {
    text += (text.empty() ? "" : ", ") + std::string("memory ") + std::to_string(*constraints.total_memory_cap);
  }
  return text;
}

// All but what it was made from.
MadeFor MadeForOf(const Graph& graph, const Machine& machine, const Plan& plan) {
  MadeFor made_for;
  made_for.tool_version = kVersion;
  const std::set<std::string> used = LibrariesOf(plan);
  for (const auto& [name, version] : LibraryVersions(machine)) {
    if (used.contains(name)) made_for.libraries.emplace(name, version);
  }
  made_for.opset = graph.opset();
  made_for.platform = machine.platform();
  return made_for;
}

MadeFor MadeForOf(const Model& model, const Machine& machine, const Plan& plan, const ProfileSummary& profile,
                  const PlanOptions& options) {
  MadeFor made_for = MadeForOf(*model.graph, machine, plan);
  made_for.model_hash = model.model_hash;
  made_for.graph_hash = model.graph_hash;
  for (ValueId input : model.graph->inputs()) {
    const Value& value = model.graph->value(input);
    if (const auto dims = value.type.static_dims()) made_for.input_dims[value.name] = *dims;
  }
  made_for.profile_hash = profile.hash;
  made_for.profile_samples = profile.samples;
  made_for.settings = {{"objective", "latency"},
                       {"seed", std::to_string(options.seed)},
                       {"effort", std::to_string(options.effort)},
                       {"passes", std::to_string(kPassPipelineVersion)},
                       {"precision", ToString(model.precision)}};
  if (model.keep_nan) made_for.settings[std::string(kNanSetting)] = kKeepNan;
  if (!model.rewrites.empty()) made_for.settings["rewrite"] = ToString(model.rewrites);
  for (const auto& [input, number] : model.constants) {
    made_for.settings[std::string(kConstantSetting) + input] = ConstantText(number);
  }
  const std::string constraints = ConstraintsText(*model.graph, machine.platform(), options.constraints);
  if (!constraints.empty()) made_for.settings["constraints"] = constraints;
  return made_for;
}

bool AllMeasured(const Graph& graph, const Platform& platform, const Plan& plan, const CostModel& costs) {
  return std::ranges::all_of(plan.steps, [&](const Step& step) {
    const std::optional<Estimate> cost = CostOfStep(graph, platform, plan, step, costs);
    return cost && cost->provenance != Provenance::kEstimated;
  });
}

// What each device would take alone: what a plan is worth is said against the best of them. One that cannot run the
// model, or may not under the constraints, has no plan. made: the plan of the device that the problem names, or null.
std::vector<Plan> SingleDevices(PlanningProblem problem, const Plan* made = nullptr) {
  std::vector<Plan> found;
  const Result<const Planner*> single = FindPlanner("single");
  const std::string_view named = problem.argument;
  for (const Device& device : problem.platform.devices) {
    if (made != nullptr && device.name == named) {
      found.push_back(*made);
      continue;
    }
    problem.argument = device.name;
    Result<Plan> alone = single.ok() ? (*single)->make_plan(problem, nullptr) : single.error();
    if (!alone.ok()) continue;
    alone->planner = "single:" + device.name;
    found.push_back(*std::move(alone));
  }
  return found;
}

PlanningProblem ProblemOf(const Model& model, const Machine& machine, const CostModel& costs,
                          const PlanOptions& options) {
  const std::string_view name = options.planner;
  const size_t colon = name.find(':');
  return {*model.graph,
          machine.platform(),
          model.candidates,
          costs,
          options.constraints,
          options.effort,
          options.seed,
          colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1),
          options.time_limit.count()};
}

void SetGap(Plan& plan) {
  plan.report.gap = 0;
  if (plan.lower_bound_ns <= 0) return;
  plan.report.gap = static_cast<double>(plan.makespan.ns) / static_cast<double>(plan.lower_bound_ns) - 1;
}

void SetBound(Bound bound, Plan& plan) {
  plan.lower_bound_ns = bound.ns;
  if (bound.ns > 0) plan.report.tight_bound = std::move(bound.name);
  SetGap(plan);
}

// The plan of one device in the place of a split whose gain is not sure: a plan of more parts has more to go wrong.
void DeclineSplit(const PlanningProblem& problem, const Plan& single, Explanations* explanations, Plan& plan) {
  if (explanations != nullptr) {
    PlanningProblem alone = problem;
    const std::string device = single.planner.substr(single.planner.find(':') + 1);
    alone.argument = device;
    *explanations = {};
    (void)FindPlanner("single").value()->make_plan(alone, explanations);
  }
  plan = single;
}

// A planner's plan must do here what a plan from a file must.
Status CheckLegal(const Graph& graph, const Machine& machine, const Plan& plan) {
  const Status legal = StatusOf(JudgePlan(graph, machine.platform(), machine.libraries(), plan));
  if (legal.ok()) return {};
  return MakeError(ErrorCode::kInternal, "engine.illegal_plan",
                   "planner " + plan.planner + " made a plan that cannot run: " + legal.error().message);
}

}  // namespace

Status NameReorderLibraries(const Graph& graph, const Machine& machine, Plan& plan) {
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    Reorder* reorder = std::get_if<Reorder>(&plan.steps[s].work);
    if (reorder == nullptr || !reorder->library.empty()) continue;
    const Instance& from = plan.instances[reorder->from.index()];
    const Instance& to = plan.instances[reorder->to.index()];
    const std::vector<int64_t> dims = graph.value(from.value).type.static_dims().value_or(std::vector<int64_t>());
    const UnitClassId unit_class = machine.platform().unit(plan.steps[s].unit).unit_class;
    const Library* library = ReorderLibrary(machine, unit_class, dims, from.form, to.form);
    if (library == nullptr) {
      return MakeError(ErrorCode::kInfeasible, "engine.reorder",
                       "step " + std::to_string(s) + " reorders from " + ToString(from.form.layout) + " to " +
                           ToString(to.form.layout) + ", which no library can do");
    }
    reorder->library = library->name();
  }
  return {};
}

void FillMadeFor(const Graph& graph, const Machine& machine, Plan& plan) {
  plan.made_for = MadeForOf(graph, machine, plan);
  plan.made_for.graph_hash = ToHex(GraphHash(graph));
}

ProfileSummary SummaryOf(const Profile& profile) {
  ProfileSummary summary;
  std::string text;
  for (const auto& [hash, measurement] : profile.measurements) {
    text += ToHex(hash) + " " + std::to_string(measurement.median_ns) + "\n";
    summary.samples += measurement.samples;
  }
  summary.hash = ToHex(HashText(text));
  return summary;
}

Status PredictPlan(const Model& model, const Platform& platform, const CostModel& costs, Plan& plan) {
  PT_ASSIGN(const Timeline timeline, SimulatePlan(*model.graph, platform, plan, costs));
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    plan.steps[s].expected_start_ns = timeline.start_ns[s];
    plan.steps[s].expected_ns = timeline.end_ns[s] - timeline.start_ns[s];
  }
  plan.makespan.ns = timeline.makespan_ns;
  plan.complete = AllMeasured(*model.graph, platform, plan, costs);
  plan.report.critical_path = timeline.critical_path;
  plan.report.busy.clear();
  for (size_t u = 0; u < platform.units.size() && timeline.makespan_ns > 0; ++u) {
    plan.report.busy[platform.units[u].name] =
        static_cast<double>(timeline.busy_ns[u]) / static_cast<double>(timeline.makespan_ns);
  }
  SetGap(plan);
  return {};
}

void CompareAnew(const Model& model, const Machine& machine, const CostModel& costs, const PlanOptions& options,
                 Plan& plan) {
  const PlanningProblem problem = ProblemOf(model, machine, costs, options);
  std::erase_if(plan.report.baselines_ns, [](const auto& row) { return row.first.starts_with("single:"); });
  for (const Plan& single : SingleDevices(problem)) plan.report.baselines_ns[single.planner] = single.makespan.ns;
  Bound bound = BestBound(problem);
  SetBound(std::move(bound), plan);
}

Result<Plan> PlanWith(const Model& model, const Machine& machine, const CostModel& costs, const ProfileSummary& profile,
                      const PlanOptions& options, Explanations* explanations, PlanningNotes* notes) {
  const Platform& platform = machine.platform();
  PT_ASSIGN(const Planner* planner, FindPlanner(options.planner));
  PlanningProblem problem = ProblemOf(model, machine, costs, options);
  Bound bound = BestBound(problem);
  problem.bound_ns = bound.ns;
  const auto start = std::chrono::steady_clock::now();
  PT_ASSIGN(Plan plan, planner->make_plan(problem, explanations));
  PlanningNotes found;
  found.search_time = std::chrono::steady_clock::now() - start;
  plan.planner = options.planner;
  std::map<std::string, int64_t> baselines;
  const std::vector<Plan> singles = SingleDevices(problem, planner->name == "single" ? &plan : nullptr);
  for (const Plan& single : singles) baselines[single.planner] = single.makespan.ns;
  if (planner->name == "search" && !singles.empty()) {
    const Plan& best = *std::min_element(singles.begin(), singles.end(),
                                         [](const Plan& a, const Plan& b) { return a.makespan.ns < b.makespan.ns; });
    found.gain = GainOver(*model.graph, platform, costs, plan, best);
    found.split_declined = options.margin == SplitMargin::kUncertainty && !found.gain->is_sure();
    if (found.split_declined) {
      baselines[plan.planner] = plan.makespan.ns;
      DeclineSplit(problem, best, explanations, plan);
    }
  }
  if (notes != nullptr) *notes = found;
  PT_CHECK_OK(NameReorderLibraries(*model.graph, machine, plan));
  PT_CHECK_OK(machine.CheckPlugins());
  SetBound(std::move(bound), plan);
  // As the one timeline sees it, whatever the planner reckoned with.
  PT_CHECK_OK(PredictPlan(model, platform, costs, plan));
  plan.report.baselines_ns = std::move(baselines);
  plan.made_for = MadeForOf(model, machine, plan, profile, options);
  PT_CHECK_OK(CheckLegal(*model.graph, machine, plan));
  return plan;
}

Result<DispatchPlan> DispatchPlanWith(const Model& model, const Machine& machine, const CostModel& costs,
                                      const ProfileSummary& profile, const PlanOptions& options) {
  PT_ASSIGN(const DispatchRule rule, DispatchRuleNamed(options.planner));
  PlanningProblem problem{*model.graph, machine.platform(), model.candidates, costs, options.constraints};
  problem.time_limit_ns = options.time_limit.count();
  PT_ASSIGN(DispatchPlan dispatch, MakeDispatchPlan(problem, rule));
  Plan& plan = dispatch.plan;
  plan.planner = options.planner;
  PT_CHECK_OK(NameReorderLibraries(*model.graph, machine, plan));
  PT_CHECK_OK(machine.CheckPlugins());
  plan.complete = AllMeasured(*model.graph, machine.platform(), plan, costs);
  plan.made_for = MadeForOf(model, machine, plan, profile, options);
  return dispatch;
}

}  // namespace pt
