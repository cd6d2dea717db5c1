#include "lib/engine/useful_split.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/plan/timeline.h"

namespace pt {
namespace {

// How often each measured time stands on critical paths: plus on one, minus on the other.
class PathTimes {
 public:
  PathTimes(const Graph& graph, const Platform& platform, const CostModel& costs)
      : graph_(graph), platform_(platform), costs_(costs) {}

  void Add(const Plan& plan, int by) {
    for (StepId id : plan.report.critical_path) AddStep(plan, plan.steps[id.index()], by);
  }

  double ErrorNs() const {
    double squares = 0;
    for (const auto& [key, time] : times_) {
      const double error_ns = time.count * time.error_ns;
      squares += error_ns * error_ns;
    }
    return std::sqrt(squares);
  }

 private:
  struct Time {
    int count = 0;
    double error_ns = 0;
  };

  void Add(const std::string& key, const Estimate& estimate, int by) {
    Time& time = times_[key];
    time.count += by;
    time.error_ns = pt::ErrorNs(estimate);
  }

  // Library versions are left out of keys: they are the same for both plans.
  void AddStep(const Plan& plan, const Step& step, int by) {
    const UnitClassId unit_class = platform_.unit(step.unit).unit_class;
    Add(OverheadKey(platform_, unit_class).text, costs_.OfClass(unit_class).overhead, by);
    if (const auto* group = std::get_if<RunGroup>(&step.work)) {
      const Candidate& candidate = plan.candidates[group->candidate.index()];
      Add(CandidateKey(graph_, platform_, candidate, "").text, costs_.OfStep(candidate).run.value_or(Estimate()), by);
      return;
    }
    if (const auto* copy = std::get_if<Copy>(&step.work)) {
      const Result<uint64_t> bytes = InstanceBytes(graph_, plan.instances[copy->from.index()]);
      const uint64_t moved = bytes.ok() ? *bytes : 0;
      Add(CopyKey(platform_, copy->link, moved).text, costs_.Copy(moved, copy->link), by);
      return;
    }
    const auto& reorder = std::get<Reorder>(step.work);
    const Instance& from = plan.instances[reorder.from.index()];
    const Instance& to = plan.instances[reorder.to.index()];
    const auto dims = graph_.value(from.value).type.static_dims().value_or(std::vector<int64_t>());
    Add(ReorderKey(platform_, unit_class, dims, from.form, to.form, "").text,
        costs_.Reorder(dims, from.form, to.form, unit_class).value_or(Estimate()), by);
  }

  const Graph& graph_;
  const Platform& platform_;
  const CostModel& costs_;
  std::map<std::string, Time> times_;  // by measurement key
};

}  // namespace

double ErrorNs(const Estimate& estimate) {
  const auto ns = static_cast<double>(estimate.ns);
  const double interval = static_cast<double>(estimate.high_ns - estimate.low_ns) / 2;
  return std::max({static_cast<double>(estimate.spread_ns), estimate.relative_error * ns, interval});
}

PredictedGain GainOver(const Graph& graph, const Platform& platform, const CostModel& costs, const Plan& plan,
                       const Plan& other) {
  PredictedGain gain;
  if (other.makespan.ns <= 0) return gain;
  PathTimes times(graph, platform, costs);
  times.Add(plan, 1);
  times.Add(other, -1);
  const auto whole_ns = static_cast<double>(other.makespan.ns);
  gain.share = 1 - static_cast<double>(plan.makespan.ns) / whole_ns;
  gain.uncertainty = times.ErrorNs() / whole_ns;
  return gain;
}

}  // namespace pt
