// TracedCosts: another cost model, corrected by what steps took as parts of a plan that ran.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "partitiontuner/cost/costs_over.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

// Of one graph on one platform. Const calls are thread-safe; Note is not.
class TracedCosts : public CostsOver {
 public:
  // All must outlive the model.
  TracedCosts(const Graph& graph, const Platform& platform, const CostModel& alone);

  // The steps of a plan took these times (median of some runs, nanoseconds, by step; 0: not known). Steps of host units
  // that do the same work on the same unit class share one correction, the mean of theirs; what was noted before of the
  // same work is replaced.
  //
  // Relative to the plan's other steps, that is: times are divided by how much longer all of them took than they were
  // expected to. A machine that is slower now than when costs were measured would else make whatever has not run yet
  // look better than it is.
  void Note(const Plan& plan, std::span<const int64_t> step_ns);
  // How much longer the steps noted last took than expected.
  double pace() const { return pace_; }
  // Times corrections by this factor: by pace(), so that a plan all of whose steps were noted is predicted as it ran.
  void set_scale(double scale) { scale_ = scale; }

  StepCost OfStep(const Candidate& candidate) const override;
  std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                  UnitClassId unit_class) const override;

 private:
  using ReorderKey = std::tuple<std::vector<int64_t>, Form, Form, UnitClassId>;
  template <typename Key>
  using Corrections = std::map<Key, double>;  // nanoseconds that the work takes longer than alone

  std::string KeyOf(const Candidate& candidate) const;
  Estimate Corrected(Estimate estimate, double more_ns) const;

  const Graph& graph_;
  const Platform& platform_;
  Corrections<std::string> runs_;
  Corrections<ReorderKey> reorders_;
  double pace_ = 1, scale_ = 1;
};

}  // namespace pt
