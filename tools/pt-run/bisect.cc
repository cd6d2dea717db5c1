// pt-run MODEL --bisect: the first value beyond its tolerance from the reference library's, and the step that made it.
// One run of each shows all values. Halving would take a run of the reference library a step, and go wrong where a
// fault fades on its way to the outputs.
#include <cmath>

#include "partitiontuner/plan/step_text.h"
#include "tools/common/text.h"
#include "tools/pt-run/first_fault.h"
#include "tools/pt-run/runner.h"

namespace pt::tools {
namespace {

// Names steps, nodes and values.
class FaultNames {
 public:
  FaultNames(const Graph& graph, const Plan& plan, const Platform& platform)
      : graph_(graph), plan_(plan), platform_(platform) {}

  std::string NameOf(ValueId value) const {
    const Value& named = graph_.value(value);
    if (!named.name.empty()) return "\"" + named.name + "\"";
    if (!named.producer.valid()) return "value #" + std::to_string(value.index());
    return "output " + std::to_string(named.producer_output) + " of " + NodeLabel(graph_, named.producer);
  }
  const Step& step(StepId id) const { return plan_.steps[id.index()]; }
  std::string UnitOf(StepId id) const { return platform_.unit(step(id).unit).name; }
  std::string LibraryOf(StepId id) const {
    if (const auto* reorder = std::get_if<Reorder>(&step(id).work)) return reorder->library;
    return LibraryLabel(plan_, step(id));
  }
  std::string WorkOf(StepId id) const { return WorkLabel(graph_, plan_, step(id)); }
  // Of a copy or a reorder: none.
  std::vector<NodeId> NodesOf(StepId id) const {
    const auto* run = std::get_if<RunGroup>(&step(id).work);
    return run == nullptr ? std::vector<NodeId>() : plan_.candidates[run->candidate.index()].nodes;
  }
  NodeId ProducerOf(ValueId value) const { return graph_.value(value).producer; }
  const Graph& graph() const { return graph_; }

