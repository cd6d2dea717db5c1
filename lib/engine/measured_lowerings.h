// MeasuredLowerings: what lowering parts of a model comes to on this machine. Plans are made by the planner asked for,
// and run on the budget's data beside the plan in fp32.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "lib/engine/planning_context.h"
#include "lib/engine/precision_budget.h"
#include "partitiontuner/engine/error_budget.h"

namespace pt {

// Parts are the groups that the plan without a budget lowers, or runs of neighbours among them where they are many.
class MeasuredLowerings : public LoweringTrials {
 public:
  static constexpr size_t kMostParts = 32;

  // Makes the plan in fp32, and the one without a budget. Errors: those of planning, of sessions and runs;
  // kInvalidInput and kUnsupported for data that does not fit the model.
  static Result<std::unique_ptr<MeasuredLowerings>> Make(const PlanningContext& context, const ErrorBudget& budget);

  size_t parts() const override { return parts_.size(); }
  int64_t fp32_ns() const override { return fp32_.plan.makespan.ns; }
  int64_t noise_ns() const override { return fp32_.plan.makespan.spread_ns; }
  int64_t saved_ns(size_t part) const override { return parts_[part].saved_ns; }
  Result<double> ErrorAlone(size_t part) override;
  Result<Outcome> Try(const Lowering& lowering) override;
  Result<double> Confirm(const Lowering& lowering) override;

  // Of a lowering that was tried, or of none.
  const Plan& plan(const Lowering& lowering) const;
  uint64_t plans_made() const { return plans_made_; }

 private:
  struct Part {
    std::set<NodeId> nodes;
    int64_t saved_ns = 0;
  };
  // Sessions share packed weights while they live, so those that hold all of them are kept.
  struct Kept {
    Plan plan;
    std::unique_ptr<Session> session;
  };
  using Outputs = std::vector<std::vector<Tensor>>;  // by data set

  MeasuredLowerings(const PlanningContext& context, const ErrorBudget& budget)
      : context_(context),
        budget_(budget),
        trial_watch_([watch = context.options.watch] { return IsInterrupted(watch); }) {}
  Status MakeEnds();
  Status MakeWanted();
  void MakeParts();
  int64_t SavedBy(const Candidate& lowered) const;
  std::set<NodeId> AllNodes() const;
  // watch: looks on, and ends it.
  Result<Plan> MakePlan(const Model& model, std::set<NodeId> in_fp32, uint64_t effort, PlanningWatch* watch);
  // A plan that is not known to keep the budget: kInterrupted once planning is to end.
  Result<Plan> MakeTrialPlan(const Model& model, std::set<NodeId> in_fp32, uint64_t effort);
  Result<Kept> Compiled(Plan plan) const;
  // By data set. ends: where it is true, kInterrupted between two sets.
  using Ends = std::function<bool()>;
  Result<Outputs> OutputsOf(Session& session, const Outputs& inputs, const Ends& ends) const;
  Result<std::vector<double>> ErrorsOf(Session& session, const Outputs& inputs, const Outputs& wanted,
                                       const Ends& ends) const;
  Ends ends() const {
    return [this] { return trial_watch_.ends(); };
  }

  const PlanningContext context_;
  const ErrorBudget& budget_;
  PlanningWatch trial_watch_;  // of plans that may be over the budget, whose makespans are not shown
  Kept fp32_, free_;           // nothing and everything lowered
  Outputs wanted_calibration_, wanted_confirmation_;  // the plan in fp32's
  std::vector<Part> parts_;
  std::map<Lowering, Plan> tried_;
  uint64_t plans_made_ = 0;
};

// The fastest plan found within the budget, its report filled. Where the watch of the options ends it, the fastest that
// was found by then and holds, the plan in fp32 at least; kInterrupted when there is not even that.
Result<Plan> PlanWithin(const PlanningContext& context, const ErrorBudget& budget);

}  // namespace pt
