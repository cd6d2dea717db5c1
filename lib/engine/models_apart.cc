#include "lib/engine/models_apart.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "lib/engine/predict_plan.h"
#include "partitiontuner/cost/costs_over.h"
#include "partitiontuner/graph/disjoint_union.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/planner/planner.h"

namespace pt {
namespace {

// The nodes that the model's outputs need, ascending.
std::vector<NodeId> NodesOfModel(const Graph& graph, const std::string& model) {
  std::vector<bool> needed(graph.values().size(), false), its(graph.nodes().size(), false);
  for (const ValueId output : graph.outputs()) {
    if (graph.value(output).name.starts_with(model + kModelSeparator)) needed[output.index()] = true;
  }
  std::vector<NodeId> nodes;
  for (size_t n = its.size(); n-- > 0;) {  // topological: readers come first this way
    const Node& node = graph.nodes()[n];
    const bool used = std::ranges::any_of(node.outputs, [&](ValueId v) { return v.valid() && needed[v.index()]; });
    if (!used) continue;
    nodes.push_back(NodeId(n));
    for (const ValueId input : node.inputs) {
      if (input.valid()) needed[input.index()] = true;
    }
  }
  std::ranges::reverse(nodes);
  return nodes;
}

// Of the joined graph no more than leads to the model's outputs.
Result<Graph> GraphOfModel(const Graph& graph, const std::string& model) {
  GraphBuilder builder(graph);
  for (size_t place = graph.outputs().size(); place-- > 0;) {
    if (!graph.value(graph.outputs()[place]).name.starts_with(model + kModelSeparator)) builder.DropOutput(place);
  }
  return builder.Build(/*keep_dead=*/false);
}

// Costs of a part of a graph by those of the whole: a run of all models touches all of their weights before it comes
// to the same step again, whoever runs first.
class CostsOfPart : public CostsOver {
 public:
  CostsOfPart(const CostModel& whole, const std::vector<NodeId>& nodes) : CostsOver(whole), nodes_(nodes) {}

  StepCost OfStep(const Candidate& candidate) const override { return under().OfStep(InWhole(candidate)); }
  double Slowdown(const Candidate& candidate, std::span<const Candidate* const> beside) const override {
    std::vector<Candidate> in_whole;
    for (const Candidate* other : beside) in_whole.push_back(InWhole(*other));
    std::vector<const Candidate*> others;
    for (const Candidate& other : in_whole) others.push_back(&other);
    return under().Slowdown(InWhole(candidate), others);
  }

 private:
  Candidate InWhole(Candidate candidate) const {
    for (NodeId& node : candidate.nodes) node = nodes_[node.index()];
    return candidate;
  }

