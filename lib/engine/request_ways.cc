#include "lib/engine/request_ways.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lib/engine/make_plan.h"
#include "lib/engine/plan_comparison.h"
#include "partitiontuner/planner/planning_watch.h"

namespace pt {
namespace {

std::set<ResourceId> HostCoresOf(const Platform& platform, const Plan& plan) {
  std::set<ResourceId> cores;
  for (const Step& step : plan.steps) {
    const Unit& unit = platform.unit(step.unit);
    if (unit.driver) cores.insert(*unit.driver);
    for (const auto& [resource, share] : unit.uses) {
      if (platform.resources[resource.index()].core) cores.insert(resource);
    }
  }
  return cores;
}

// As sessions allow it, as far as a plan tells: kernels of plugins may bring threads, whose runs have one way only.
bool MayRunAlone(const PlanningContext& context, const Plan& plan) {
  const Platform& platform = context.machine.platform();
  std::set<std::string> of_plugins;
  for (const PluginReport& plugin : context.machine.plugins()) {
    of_plugins.insert(plugin.libraries.begin(), plugin.libraries.end());
  }
  return std::ranges::all_of(plan.steps, [&](const Step& step) {
    const auto* const run = std::get_if<RunGroup>(&step.work);
    const bool by_plugin = run != nullptr && of_plugins.contains(plan.candidates[run->candidate.index()].library);
    return IsHost(platform.device_of(step.unit)) && !by_plugin;
  });
}

// The model's candidates for one core of the host, by their nodes.
class NarrowKernels {
 public:
  explicit NarrowKernels(const PlanningContext& context) : context_(context) {
    for (const Candidate& candidate : context.model.candidates) {
      const UnitClass& unit_class = context.machine.platform().unit_class(candidate.unit_class);
      if (unit_class.on_host() && unit_class.cores == 1) by_nodes_[candidate.nodes].push_back(&candidate);
    }
  }

  // What the same kernel takes on one core; nothing where there is none or it is not known.
  std::optional<int64_t> TimeOf(const Candidate& wide) const {
    const auto found = by_nodes_.find(wide.nodes);
    if (found == by_nodes_.end()) return std::nullopt;
    Candidate wanted = wide;
    for (const Candidate* const narrow : found->second) {
      wanted.unit_class = narrow->unit_class;
      if (!IsSameKernel(*narrow, wanted)) continue;
      const StepCost cost = context_.costs.OfStep(*narrow);
      return cost.run ? std::optional(cost.overhead.ns + cost.run->ns) : std::nullopt;
    }
    return std::nullopt;
  }

 private:
  const PlanningContext& context_;
  std::map<std::vector<NodeId>, std::vector<const Candidate*>> by_nodes_;
};

int64_t AloneStepNs(const Platform& platform, const NarrowKernels& kernels, const Plan& plan, const Step& step) {
  const uint32_t cores = platform.unit_class(platform.unit(step.unit).unit_class).cores;
  if (cores <= 1 || step.expected_ns <= 0) return step.expected_ns;
  const auto* const run = std::get_if<RunGroup>(&step.work);
  const std::optional<int64_t> on_one =
      run == nullptr ? std::nullopt : kernels.TimeOf(plan.candidates[run->candidate.index()]);
  return on_one.value_or(step.expected_ns * cores);
}

std::vector<RequestWay> WaysOf(const PlanningContext& context, const std::string& planner, const Plan& plan) {
  const Platform& platform = context.machine.platform();
  const std::set<ResourceId> cores = HostCoresOf(platform, plan);
  const auto in_flight = std::max(2U, static_cast<uint32_t>(cores.size()));
  std::vector<RequestWay> ways;
  const std::string name = plan.planner == planner ? planner : planner + " (" + plan.planner + ")";
  ways.push_back({name + ", by all units in turns",
                  plan,
                  {AloneRuns::kNever, in_flight},
                  {RunTimesOf(plan.makespan), 1, HeadwayOf(platform, plan)}});
  if (cores.size() > 1 && MayRunAlone(context, plan)) {
    ways.push_back({name + ", one a core",
                    plan,
                    {AloneRuns::kAlways, in_flight},
                    {RunTimesOf(AloneTimeOf(context, plan)), static_cast<uint32_t>(cores.size()), 1}});
  }
  return ways;
}

// The plan that keeps to one core of the host.
Result<Plan> PlanForOneCore(const PlanningContext& context) {
  const Platform& platform = context.machine.platform();
  Model narrow = context.model;
  std::erase_if(narrow.candidates, [&](const Candidate& candidate) {
    const UnitClass& unit_class = platform.unit_class(candidate.unit_class);
    return !unit_class.on_host() || unit_class.cores != 1;
  });
  PlanOptions options = context.options;
  options.planner = "single:" + platform.device(kHostDevice).name;
  return MakeModelPlan(narrow, context.machine, context.costs, context.profile, options, nullptr, nullptr);
}

// On any core of the host, as many as there are.
RequestWay OneCoreWay(const PlanningContext& context, const Plan& plan) {
  const auto& resources = context.machine.platform().resources;
  const auto cores = static_cast<uint32_t>(
      std::ranges::count_if(resources, [](const Resource& resource) { return resource.core.has_value(); }));
  return {plan.planner + " for one core, one a core",
          plan,
          {AloneRuns::kAnyCore, std::max(2U, cores)},
          {RunTimesOf(plan.makespan), cores, 1}};
}

}  // namespace

Estimate AloneTimeOf(const PlanningContext& context, const Plan& plan) {
  Estimate alone = plan.makespan;
  alone.ns = 0;
  const NarrowKernels kernels(context);
  for (const Step& step : plan.steps) alone.ns += AloneStepNs(context.machine.platform(), kernels, plan, step);
  const double longer = static_cast<double>(alone.ns) / static_cast<double>(std::max<int64_t>(1, plan.makespan.ns));
  alone.spread_ns = static_cast<int64_t>(longer * static_cast<double>(plan.makespan.spread_ns));
  return alone;
}

Result<std::vector<RequestWay>> RequestWaysFor(const PlanningContext& context) {
  std::vector<std::string> planners = {context.options.planner};
  for (const Device& device : context.machine.platform().devices) {
    if (const std::string single = "single:" + device.name; single != planners.front()) planners.push_back(single);
  }
  std::vector<RequestWay> ways;
  std::set<std::string> seen;
  for (const std::string& planner : planners) {
    if (!ways.empty() && IsInterrupted(context.options.watch)) break;
    PlanOptions options = context.options;
    options.planner = planner;
    Result<Plan> plan =
        MakeModelPlan(context.model, context.machine, context.costs, context.profile, options, nullptr, nullptr);
    if (!plan.ok() && (ways.empty() || plan.error().code == ErrorCode::kInternal)) return std::move(plan).error();
    if (!plan.ok() || !seen.insert(WorkOf(*plan, *context.model.graph)).second) continue;
    for (RequestWay& way : WaysOf(context, planner, *plan)) ways.push_back(std::move(way));
  }
  if (IsInterrupted(context.options.watch)) return ways;
  const Result<Plan> narrow = PlanForOneCore(context);
  if (!narrow.ok() && narrow.error().code == ErrorCode::kInternal) return narrow.error();
  if (narrow.ok() && MayRunAlone(context, *narrow)) ways.push_back(OneCoreWay(context, *narrow));
  return ways;
}

}  // namespace pt
