#include "test/testing/generated/graph_check.h"

#include <algorithm>

#include "lib/engine/make_plan.h"
#include "lib/engine/nested_plans.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/cost/table_costs.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/plan/step_text.h"
#include "partitiontuner/profiler/measure.h"
#include "partitiontuner/support/json.h"
#include "partitiontuner/support/random.h"
#include "partitiontuner/transform/passes.h"
#include "partitiontuner/transform/rewrites.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/generated/nesting.h"
#include "test/testing/generated/noise.h"
#include "test/testing/generated/unsizing.h"
#include "test/testing/host_lab.h"
#include "test/testing/planning_world.h"
#include "test/testing/real_machine.h"

namespace pt::testing {
namespace {

PassContext Passing() {
  return {EvaluateNode, [](const Graph& graph) { return InferShapes(graph); }, {}};
}

// At random, and next to nothing for the library that the setting favours.
TableCosts CostsOf(const Setting& setting, const Machine& machine, const std::vector<Candidate>& candidates) {
  TableCosts costs;
  Random random(setting.cost_seed);
  for (const Candidate& candidate : candidates) {
    const int64_t ns = 1000 + static_cast<int64_t>(random.Below(100'000));
    costs.SetRunOf(candidate, candidate.library == setting.favourite ? ns / 500 : ns);
  }
  const int64_t reorder_ns = 10 + static_cast<int64_t>(random.Below(20'000));
  costs.SetReorder([&machine, reorder_ns](std::span<const int64_t> dims, const Form& from, const Form& to,
                                          UnitClassId unit_class) -> std::optional<int64_t> {
    if (ReorderLibrary(machine, unit_class, dims, from, to) == nullptr) return std::nullopt;
    return reorder_ns;
  });
  for (size_t l = 0; l < machine.platform().links.size(); ++l) costs.SetLink(LinkId(l), 10, 1);
  return costs;
}

// The same; an error begins with where it comes from.
template <typename T>
Result<T> At(const char* where, Result<T> result) {
  if (result.ok()) return result;
  Error error = std::move(result).error();
  error.message = std::string(where) + ": " + ToString(error);
  return error;
}

// Planners that are for other models than most, or for smaller ones; runs that decide know no sizes that loops make.
bool IsForOthers(const Error& error) {
  return error.id == "planner.one_request" || error.id == "planner.no_layers" || error.id == "planner.exact" ||
         error.id == "rewrite.time_slices" || error.id == "dispatch.unsized";
}

// One of the nodes that can be in two or three parts; none where there is none.
std::vector<NodeSplit> SplitOf(const Graph& graph, uint64_t seed) {
  Random random(seed);
  const size_t nodes = graph.nodes().size(), first = random.Below(std::max<size_t>(nodes, 1));
  for (size_t i = 0; i < nodes; ++i) {
    const NodeId node((first + i) % nodes);
    const auto parts = static_cast<uint32_t>(2 + random.Below(2));
    const SplitAxis axis = random.Below(2) == 0 ? SplitAxis::kChannels : SplitAxis::kRows;
    if (SplitFault(graph, node, parts, axis).empty()) return {{std::to_string(node.value), parts, axis}};
  }
  return {};
}

// "\n  0 cpu[0] Relu r (#1), onednn jit", one line a step.
std::string StepsText(const Graph& graph, const Platform& platform, const Plan& plan) {
  std::string text;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    text += "\n  " + std::to_string(s) + " " + platform.unit(step.unit).name + " " + WorkLabel(graph, plan, step);
    const std::string library = LibraryLabel(plan, step);
    if (!library.empty()) text += ", " + library;
  }
  return text;
}

// The outputs of a run, twice with the same memory, and whether they differ from one to the next.
Result<std::vector<Tensor>> RunTwice(Session& session, const std::vector<Tensor>& inputs) {
  RunOptions options;
  options.deadline = std::chrono::seconds(120);  // a run that waits for ever is wrong
  PT_ASSIGN(const std::vector<Tensor> first, RunOnce(session, inputs, options));
  PT_ASSIGN(std::vector<Tensor> second, RunOnce(session, inputs, options));
  for (size_t i = 0; i < first.size(); ++i) {
    if (SameBits(first[i], second[i])) continue;
    ExpectedTensor expected;
    expected.tensor = first[i];
    return MakeError(ErrorCode::kInternal, "test.runs_differ",
                     "a second run gives other bits, output " + std::to_string(i) + ": " +
                         CompareTensors(expected, second[i], {}).reason);
  }
  return second;
}

// Every node has a candidate; else why not.
Status CheckAllOffered(const Graph& graph, const Machine& machine, const std::vector<Candidate>& candidates) {
  std::vector<bool> offered(graph.nodes().size());
  for (const Candidate& candidate : candidates) {
    for (const NodeId node : candidate.nodes) offered[node.index()] = true;
  }
  for (size_t n = 0; n < offered.size(); ++n) {
    if (offered[n]) continue;
    std::string why = "no library offers " + NodeLabel(graph, NodeId(n));
    for (const auto& library : machine.libraries()) {
      why += "; " + std::string(library->name()) + ": " + library->WhyUnsupported(graph, NodeId(n)).value_or("can");
    }
    return MakeError(ErrorCode::kUnsupported, "test.not_offered", why);
  }
  return {};
}

}  // namespace

Machine& GraphCheck::MachineOf(const Setting& setting) {
  std::unique_ptr<Machine>& machine = machines_[(setting.cores - 1) * 2 + (setting.device ? 1 : 0)];
  if (machine == nullptr) machine = MakeRealMachine(setting.cores, setting.device);
  return *machine;
}

std::string GraphCheck::WhyWrong(const PreparedCase& prepared, const Setting& setting) {
  for (const Node& node : prepared.drawn.graph.nodes()) tally_.operators.insert(node.op);
  const Status status = Check(prepared, setting);
  if (status.ok()) return "";
  tally_.not_for_the_planner += IsForOthers(status.error());
  return IsForOthers(status.error()) ? "" : status.error().message;
}

Status GraphCheck::Check(const PreparedCase& prepared, const Setting& setting) {
  Graph graph = prepared.drawn.graph;
  if (setting.unsized) {
    PT_ASSIGN(graph, At("unsizing", UnsizeAtRandom(graph, setting.cost_seed)));
    PT_ASSIGN(graph, At("unsized", InferShapes(graph)));
  }
  if (setting.nested) {
    PT_ASSIGN(graph, At("nesting", NestAtRandom(graph, setting.cost_seed)));
    PT_ASSIGN(graph, InferShapes(graph));
  }
  if (setting.simplified) {
    PT_ASSIGN(graph, At("passes", Simplify(std::move(graph), Passing())));
    PT_CHECK_OK(At("passes make what is refused", CheckOperators(graph)));
  }
  if (setting.way == Setting::Way::kCandidates) return CheckCandidates(prepared, setting, graph);
  Rewrites rewrites;
  if (setting.split) rewrites.splits = SplitOf(graph, setting.cost_seed);
  if (setting.planner == "throughput") rewrites.requests = 2;
  if (setting.planner == "rnn-pipeline") rewrites.time_slices = 2;
  if (!rewrites.empty()) {
    PT_ASSIGN(graph, At("rewrite", Rewrite(graph, rewrites)));
  }
  PT_ASSIGN(const std::unique_ptr<Session> session, Open(setting, std::make_shared<const Graph>(std::move(graph))));
  tally_.planners.insert(setting.planner.substr(0, setting.planner.find(':')));
  Status status = CheckRuns(prepared, setting, *session, rewrites.requests);
  if (status.ok()) return status;
  Error error = std::move(status).error();
  error.message += StepsText(session->graph(), session->machine().platform(), *session->plan());
  return error;
}

Status GraphCheck::CheckCandidates(const PreparedCase& prepared, const Setting& setting, const Graph& graph) {
  const std::vector<Tensor>& inputs = prepared.drawn.inputs;
  PT_ASSIGN(const std::vector<Tensor> made, At("passes make what is refused", EvaluateGraph(graph, inputs)));
  ValuesOf values;
  for (size_t v = 0; v < made.size(); ++v) values[ValueId(v)] = made[v];
  CheckedCandidates checked;
  std::string wrong;
  for (const Trials trials : {Trials::kFew, Trials::kMany}) {
    PT_ASSIGN(const std::vector<bool> steady, SteadyValues(graph, inputs, made, setting.math, trials));
    wrong = FirstWrongCandidate(
        graph, values, MachineOf(setting).platform(), Precision({setting.math}),
        [&](ValueId value) { return steady[value.index()]; }, checked);
    if (wrong.empty()) {
      tally_.excused += trials == Trials::kMany;
      break;
    }
  }
  for (const auto& [of, count] : checked) tally_.libraries[of.first] += count;
  if (wrong.empty()) return {};
  return MakeError(ErrorCode::kMismatch, "test.candidate", "candidate: " + wrong);
}

Result<std::unique_ptr<Session>> GraphCheck::Open(const Setting& setting, std::shared_ptr<const Graph> graph) {
  Machine& machine = MachineOf(setting);
  Model model;
  model.graph = graph;
  model.precision = Precision({setting.math});
  model.model_hash = ToHex(ModelHash(*graph));
  model.graph_hash = ToHex(GraphHash(*graph));
  model.candidates = EnumerateCandidates(*graph, machine.platform(), machine.libraries(), model.precision);
  const TableCosts costs = CostsOf(setting, machine, model.candidates);
  PlanOptions options;
  options.planner = setting.planner;
  options.effort = kTestEffort;
  options.seed = setting.cost_seed;
  options.margin = SplitMargin::kNone;
  SessionOptions session_options;
  if (setting.cost_seed % 4 != 0)
    session_options.nested_planner = MakeNestedPlanner(machine, setting.cost_seed % 3 == 0);
  if (setting.way == Setting::Way::kDispatch) {
    PT_ASSIGN(const DispatchPlan dispatch, At("plan", MakeModelDispatchPlan(model, machine, costs, {}, options)));
    return At("session", Session::CreateDispatch(graph, dispatch, machine, session_options));
  }
  PT_CHECK_OK(At("plan", CheckAllOffered(*graph, machine, model.candidates)));
  PT_ASSIGN(const Plan plan, At("plan", MakeModelPlan(model, machine, costs, {}, options, nullptr, nullptr)));
  for (const Candidate& candidate : plan.candidates) ++tally_.libraries[candidate.library];
  PT_ASSIGN(const Json json, At("json", ParseJson(WriteJson(ToJson(plan, *graph)), "plan")));
  PT_ASSIGN(const Plan read, At("json", PlanFromJson(json, "plan")));
  return At("session", Session::Create(graph, read, machine, session_options));
}

Status GraphCheck::CheckRuns(const PreparedCase& prepared, const Setting& setting, Session& session, size_t requests) {
  const DrawnCase& drawn = prepared.drawn;
  std::vector<Tensor> inputs;
  for (size_t r = 0; r < requests; ++r) inputs.insert(inputs.end(), drawn.inputs.begin(), drawn.inputs.end());
  PT_ASSIGN(const std::vector<Tensor> outputs, At("run", RunTwice(session, inputs)));
  const auto steady_by = [&](Trials trials) {
    return SteadyValues(drawn.graph, drawn.inputs, prepared.values, setting.math, trials);
  };
  PT_ASSIGN(std::vector<bool> steady, steady_by(Trials::kFew));
  const size_t count = drawn.graph.outputs().size();
  for (size_t i = 0; i < count * requests; ++i) {
    const ValueId output = drawn.graph.outputs()[i % count];
    if (!steady[output.index()]) continue;
    ExpectedTensor expected;
    expected.tensor = prepared.expected[i % count];
    const Comparison comparison =
        CompareTensors(expected, outputs.at(i), ToleranceBehindSteps(drawn.graph, output, setting.math));
    ++tally_.outputs_compared;
    if (comparison.equal) continue;
    PT_ASSIGN(steady, steady_by(Trials::kMany));
    if (!steady[output.index()]) {
      ++tally_.excused;
      continue;
    }
    return MakeError(ErrorCode::kMismatch, "test.output",
                     "output: " + drawn.graph.value(output).name + " " + comparison.reason);
  }
  return {};
}

}  // namespace pt::testing