  const std::vector<NodeId>& nodes_;  // by node of the part: which of the whole it is
};

// One of the joined models, as planners see it.
struct ModelAlone {
  Graph graph;
  std::vector<NodeId> nodes;  // of the whole
  std::vector<Candidate> candidates;
};

Result<ModelAlone> Alone(const Model& joined, const std::string& model) {
  ModelAlone alone;
  alone.nodes = NodesOfModel(*joined.graph, model);
  PT_ASSIGN(alone.graph, GraphOfModel(*joined.graph, model));
  if (alone.graph.nodes().size() != alone.nodes.size()) {
    return MakeError(ErrorCode::kInternal, "models_apart.nodes", "the part of model " + model + " has other nodes");
  }
  std::vector<NodeId> in_part(joined.graph->nodes().size());
  for (size_t n = 0; n < alone.nodes.size(); ++n) in_part[alone.nodes[n].index()] = NodeId(n);
  for (Candidate candidate : joined.candidates) {
    for (NodeId& node : candidate.nodes) node = in_part[node.index()];
    if (std::ranges::all_of(candidate.nodes, &NodeId::valid)) alone.candidates.push_back(std::move(candidate));
  }
  return alone;
}

// The units that remain of the platform with that many of its cores, and with its devices beside the host or without.
// Ids of everything else stay.
Platform ShareOf(Platform platform, size_t cores, bool devices) {
  std::vector<bool> kept(platform.resources.size(), true);
  std::optional<ResourceId> first;
  for (size_t r = 0; r < kept.size(); ++r) {
    if (!platform.resources[r].core) continue;
    kept[r] = cores > 0;
    if (cores > 0) --cores;
    if (kept[r] && !first) first = ResourceId(r);
  }
  std::erase_if(platform.units, [&](const Unit& unit) {
    const bool on_host = platform.unit_class(unit.unit_class).on_host() && !unit.link;
    if (!on_host && !devices) return true;
    return std::ranges::any_of(unit.uses, [&](const auto& use) { return !kept[use.first.index()]; });
  });
  for (Unit& unit : platform.units) {
    if (unit.driver && !kept[unit.driver->index()]) unit.driver = first;
  }
  return platform;
}

bool HasDevices(const Platform& platform) {
  return std::ranges::any_of(platform.units, [&](const Unit& unit) {
    return !platform.unit_class(unit.unit_class).on_host() || unit.link.has_value();
  });
}

// The makespan of the best plan; nothing where there is none.
Result<std::optional<int64_t>> MakespanOf(const ModelAlone& alone, const Platform& platform, const CostModel& whole,
                                          const PlanOptions& options) {
  const CostsOfPart costs(whole, alone.nodes);
  std::vector<Candidate> candidates;
  for (const Candidate& candidate : alone.candidates) {
    const bool somewhere =
        std::ranges::any_of(platform.units, [&](const Unit& unit) { return unit.unit_class == candidate.unit_class; });
    if (somewhere) candidates.push_back(candidate);
  }
  PT_ASSIGN(const Planner* planner, FindPlanner("search"));
  const PlanningProblem problem{.graph = alone.graph,
                                .platform = platform,
                                .candidates = candidates,
                                .costs = costs,
                                .effort = options.effort,
                                .seed = options.seed,
                                .time_limit_ns = options.time_limit.count()};
  Result<Plan> plan = planner->make_plan(problem, nullptr);
  if (!plan.ok() && plan.error().code == ErrorCode::kInfeasible) return std::optional<int64_t>();
  if (!plan.ok()) return std::move(plan).error();
  PT_CHECK_OK(PredictPlan(alone.graph, platform, costs, *plan));
  return std::optional(plan->makespan.ns);
}

using Makespans = std::vector<std::optional<int64_t>>;  // by model

Result<Makespans> MakespansOn(const Platform& platform, const std::vector<ModelAlone>& models, const CostModel& costs,
                              const PlanOptions& options) {
  Makespans makespans;
  for (const ModelAlone& alone : models) {
    PT_ASSIGN(const std::optional<int64_t> ns, MakespanOf(alone, platform, costs, options));
    makespans.push_back(ns);
  }
  return makespans;
}

// All at once, where `owner` has the devices and the others have none.
std::optional<int64_t> LongestOf(const Makespans& with, const Makespans& without, size_t owner) {
  int64_t longest = 0;
  for (size_t m = 0; m < with.size(); ++m) {
    const std::optional<int64_t>& ns = m == owner ? with[m] : without[m];
    if (!ns) return std::nullopt;
    longest = std::max(longest, *ns);
  }
  return longest;
}

}  // namespace

Result<std::map<std::string, int64_t>> PredictModelsApart(const Model& model, const Machine& machine,
                                                          const CostModel& costs, const PlanOptions& options) {
  const Platform& platform = machine.platform();
  std::vector<ModelAlone> models;
  for (const NamedModel& one : model.models) {
    PT_ASSIGN(ModelAlone alone, Alone(model, one.name));
    models.push_back(std::move(alone));
  }
  std::map<std::string, int64_t> baselines;
  PT_ASSIGN(const Makespans alone, MakespansOn(platform, models, costs, options));
  if (std::ranges::all_of(alone, &std::optional<int64_t>::has_value)) {
    for (const std::optional<int64_t>& ns : alone) baselines["in-turns"] += *ns;
  }
  const auto cores = static_cast<size_t>(
      std::ranges::count_if(platform.resources, [](const Resource& resource) { return resource.core.has_value(); }));
  const size_t share = models.empty() ? 0 : cores / models.size();
  if (share == 0) return baselines;
  PT_ASSIGN(const Makespans without, MakespansOn(ShareOf(platform, share, false), models, costs, options));
  Makespans with = without;
  if (HasDevices(platform)) {
    PT_ASSIGN(with, MakespansOn(ShareOf(platform, share, true), models, costs, options));
  }
  std::optional<int64_t> best;
  for (size_t owner = 0; owner < models.size(); ++owner) {
    const std::optional<int64_t> ns = LongestOf(with, without, owner);
    if (ns) best = std::min(best.value_or(*ns), *ns);
  }
  if (best) baselines["side-by-side"] = *best;
  return baselines;
}

}  // namespace pt
