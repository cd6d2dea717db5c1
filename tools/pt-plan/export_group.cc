// pt-plan --export-group STEP -o FILE: what one step of a plan computes, as a model of its own.
#include <algorithm>
#include <charconv>

#include "partitiontuner/candidate/group_graph.h"
#include "partitiontuner/engine/judge_model.h"
#include "partitiontuner/onnx/save_onnx.h"
#include "partitiontuner/plan/step_text.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {
namespace {

// "0-4, 6, 8-9": the steps that run a group.
std::string GroupSteps(const Plan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const size_t first = i;
    while (i < plan.steps.size() && std::holds_alternative<RunGroup>(plan.steps[i].work)) ++i;
    if (i == first) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (i - first > 1) text += "-" + std::to_string(i - 1);
  }
  return text.empty() ? "none" : text;
}

// The step's candidate. Errors: kUsage, with what there is.
Result<const Candidate*> CandidateOf(const Graph& graph, const Plan& plan, const std::string& text, StepId& step) {
  const auto refuse = [&](const std::string& why) {
    return MakeError(ErrorCode::kUsage, "usage.step", "--export-group " + text + ": " + why,
                     "steps that run a group: " + GroupSteps(plan) + " (-v lists the steps of a plan that is made)");
  };
  uint32_t index = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (code != std::errc() || end != text.data() + text.size()) return refuse("the number of a step is expected");
  if (index >= plan.steps.size()) return refuse("the plan has " + std::to_string(plan.steps.size()) + " steps");
  step = StepId(index);
  const auto* run = std::get_if<RunGroup>(&plan.steps[index].work);
  if (run == nullptr) return refuse("that step runs no group: " + WorkLabel(graph, plan, plan.steps[index]));
  return &plan.candidates[run->candidate.index()];
}

// Of a plan file that fits and is legal; that a library is absent here does not matter.
Result<Plan> PlanOfFile(const PlanningSetup& setup, const std::string& file) {
  PT_ASSIGN(Plan plan, LoadPlan(file));
  const Machine& machine = setup.engine->machine();
  PlanVerdict verdict = JudgePlan(*setup.model, machine, plan);
  verdict.absent.clear();
  Status status = StatusOf(verdict);
  if (status.ok()) return plan;
  status.error().file = file;
  return std::move(status).error();
}

Json BorderJson(const Graph& group, std::span<const ValueId> values, std::span<const Form> forms) {
  Json rows = Json::MakeArray();
  for (size_t i = 0; i < values.size(); ++i) {
    Json row = Json::MakeObject();
    row.Set("name", group.value(values[i]).name);
    row.Set("type", ToString(group.value(values[i]).type));
    row.Set("layout", ToString(forms[i].layout));
    row.Set("storage", DataTypeName(forms[i].storage));
    rows.Push(std::move(row));
  }
  return rows;
}

std::string BorderText(const char* what, const Json& rows) {
  std::string text;
  for (const Json& row : *rows.as_array()) {
    text += std::string("  ") + what + " " + *row.find("name")->as_string() + " " + *row.find("type")->as_string() +
            " (" + *row.find("storage")->as_string() + " " + *row.find("layout")->as_string() + " in the plan)\n";
  }
  return text;
}

}  // namespace

Result<Plan> MakeOrLoadPlan(const PlanningSetup& setup, const PlanFlags& flags, Console& console) {
  if (flags.check.empty()) return MakePlanFor(setup, flags, console, nullptr, nullptr, nullptr);
  return PlanOfFile(setup, flags.check);
}

Result<int> ExportGroup(const PlanFlags& flags, Console& console) {
  PT_ASSIGN(const PlanningSetup setup, MakePlanningSetup(flags));
  const Graph& graph = *setup.model->graph;
  PT_ASSIGN(const Plan plan, MakeOrLoadPlan(setup, flags, console));
  StepId step;
  PT_ASSIGN(const Candidate* const candidate, CandidateOf(graph, plan, flags.export_group, step));
  PT_ASSIGN(const Graph group, GroupGraph(graph, candidate->nodes));
  if (flags.output == "-") {
    PT_ASSIGN(const std::string bytes, SaveOnnxBytes(group));
    PT_CHECK_OK(WriteOut(bytes));
    return 0;
  }
  PT_CHECK_OK(SaveOnnx(group, flags.output));
  const std::string unit = setup.engine->machine().platform().unit(plan.steps[step.index()].unit).name;
  const Json inputs = BorderJson(group, group.inputs(), candidate->in);
  const Json outputs = BorderJson(group, group.outputs(), candidate->out);
  Json nodes = Json::MakeArray();
  for (const NodeId node : candidate->nodes) nodes.Push(static_cast<int64_t>(node.index()));
  const std::string library = LibraryLabel(plan, plan.steps[step.index()]);
  std::string text = "step " + std::to_string(step.index()) + " on " + unit + " by " + library + ": " +
                     GroupLabel(graph, *candidate) + "\n" + BorderText("input ", inputs) +
                     BorderText("output", outputs);
  Json json = Json::MakeObject();
  json.Set("step", static_cast<int64_t>(step.index()));
  json.Set("unit", unit);
  json.Set("library", library);
  json.Set("nodes", std::move(nodes));
  json.Set("work", GroupLabel(graph, *candidate));
  json.Set("file", flags.output);
  json.Set("inputs", inputs);
  json.Set("outputs", outputs);
  PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(json) + "\n" : text));
  console.Note("model written to " + flags.output);
  return 0;
}

}  // namespace pt::tools
