#include "lib/engine/step_cost.h"

#include "partitiontuner/plan/timeline.h"

namespace pt {

std::optional<Estimate> CostOfStep(const Graph& graph, const Platform& platform, const Plan& plan, const Step& step,
                                   const CostModel& costs) {
  if (const RunGroup* group = std::get_if<RunGroup>(&step.work)) {
    return costs.OfStep(plan.candidates[group->candidate.index()]).run;
  }
  if (const Reorder* reorder = std::get_if<Reorder>(&step.work)) {
    const Instance& from = plan.instances[reorder->from.index()];
    const Instance& to = plan.instances[reorder->to.index()];
    const auto dims = graph.value(from.value).type.static_dims();
    if (!dims) return std::nullopt;
    return costs.Reorder(*dims, from.form, to.form, platform.unit(step.unit).unit_class);
  }
  const Copy& copy = std::get<Copy>(step.work);
  const Result<uint64_t> bytes = InstanceBytes(graph, plan.instances[copy.from.index()]);
  if (!bytes.ok()) return std::nullopt;
  return costs.Copy(*bytes, copy.link);
}

}  // namespace pt
