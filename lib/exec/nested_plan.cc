#include "lib/exec/nested_plan.h"

#include <algorithm>
#include <optional>

#include "partitiontuner/backend/nan.h"
#include "partitiontuner/plan/memory_plan.h"
#include "partitiontuner/plan/plan_precision.h"

namespace pt {
namespace {

bool IsPlain(const Graph& graph, const Candidate& candidate) {
  const auto plain = [&](const std::vector<ValueId>& values, const std::vector<Form>& forms) {
    return std::equal(values.begin(), values.end(), forms.begin(), forms.end(),
                      [&](ValueId value, const Form& form) { return form == RowMajorForm(graph.value(value).type); });
  };
  return candidate.math == MathMode::kFp32 && plain(GroupInputs(graph, candidate.nodes), candidate.in) &&
         plain(GroupOutputs(graph, candidate.nodes), candidate.out) &&
         std::none_of(candidate.aliases.begin(), candidate.aliases.end(),
                      [](const Alias& alias) { return alias.kind == Alias::Kind::kRequired; });
}

std::vector<std::optional<Candidate>> ChooseCandidates(const Graph& graph, const Machine& machine,
                                                       UnitClassId unit_class, bool keep_nan) {
  std::vector<std::optional<Candidate>> chosen(graph.nodes().size());
  const Platform& platform = machine.platform();
  for (const auto& library : machine.libraries()) {
    if (!library->Serves(platform, platform.unit_class(unit_class).device)) continue;
    std::vector<Candidate> offered = library->Candidates(graph, platform, Precision());
    for (Candidate& more : library->AgnosticCandidates(graph, platform, offered)) offered.push_back(std::move(more));
    for (Candidate& candidate : offered) {
      if (candidate.nodes.size() != 1 || candidate.unit_class != unit_class || !IsPlain(graph, candidate)) continue;
      if (keep_nan && !KeepsNan(*library, graph, candidate)) continue;
      std::optional<Candidate>& known = chosen[candidate.nodes[0].index()];
      if (!known || (known->library == "reference" && candidate.library != "reference")) known = std::move(candidate);
    }
  }
  return chosen;
}

Error NobodyRuns(const Graph& graph, const Machine& machine, NodeId node) {
  std::string why;
  for (const auto& library : machine.libraries()) {
    const std::optional<std::string> reason = library->WhyUnsupported(graph, node);
    if (reason) why += (why.empty() ? "" : "; ") + std::string(library->name()) + ": " + *reason;
  }
  Error error = MakeError(ErrorCode::kUnsupported, "session.nested",
                          "no library runs " + NodeLabel(graph, node) + " of a nested graph" +
                              (why.empty() ? std::string() : " (" + why + ")"));
  error.node = NodeLabel(graph, node);
  return error;
}

}  // namespace

Result<Plan> PlanNestedGraph(const Graph& graph, const Machine& machine, UnitId unit, bool keep_nan) {
  const Platform& platform = machine.platform();
  std::vector<std::optional<Candidate>> chosen =
      ChooseCandidates(graph, machine, platform.unit(unit).unit_class, keep_nan);
  Plan plan;
  if (keep_nan) plan.made_for.settings[std::string(kNanSetting)] = kKeepNan;  // for graphs nested in this one
  std::vector<InstanceId> instances(graph.values().size());
  const auto instances_of = [&](const std::vector<ValueId>& values) {
    std::vector<InstanceId> ids;
    for (ValueId value : values) {
      InstanceId& id = instances[value.index()];
      if (!id.valid()) {
        id = InstanceId(plan.instances.size());
        plan.instances.push_back({value, platform.device_of(unit), RowMajorForm(graph.value(value).type)});
      }
      ids.push_back(id);
    }
    return ids;
  };
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const NodeId node(n);
    if (!chosen[n]) return NobodyRuns(graph, machine, node);
    RunGroup group;
    group.candidate = PlanCandidateId(plan.candidates.size());
    group.in = instances_of(GroupInputs(graph, {&node, 1}));
    group.out = instances_of(GroupOutputs(graph, {&node, 1}));
    plan.candidates.push_back(*std::move(chosen[n]));
    Step& step = plan.steps.emplace_back();
    step.unit = unit;
    step.work = std::move(group);
  }
  PT_CHECK_OK(PlanMemory(graph, platform, plan));
  return plan;
}

}  // namespace pt
