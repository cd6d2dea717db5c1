#include "partitiontuner/engine/estimated_time.h"

#include <algorithm>
#include <map>

#include "lib/engine/step_cost.h"
#include "partitiontuner/candidate/run_time_sizes.h"

namespace pt {

EstimatedTime EstimatedTimeOf(const Graph& graph, const Platform& platform, const Plan& plan, const CostModel* costs) {
  EstimatedTime estimated;
  std::map<std::string, int64_t> unsized;  // nanoseconds by operator
  for (const StepId id : plan.report.critical_path) {
    const Step& step = plan.steps[id.index()];
    const auto cost = costs != nullptr ? CostOfStep(graph, platform, plan, step, *costs) : std::nullopt;
    if (cost && cost->provenance != Provenance::kEstimated) continue;
    estimated.ns += step.expected_ns;
    const RunGroup* group = std::get_if<RunGroup>(&step.work);
    if (group == nullptr) continue;
    const Candidate& candidate = plan.candidates[group->candidate.index()];
    if (IsSizedBeforeRun(graph, candidate.nodes)) continue;
    estimated.unsized_ns += step.expected_ns;
    unsized[graph.node(candidate.nodes.back()).op] += step.expected_ns;
  }
  if (plan.makespan.ns > 0) {
    const auto share = [&](int64_t ns) {
      return std::min(1.0, static_cast<double>(ns) / static_cast<double>(plan.makespan.ns));
    };
    estimated.share = share(estimated.ns);
    estimated.unsized_share = share(estimated.unsized_ns);
  }
  for (const auto& [op, ns] : unsized) estimated.unsized_operators.push_back(op);
  std::ranges::stable_sort(estimated.unsized_operators,
                           [&](const std::string& a, const std::string& b) { return unsized[a] > unsized[b]; });
  return estimated;
}

std::vector<DeviceId> UnmeasuredDevices(const Model& model, const Platform& platform, const CostModel& costs) {
  std::vector<bool> offered(platform.devices.size(), false), known(platform.devices.size(), false);
  for (const Candidate& candidate : model.candidates) {
    const size_t device = platform.unit_class(candidate.unit_class).device.index();
    // What has no size until run time has the same cost whatever was measured.
    if (known[device] || !IsSizedBeforeRun(*model.graph, candidate.nodes)) continue;
    offered[device] = true;
    known[device] = costs.OfStep(candidate).run.has_value();
  }
  std::vector<DeviceId> unmeasured;
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    if (offered[d] && !known[d]) unmeasured.emplace_back(d);
  }
  return unmeasured;
}

}  // namespace pt
