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

// A team is gathered by one hand-over each way and shares a kernel's work by one each way, once at least; what it
// gathers is released for the next by two more.
constexpr int64_t kHandOversOfTeam = 6;

struct ReplayTimes {
  std::vector<int64_t> step_ns;
  int64_t hand_over_ns;
};

// The plan's predicted times as they would be at that pace.
ReplayTimes TimesAt(const Platform& platform, const Plan& plan, const Pace& pace) {
  const int64_t assumed_ns = plan.report.hand_over_ns;
  const bool known = assumed_ns > 0 && pace.hand_over_ns > 0;
  const int64_t more_ns = known ? pace.hand_over_ns - assumed_ns : 0;
  ReplayTimes times{{}, assumed_ns + more_ns};
  for (const Step& step : plan.steps) {
    const UnitClass& unit_class = platform.unit_class(platform.unit(step.unit).unit_class);
    const bool by_team = unit_class.on_host() && unit_class.cores > 1;
    const auto at_pace = std::llround(pace.work * static_cast<double>(step.expected_ns));
    times.step_ns.push_back(std::max<int64_t>(0, at_pace + (by_team ? kHandOversOfTeam * more_ns : 0)));
  }
  return times;
}

}  // namespace

int64_t PredictedAt(const Platform& platform, const Plan& plan, const Pace& pace) {
  const ReplayTimes then = TimesAt(platform, plan, {}), now = TimesAt(platform, plan, pace);
  // What the replay leaves out, other waits and overheads between steps, is as it was.
  const int64_t rest_ns = plan.makespan.ns - ReplayPlan(platform, plan, then.step_ns, then.hand_over_ns).makespan_ns;
  return ReplayPlan(platform, plan, now.step_ns, now.hand_over_ns).makespan_ns +
         std::llround(pace.work * static_cast<double>(rest_ns));
}

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
                      const Pace& pace) {
  ReplayTimes at_pace = TimesAt(platform, plan, pace);
  std::vector<int64_t>& times = at_pace.step_ns;
  const auto replay = [&] { return ReplayPlan(platform, plan, times, at_pace.hand_over_ns).makespan_ns; };
  const std::vector<Kind> kinds = KindsOf(plan);
  const int64_t predicted = PredictedAt(platform, plan, pace);
  const int64_t expected = replay();
  int64_t before = expected;
  const auto replace = [&](Kind kind) {
    for (size_t s = 0; s < times.size(); ++s) {
      if (kinds[s] == kind) times[s] = step_ns[s];
    }
    const int64_t after = replay();
    const int64_t more = after - before;
    before = after;
    return more;
  };
  Residuals residuals;
  residuals.predicted_ns = plan.makespan.ns;
  residuals.measured_ns = measured_ns;
  residuals.drift_ns = predicted - plan.makespan.ns;
  residuals.kernels_ns = replace(Kind::kKernel);
  residuals.inputs_ns = replace(Kind::kKernelElsewhere);
  residuals.reorders_ns = replace(Kind::kReorder);
  residuals.copies_ns = replace(Kind::kCopy);
  residuals.waits_ns = (measured_ns - before) - (predicted - expected);
  return residuals;
}

}  // namespace pt
