#include "partitiontuner/plan/step_causes.h"

#include <set>

#include "lib/plan/work.h"

namespace pt {
namespace {

class CauseFinder {
 public:
  CauseFinder(const Plan& plan, std::span<const StepTime> times)
      : plan_(plan), times_(times), makers_(plan.instances.size()) {
    for (size_t s = plan.steps.size(); s-- > 0;) {
      for (const InstanceId id : WritesOf(plan.steps[s].work)) makers_[id.index()] = StepId(s);
    }
  }

  std::vector<StepCause> Of(StepId step) const {
    std::vector<StepCause> causes;
    if (!TakesTime(step)) return causes;
    std::set<StepId> seen = {step};
    std::vector<StepCause> open = Before(step);
    while (!open.empty()) {
      const StepCause cause = open.back();
      open.pop_back();
      if (!seen.insert(cause.from).second) continue;
      if (!TakesTime(cause.from)) {
        for (const StepCause& before : Before(cause.from)) open.push_back({before.from, cause.instance});
      } else if (plan_.steps[cause.from.index()].unit != plan_.steps[step.index()].unit) {
        causes.push_back(cause);
      }
    }
    return causes;
  }

 private:
  bool TakesTime(StepId step) const { return times_[step.index()].start_ns < times_[step.index()].end_ns; }

  // On whatever unit. The last is looked at first: that a step reads says more than that it waits.
  std::vector<StepCause> Before(StepId id) const {
    const Step& step = plan_.steps[id.index()];
    std::vector<StepCause> causes;
    for (const StepId before : step.after) causes.push_back({before, std::nullopt});
    for (const InstanceId instance : ReadsOf(step.work)) {
      if (const auto& maker = makers_[instance.index()]) causes.push_back({*maker, instance});
    }
    return causes;
  }

  const Plan& plan_;
  std::span<const StepTime> times_;
  std::vector<std::optional<StepId>> makers_;  // by instance: the first step that writes to it
};

}  // namespace

std::vector<std::vector<StepCause>> StepCausesOf(const Plan& plan, std::span<const StepTime> times) {
  const CauseFinder finder(plan, times);
  std::vector<std::vector<StepCause>> causes;
  for (size_t s = 0; s < plan.steps.size(); ++s) causes.push_back(finder.Of(StepId(s)));
  return causes;
}

}  // namespace pt
