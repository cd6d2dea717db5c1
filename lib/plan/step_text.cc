#include "partitiontuner/plan/step_text.h"

namespace pt {

std::string GroupLabel(const Graph& graph, const Candidate& candidate) {
  std::string text;
  for (const NodeId node : candidate.nodes) text += (text.empty() ? "" : " + ") + NodeLabel(graph, node);
  return text;
}

std::string WorkLabel(const Graph& graph, const Plan& plan, const Step& step) {
  const auto value_name = [&](InstanceId id) { return graph.value(plan.instances[id.index()].value).name; };
  // The storage only where it differs from the value's own.
  const auto form = [&](InstanceId id) {
    const Instance& instance = plan.instances[id.index()];
    const bool own = instance.form.storage == graph.value(instance.value).type.type;
    return ToString(instance.form.layout) + (own ? "" : ":" + std::string(DataTypeName(instance.form.storage)));
  };
  if (const auto* run = std::get_if<RunGroup>(&step.work))
    return GroupLabel(graph, plan.candidates[run->candidate.index()]);
  if (const auto* copy = std::get_if<Copy>(&step.work)) return "copy " + value_name(copy->from);
  const auto& reorder = std::get<Reorder>(step.work);
  return "reorder " + value_name(reorder.from) + " " + form(reorder.from) + " to " + form(reorder.to);
}

std::string LibraryLabel(const Candidate& candidate) {
  const std::string math = candidate.math == MathMode::kFp32 ? "" : " in " + std::string(MathModeName(candidate.math));
  return candidate.library + (candidate.variant.empty() ? "" : " " + candidate.variant) + math;
}

std::string LibraryLabel(const Plan& plan, const Step& step) {
  if (const auto* run = std::get_if<RunGroup>(&step.work)) {
    return LibraryLabel(plan.candidates[run->candidate.index()]);
  }
  if (const auto* reorder = std::get_if<Reorder>(&step.work)) return reorder->library;
  return "";
}

}  // namespace pt