 private:
  const Graph& graph_;
  const Plan& plan_;
  const Platform& platform_;
};

// "made", "read" or "output".
const char* SeenAs(const JudgedValue& value) {
  if (value.is_output) return "output";
  return value.reader.valid() ? "read" : "made";
}

Json StepJson(StepId id, const FaultNames& names) {
  Json nodes = Json::MakeArray();
  for (const NodeId node : names.NodesOf(id)) nodes.Push(NodeLabel(names.graph(), node));
  Json json = Json::MakeObject();
  json.Set("step", static_cast<int64_t>(id.index()));
  json.Set("unit", names.UnitOf(id));
  json.Set("library", names.LibraryOf(id));
  json.Set("work", names.WorkOf(id));
  json.Set("nodes", std::move(nodes));
  return json;
}

Json ValueJson(const JudgedValue& value, const FaultNames& names) {
  const Comparison& comparison = value.verdict.comparison;
  Json json = Json::MakeObject();
  json.Set("value", names.graph().value(value.value).name);
  json.Set("seen", SeenAs(value));
  if (value.reader.valid()) json.Set("reader", StepJson(value.reader, names));
  if (value.step.valid()) json.Set("maker", StepJson(value.step, names));
  const NodeId node = names.ProducerOf(value.value);
  if (node.valid()) json.Set("node", NodeLabel(names.graph(), node));
  json.Set("pass", comparison.equal);
  json.Set("max_abs", comparison.max_abs);
  json.Set("max_rel", comparison.max_rel);
  json.Set("nan_differences", comparison.nan_differences);
  json.Set("compared", comparison.compared);
  json.Set("rtol", value.verdict.tolerance.relative);
  json.Set("atol", value.verdict.tolerance.absolute);
  json.Set("tolerance", value.verdict.reason);
  if (std::isfinite(comparison.of_tolerance)) json.Set("of_tolerance", comparison.of_tolerance);
  json.Set("reason", comparison.reason);
  return json;
}

Json ReportJson(const FaultReport& report, const RunFlags& flags, const FaultNames& names) {
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model());
  json.Set("pass", !report.first);
  json.Set("values", static_cast<int64_t>(report.values));
  json.Set("compared", static_cast<int64_t>(report.compared));
  if (report.first) {
    Json first = ValueJson(*report.first, names);
    if (report.first->changed) first.Set("changed", true);
    Json inputs = Json::MakeArray();
    for (const JudgedValue& input : report.inputs) inputs.Push(ValueJson(input, names));
    first.Set("inputs", std::move(inputs));
    json.Set("first", std::move(first));
  }
  if (report.worst) json.Set("worst", ValueJson(*report.worst, names));
  return json;
}

// "0.02 of its tolerance".
std::string OfTolerance(const Comparison& comparison) {
  if (!comparison.equal) return "beyond its tolerance";
  return Brief(comparison.of_tolerance) + " of its tolerance";
}

std::string StepText(StepId id, const FaultNames& names) {
  const std::string library = names.LibraryOf(id);
  return "step " + std::to_string(id.index()) + " on " + names.UnitOf(id) + ": " + names.WorkOf(id) +
         (library.empty() ? "" : ", by " + library);
}

// Which step is to blame, and what is known of it.
std::string PlaceText(const JudgedValue& value, const FaultNames& names) {
  if (!value.step.valid()) return "  none of the plan's steps makes it\n";
  std::string text = "  made by  " + StepText(value.step, names) + "\n";
  if (names.NodesOf(value.step).size() > 1) {
    text += "           (one kernel for these nodes: what they hand on to each other exists nowhere)\n";
  }
  if (value.changed) {
    text += "  read by  " + StepText(value.reader, names) +
            "\n           (it was within its tolerance when it was made: something has written over it)\n";
  } else if (value.reader.valid()) {
    text += "  seen by  " + StepText(value.reader, names) + "\n           (what makes it cannot be looked at)\n";
  } else if (value.is_output) {
    text += "           (each value within the run is within its tolerance: this one is not as the caller gets it)\n";
  }
  return text;
}

std::string FirstText(const FaultReport& report, const RunFlags& flags, const FaultNames& names) {
  const JudgedValue& first = *report.first;
  std::string text = "first value beyond tolerance: " + names.NameOf(first.value) + "\n" + PlaceText(first, names) +
                     "  differs  by " + Brief(first.verdict.comparison.max_abs) + ": " +
                     DifferenceText(first.verdict, flags) + "\n           (" + ToleranceText(first.verdict) + ")\n";
  const char* lead = "  reads    ";
  for (const JudgedValue& input : report.inputs) {
    text += lead + names.NameOf(input.value) + ", " + OfTolerance(input.verdict.comparison) + "\n";
    lead = "           ";
  }
  return text;
}

std::string ReportText(const FaultReport& report, const RunFlags& flags, const FaultNames& names) {
  const std::string count = std::to_string(report.compared) + " of " + std::to_string(report.values) + " values";
  if (report.first) return FirstText(report, flags, names) + "FAIL  " + count + " compared\n";
  std::string text = "PASS  " + count + " and all outputs compared";
  if (report.worst) {
    text += "; nearest to its tolerance: " + names.NameOf(report.worst->value) + ", " +
            OfTolerance(report.worst->verdict.comparison);
  }
  text += "\n";
  if (report.compared < report.values) {
    text += "      not looked at: " + std::to_string(report.values - report.compared) +
            " (values that stay on a device, are views of others, or hold no numbers)\n";
  }
  return text;
}

Result<int> Bisected(const RunFlags& flags, const Console& console, const CancelToken& cancel) {
  ValueProbes probes(flags.common.kernel_watch);
  CommonFlags watched = flags.common;
  watched.kernel_watch = &probes;
  PT_ASSIGN(const std::unique_ptr<Engine> engine, MakeEngine(watched));
  PT_ASSIGN(const GivenRun given, MakeGivenRun(*engine, flags, console));
  const std::vector<Datum> inputs(given.inputs.begin(), given.inputs.end());
  PT_ASSIGN(const FaultReport report, FindFirstFault(given.ready, inputs, probes, flags, cancel));
  const FaultNames names(*given.ready->model->graph, given.ready->plan.plan, engine->machine().platform());
  PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(ReportJson(report, flags, names)) + "\n"
                                           : ReportText(report, flags, names)));
  return report.first ? static_cast<int>(ErrorCode::kMismatch) : 0;
}

}  // namespace

int RunBisected(const RunFlags& flags, Console& console, const InterruptWatch& interrupt) {
  return Finish(Bisected(flags, console, interrupt.token()), console, interrupt);
}

}  // namespace pt::tools
