#include "partitiontuner/engine/critical_splits.h"

#include <algorithm>
#include <set>

#include "partitiontuner/graph/find_nodes.h"

namespace pt {
namespace {

// What of the critical path can be split, the longest step first.
struct Splittable {
  NodeId node;
  SplitAxis axis;
  int64_t step_ns = 0;
};

std::vector<Splittable> OnCriticalPath(const Graph& graph, const Plan& plan, uint32_t parts) {
  std::vector<Splittable> found;
  for (const StepId id : plan.report.critical_path) {
    const Step& step = plan.steps[id.index()];
    const auto* group = std::get_if<RunGroup>(&step.work);
    if (group == nullptr) continue;
    for (const NodeId node : plan.candidates[group->candidate.index()].nodes) {
      for (const SplitAxis axis : {SplitAxis::kChannels, SplitAxis::kRows}) {
        if (SplitFault(graph, node, parts, axis).empty()) found.push_back({node, axis, step.expected_ns});
      }
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Splittable& a, const Splittable& b) { return a.step_ns > b.step_ns; });
  return found;
}

// A pattern that means this node and no other: the name of its result where that is one, else its index.
std::string PatternOf(const Graph& graph, NodeId node) {
  const std::string& name = graph.value(graph.node(node).outputs[0]).name;
  const bool plain = !name.empty() && name.find_first_of("*?[]\\,: ") == std::string::npos;
  if (plain && FindNodes(graph, name) == std::vector{node}) return name;
  return std::to_string(node.index());
}

Status CheckOptions(const Model& model, const PlanOptions& planning, const SplitOptions& options) {
  const auto usage = [](const std::string& what) {
    return MakeError(ErrorCode::kUsage, "splits.options", "operators on the critical path are not split " + what);
  };
  const Constraints& constraints = planning.constraints;
  if (!constraints.pin.empty() || !constraints.forbid.empty() || !constraints.in_fp32.empty() ||
      !constraints.lent_on.empty() || !constraints.together.empty() || !constraints.resident_bytes.empty()) {
    return usage("under constraints on nodes or values: a rewritten graph numbers them anew");
  }
  if (!model.rewrites.may_split_more()) return usage("beside time slices and requests");
  if (planning.profile != nullptr) return usage("by a profile file: it knows nothing of the parts");
  if (options.parts < 2 || options.parts > kMostParts) {
    return usage("into " + std::to_string(options.parts) + " parts; expected 2 to " + std::to_string(kMostParts));
  }
  return {};
}

class CriticalSplits {
 public:
  CriticalSplits(Engine& engine, const PlanOptions& planning, const SplitOptions& options)
      : engine_(engine), planning_(planning), options_(options) {}

  Result<SplitPlan> Run(std::shared_ptr<const Model> model) {
    best_.model = std::move(model);
    PT_ASSIGN(best_.plan, engine_.MakePlan(*best_.model, planning_, nullptr, &best_.notes));
    while (best_.trials.size() < options_.trials) {
      const std::optional<Splittable> next = Next();
      if (!next || IsInterrupted(planning_.watch)) break;
      PT_CHECK_OK(Try(*next));
    }
    if (IsInterrupted(planning_.watch)) best_.plan.report.stopped_by = "interrupted";
    return std::move(best_);
  }

 private:
  // By what the file calls it and not by node: a kept split numbers nodes anew. Equal parts of one operator count once.
  std::string IdentityOf(const Splittable& splittable) const {
    const Graph& graph = *best_.model->graph;
    const Node& node = graph.node(splittable.node);
    std::string text = node.op + ToString(graph.value(node.outputs[0]).type);
    for (const Source& source : node.source) {
      text += " " + source.subgraph + "#" + std::to_string(source.index) + source.first_output;
    }
    return text + (splittable.axis == SplitAxis::kRows ? " rows" : " channels");
  }

  std::optional<Splittable> Next() const {
    for (const Splittable& found : OnCriticalPath(*best_.model->graph, best_.plan, options_.parts)) {
      if (!tried_.contains(IdentityOf(found))) return found;
    }
    return std::nullopt;
  }

  Status Try(const Splittable& splittable) {
    const Graph& graph = *best_.model->graph;
    tried_.insert(IdentityOf(splittable));
    SplitTrial trial{{PatternOf(graph, splittable.node), options_.parts, splittable.axis},
                     NodeLabel(graph, splittable.node),
                     best_.plan.makespan.ns};
    PT_ASSIGN(std::shared_ptr<const Model> model, engine_.Split(*best_.model, trial.split));
    if (planning_.watch != nullptr) planning_.watch->StartMeasuring();
    PT_ASSIGN(const MeasureReport measured, engine_.MeasureModel(*model, options_.measure, {}));
    if (measured.interrupted && IsInterrupted(planning_.watch)) return {};  // the best plan so far is wanted
    if (measured.interrupted) {
      return MakeError(ErrorCode::kInterrupted, "splits.stopped", "measuring the parts of operators was stopped",
                       "what was measured is kept; the same command goes on from there");
    }
    PlanningNotes notes;
    Result<Plan> plan = engine_.MakePlan(*model, planning_, nullptr, &notes);
    if (!plan.ok() && IsInterrupted(planning_.watch)) return {};
    if (!plan.ok()) return plan.error();
    trial.makespan_ns = plan->makespan.ns;
    trial.kept =
        static_cast<double>(trial.makespan_ns) < static_cast<double>(trial.before_ns) * (1 - options_.least_gain);
    if (trial.kept) {
      best_.model = std::move(model);
      best_.plan = *std::move(plan);
      best_.notes = notes;
    }
    best_.trials.push_back(std::move(trial));
    return {};
  }

  Engine& engine_;
  const PlanOptions& planning_;
  const SplitOptions& options_;
  SplitPlan best_;
  std::set<std::string> tried_;
};

}  // namespace

Result<SplitPlan> PlanWithSplits(Engine& engine, std::shared_ptr<const Model> model, const PlanOptions& planning,
                                 const SplitOptions& options) {
  PT_CHECK_OK(CheckOptions(*model, planning, options));
  return CriticalSplits(engine, planning, options).Run(std::move(model));
}

}  // namespace pt
