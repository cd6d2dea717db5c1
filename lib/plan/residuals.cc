#include "partitiontuner/plan/residuals.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/plan/work.h"
#include "partitiontuner/plan/timeline.h"

namespace pt {
namespace {

enum class Kind : uint8_t { kKernel, kKernelElsewhere, kReorder, kCopy };

std::vector<Kind> KindsOf(const Plan& plan) {
  const std::vector<bool> elsewhere = ReadsFromOtherUnits(plan);
  std::vector<Kind> kinds;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (std::holds_alternative<Reorder>(plan.steps[s].work)) {
      kinds.push_back(Kind::kReorder);
    } else if (std::holds_alternative<Copy>(plan.steps[s].work)) {
      kinds.push_back(Kind::kCopy);
    } else {
      kinds.push_back(elsewhere[s] ? Kind::kKernelElsewhere : Kind::kKernel);
    }
  }
  return kinds;
}

}  // namespace

std::vector<bool> ReadsFromOtherUnits(const Plan& plan) {
  std::vector<UnitId> made_on(plan.instances.size());
  std::vector<bool> result;
  for (const Step& step : plan.steps) {
    const std::span<const InstanceId> reads = ReadsOf(step.work);
    result.push_back(std::any_of(reads.begin(), reads.end(), [&](InstanceId in) {
      return made_on[in.index()].valid() && made_on[in.index()] != step.unit;
    }));
    for (InstanceId out : WritesOf(step.work)) made_on[out.index()] = step.unit;
  }
  return result;
}

Residuals ResidualsOf(const Platform& platform, const Plan& plan, std::span<const int64_t> step_ns, int64_t measured_ns,
                      double pace) {
  const auto at_pace = [&](int64_t ns) { return std::llround(pace * static_cast<double>(ns)); };
  std::vector<int64_t> times;
  for (const Step& step : plan.steps) times.push_back(at_pace(step.expected_ns));
  const std::vector<Kind> kinds = KindsOf(plan);
  const int64_t expected = ReplayPlan(platform, plan, times).makespan_ns;
  int64_t before = expected;
  const auto replace = [&](Kind kind) {
    for (size_t s = 0; s < times.size(); ++s) {
      if (kinds[s] == kind) times[s] = step_ns[s];
    }
    const int64_t after = ReplayPlan(platform, plan, times).makespan_ns;
    const int64_t more = after - before;
    before = after;
    return more;
  };
  Residuals residuals;
  residuals.predicted_ns = plan.makespan.ns;
  residuals.measured_ns = measured_ns;
  residuals.drift_ns = at_pace(plan.makespan.ns) - plan.makespan.ns;
  residuals.kernels_ns = replace(Kind::kKernel);
  residuals.inputs_ns = replace(Kind::kKernelElsewhere);
  residuals.reorders_ns = replace(Kind::kReorder);
  residuals.copies_ns = replace(Kind::kCopy);
  residuals.waits_ns = (measured_ns - before) - (at_pace(plan.makespan.ns) - expected);
  return residuals;
}

}  // namespace pt
