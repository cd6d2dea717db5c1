// pt-plan --workload: plans a graph given as data, with its machine, instead of a model on one.
#include "partitiontuner/planner/workload.h"

#include <chrono>
#include <map>
#include <utility>

#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/planner/planner_names.h"
#include "partitiontuner/support/file.h"
#include "partitiontuner/version.h"
#include "tools/common/planning_progress.h"
#include "tools/common/text.h"
#include "tools/pt-plan/comparison.h"

namespace pt::tools {
namespace {

Result<Workload> LoadWorkload(const std::string& path) {
  const Limits limits;
  PT_ASSIGN(const std::string text, ReadFile(path, limits.plan_bytes));
  PT_ASSIGN(const Json json, ParseJson(text, path, limits));
  return WorkloadFromJson(json, path, limits);
}

// By its name with argument, as `problem` says otherwise.
Result<Plan> PlanNamed(PlanningProblem problem, const std::string& name, double& search_ms) {
  PT_ASSIGN(const Planner* planner, FindPlanner(name));
  const size_t colon = name.find(':');
  if (colon != std::string::npos) problem.argument = std::string_view(name).substr(colon + 1);
  const auto start = std::chrono::steady_clock::now();
  PT_ASSIGN(Plan plan, planner->make_plan(problem, nullptr));
  search_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  plan.planner = name;
  return plan;
}

// What the plan says of itself; there is no model that it could be run with.
void Finish(const PlanningProblem& problem, const Bound& bound, Plan& plan) {
  plan.lower_bound_ns = bound.ns;
  if (bound.ns > 0) {
    plan.report.tight_bound = bound.name;
    plan.report.gap = static_cast<double>(plan.makespan.ns) / static_cast<double>(bound.ns) - 1;
  }
  plan.made_for.tool_version = kVersion;
  plan.made_for.graph_hash = ToHex(GraphHash(problem.graph));
  plan.made_for.platform = problem.platform;
  plan.made_for.settings = {
      {"objective", "latency"}, {"seed", std::to_string(problem.seed)}, {"effort", std::to_string(problem.effort)}};
}

std::string HeadText(const std::string& path, const Workload& workload) {
  const Constraints& constraints = workload.constraints;
  std::string text = path + ": " + std::to_string(workload.graph.nodes().size()) + " operators" +
                     (workload.is_training ? ", some of them backward," : "") + " on " +
                     std::to_string(SingleCoreUnits(workload.platform).size()) + " cores and " +
                     std::to_string(constraints.resident_caps.size()) + " accelerators";
  if (!constraints.resident_caps.empty()) text += " of " + ShortBytes(constraints.resident_caps.begin()->second);
  if (!constraints.together.empty()) {
    text += ", " + std::to_string(constraints.together.size()) + " classes that share a device";
  }
  return text + "; planned for latency\n";
}

// Bytes that stay on each accelerator.
std::map<DeviceId, uint64_t> ResidentOf(const Workload& workload, const Plan& plan) {
  std::map<DeviceId, uint64_t> resident;
  for (const Step& step : plan.steps) {
    const auto* run = std::get_if<RunGroup>(&step.work);
    if (run == nullptr) continue;
    const DeviceId device = workload.platform.device_of(step.unit);
    if (IsHost(device)) continue;
    for (const NodeId node : plan.candidates[run->candidate.index()].nodes) {
      resident[device] += workload.constraints.resident_bytes[node.index()];
    }
  }
  return resident;
}

std::string PlanText(const Workload& workload, const Plan& plan) {
  size_t copies = 0;
  for (const Step& step : plan.steps) copies += std::holds_alternative<Copy>(step.work);
  std::string text = " planner " + plan.planner + ": predicted " + ShortTime(plan.makespan.ns) + ", " +
                     Percent(plan.report.gap) + " over the bound of " + ShortTime(plan.lower_bound_ns) + " (" +
                     plan.report.tight_bound + "); " + std::to_string(plan.steps.size()) + " steps (" +
                     std::to_string(copies) + " copies), stopped by " + plan.report.stopped_by + "\n";
  for (const auto& [device, bytes] : ResidentOf(workload, plan)) {
    const std::string& name = workload.platform.device(device).name;
    text +=
        " " + name + ": busy " + Percent(plan.report.busy.at(name + "#0"), 0) + ", keeps " + ShortBytes(bytes) + "\n";
  }
  return text;
}

Json PlanJson(const Workload& workload, const Plan& plan) {
  Json resident = Json::MakeObject(), busy = Json::MakeObject();
  for (const auto& [device, bytes] : ResidentOf(workload, plan))
    resident.Set(workload.platform.device(device).name, bytes);
  for (const auto& [unit, share] : plan.report.busy) busy.Set(unit, share);
  Json json = Json::MakeObject();
  json.Set("planner", plan.planner);
  json.Set("makespan_ns", plan.makespan.ns);
  json.Set("bound_ns", plan.lower_bound_ns);
  json.Set("bound", plan.report.tight_bound);
  json.Set("gap", plan.report.gap);
  json.Set("steps", static_cast<int64_t>(plan.steps.size()));
  json.Set("stopped_by", plan.report.stopped_by);
  json.Set("resident_bytes", std::move(resident));
  json.Set("busy", std::move(busy));
  return json;
}

Json WithHead(const std::string& path, Json rest) {
  Json json = Json::MakeObject();
  json.Set("workload", path);
  json.Set("objective", "latency");
  for (const auto& [key, value] : *rest.as_object()) json.Set(key, value);
  return json;
}

}  // namespace

Result<int> PlanWorkload(const PlanFlags& flags, Console& console) {
  PT_ASSIGN(Workload workload, LoadWorkload(flags.workload));
  PT_CHECK_OK(AddConstraints(flags, workload.graph, workload.platform, workload.constraints));
  PlanningProblem problem = workload.problem();
  problem.effort = flags.effort;
  problem.seed = flags.seed;
  if (!flags.time_limit.empty()) {
    PT_ASSIGN(const std::chrono::nanoseconds limit, ParseDuration(flags.time_limit, "--time-limit"));
    problem.time_limit_ns = limit.count();
  }
  const Bound bound = BestBound(problem);
  problem.bound_ns = bound.ns;
  const auto plan_by = [&](const std::string& planner, PlanningWatch& watch, double& search_ms) -> Result<Plan> {
    problem.watch = &watch;
    PT_ASSIGN(Plan plan, PlanNamed(problem, planner, search_ms));
    Finish(problem, bound, plan);
    return plan;
  };
  std::string text = HeadText(flags.workload, workload);
  Json json;
  PlannerComparison comparison;
  int exit_code = 0;
  if (flags.baselines) {
    PT_ASSIGN(comparison, ComparePlanners(PlannerNames(workload.platform, flags.seed), bound, plan_by, console, flags));
    exit_code = ExitCodeForPlans(comparison.interrupted, flags, console);
    text += ComparisonText(comparison);
    json = ComparisonJson(comparison);
  } else {
    std::optional<PlanningProgress> progress;
    progress.emplace(console, flags.interrupt);
    PT_ASSIGN(Plan plan, plan_by(flags.planner, progress->watch(), comparison.planners.emplace_back().search_ms));
    progress.reset();
    exit_code = ExitCodeFor(plan, flags, console);
    text += PlanText(workload, plan);
    json = PlanJson(workload, plan);
    comparison.planners.back().planner = flags.planner;
    comparison.planners.back().plan = std::move(plan);
  }
  PT_CHECK_OK(WriteFiles(comparison, workload.graph, workload.platform, flags));
  if (flags.output == "-") {
    console.Note(text.substr(0, text.size() - 1));  // standard output holds the plan
    return exit_code;
  }
  PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(WithHead(flags.workload, std::move(json))) + "\n" : text));
  return exit_code;
}

}  // namespace pt::tools
