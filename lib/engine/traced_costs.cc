#include "lib/engine/traced_costs.h"

#include <algorithm>
#include <cmath>

#include "lib/engine/step_cost.h"
#include "partitiontuner/candidate/run_time_sizes.h"
#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/plan/memory_plan.h"

namespace pt {
namespace {

// A step that ends early, because its core had been waiting, say, is not taken for faster than this share of what it
// takes alone.
constexpr double kLeastShare = 0.25;

struct Mean {
  double sum = 0;
  size_t count = 0;
};

template <typename Key>
void Keep(const std::map<Key, Mean>& means, std::map<Key, double>& corrections) {
  for (const auto& [key, mean] : means) corrections[key] = mean.sum / static_cast<double>(mean.count);
}

}  // namespace

TracedCosts::TracedCosts(const Graph& graph, const Platform& platform, const CostModel& alone)
    : CostsOver(alone), graph_(graph), platform_(platform) {}

// The library's version is the same for all: they are of one machine. Of what has no size before the run every way
// counts the same, measured or not: one that has not run yet would else look fast.
std::string TracedCosts::KeyOf(const Candidate& candidate) const {
  if (!IsSizedBeforeRun(graph_, candidate.nodes)) {
    std::string key = "nodes";
    for (const NodeId node : candidate.nodes) key += " " + std::to_string(node.value);
    return key;
  }
  return CandidateKey(graph_, platform_, candidate, "").text;
}

void TracedCosts::Note(const Plan& plan, std::span<const int64_t> step_ns) {
  const std::vector<bool> elided = ElidedSteps(graph_, plan);
  const auto is_known = [&](size_t s) {
    const Step& step = plan.steps[s];
    return step_ns[s] > 0 && !elided[s] && step.expected_ns > 0 &&
           platform_.unit_class(platform_.unit(step.unit).unit_class).on_host();
  };
  // What was expected of a step that was never measured says nothing of the machine's pace.
  const auto is_measured = [&](size_t s) {
    const std::optional<Estimate> cost = CostOfStep(graph_, platform_, plan, plan.steps[s], under());
    return cost && cost->provenance != Provenance::kEstimated;
  };
  double taken = 0, expected = 0;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (!is_known(s) || !is_measured(s)) continue;
    taken += static_cast<double>(step_ns[s]);
    expected += static_cast<double>(plan.steps[s].expected_ns);
  }
  pace_ = expected > 0 ? taken / expected : 1;

  std::map<std::string, Mean> runs;
  std::map<ReorderKey, Mean> reorders;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (!is_known(s)) continue;
    const Step& step = plan.steps[s];
    // What was expected beside the work itself, its overhead and what it fetches, stays as it was expected.
    const double more = static_cast<double>(step_ns[s]) / pace_ - static_cast<double>(step.expected_ns);
    const auto note = [&](Mean& mean, const std::optional<Estimate>& alone, const std::optional<Estimate>& corrected) {
      if (!alone || !corrected) return;
      mean.sum += static_cast<double>(corrected->ns - alone->ns) + more;
      ++mean.count;
    };
    if (const auto* group = std::get_if<RunGroup>(&step.work)) {
      const Candidate& candidate = plan.candidates[group->candidate.index()];
      note(runs[KeyOf(candidate)], under().OfStep(candidate).run, OfStep(candidate).run);
    } else if (const auto* reorder = std::get_if<pt::Reorder>(&step.work)) {
      const Instance& from = plan.instances[reorder->from.index()];
      const Instance& to = plan.instances[reorder->to.index()];
      const auto dims = graph_.value(from.value).type.static_dims();
      if (!dims) continue;
      const UnitClassId unit_class = platform_.unit(step.unit).unit_class;
      note(reorders[{*dims, from.form, to.form, unit_class}], under().Reorder(*dims, from.form, to.form, unit_class),
           Reorder(*dims, from.form, to.form, unit_class));
    }
  }
  std::erase_if(runs, [](const auto& entry) { return entry.second.count == 0; });
  std::erase_if(reorders, [](const auto& entry) { return entry.second.count == 0; });
  Keep(runs, runs_);
  Keep(reorders, reorders_);
}

Estimate TracedCosts::Corrected(Estimate estimate, double more_ns) const {
  const auto alone = static_cast<double>(estimate.ns);
  const double least = estimate.provenance == Provenance::kEstimated ? 0 : kLeastShare * alone;
  estimate.ns = std::max<int64_t>(1, std::llround(std::max(alone + more_ns, least) * scale_));
  estimate.provenance = Provenance::kMeasured;
  estimate.relative_error = 0;
  estimate.low_ns = estimate.high_ns = 0;
  return estimate;
}

StepCost TracedCosts::OfStep(const Candidate& candidate) const {
  StepCost cost = under().OfStep(candidate);
  if (!cost.run || runs_.empty()) return cost;
  const auto found = runs_.find(KeyOf(candidate));
  if (found != runs_.end()) cost.run = Corrected(*cost.run, found->second);
  return cost;
}

std::optional<Estimate> TracedCosts::Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                             UnitClassId unit_class) const {
  const std::optional<Estimate> alone = under().Reorder(dims, from, to, unit_class);
  if (!alone || reorders_.empty()) return alone;
  const auto found = reorders_.find({{dims.begin(), dims.end()}, from, to, unit_class});
  return found == reorders_.end() ? alone : Corrected(*alone, found->second);
}

}  // namespace pt
