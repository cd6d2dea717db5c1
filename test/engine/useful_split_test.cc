// When a split is worth having, by what its prediction may be off.
#include "lib/engine/useful_split.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/cost/costs_over.h"
#include "test/testing/planning_world.h"

namespace pt::useful_split_test {
namespace {

using testing::MakeWorld;
using testing::World;

// The world's costs, each with the same relative error.
class UnsureCosts : public CostsOver {
 public:
  UnsureCosts(const CostModel& costs, double error) : CostsOver(costs), error_(error) {}
  StepCost OfStep(const Candidate& candidate) const override {
    StepCost cost = under().OfStep(candidate);
    cost.run = Unsure(cost.run);
    return cost;
  }
  Estimate Copy(uint64_t bytes, LinkId link) const override { return *Unsure(under().Copy(bytes, link)); }
  std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                  UnitClassId unit_class) const override {
    return Unsure(under().Reorder(dims, from, to, unit_class));
  }

 private:
  std::optional<Estimate> Unsure(std::optional<Estimate> estimate) const {
    if (estimate) estimate->relative_error = error_;
    return estimate;
  }
  double error_;
};

TEST_CASE("ErrorNs, IsTheWidestOfWhatIsKnown", "[engine]") {
  Estimate estimate;
  estimate.ns = 1000;
  CHECK(ErrorNs(estimate) == 0);
  estimate.spread_ns = 20;
  CHECK(ErrorNs(estimate) == 20);
  estimate.relative_error = 0.05;
  CHECK(ErrorNs(estimate) == 50);
  estimate.low_ns = 800, estimate.high_ns = 1100;
  CHECK(ErrorNs(estimate) == 150);
}

TEST_CASE("GainOver, APlanGainsNothingOverItselfForSure", "[engine]") {
  const World world = MakeWorld(testing::Inception(2));
  const UnsureCosts costs(world.costs, 0.3);
  const Plan plan = testing::PlanOf(world, "single", "cpu");
  const PredictedGain gain = GainOver(world.graph, world.platform, costs, plan, plan);
  CHECK(gain.share == 0);
  CHECK(gain.uncertainty == 0);
  CHECK_FALSE(gain.is_sure());
}

TEST_CASE("GainOver, OnlyWhatDiffersCanBeOff", "[engine]") {
  // Every time is off by 5 %; of a plan of many equal steps one is left out: the difference is off by its 5 % alone.
  const World world = MakeWorld(testing::Chain(30), {.fused = false, .blocked = false, .accelerator = false});
  const UnsureCosts costs(world.costs, 0.05);
  const Plan whole = testing::PlanOf(world, "single", "cpu");
  REQUIRE(whole.report.critical_path.size() == 30);
  Plan part = whole;
  const StepId last = part.report.critical_path.back();
  part.report.critical_path.pop_back();
  const Step& step = whole.steps[last.index()];
  const int64_t ns = world.costs.OfStep(whole.candidates[std::get<RunGroup>(step.work).candidate.index()]).run->ns;
  part.makespan.ns -= ns;
  const PredictedGain gain = GainOver(world.graph, world.platform, costs, part, whole);
  const auto whole_ns = static_cast<double>(whole.makespan.ns);
  CHECK(std::abs(gain.share - static_cast<double>(ns) / whole_ns) < 1e-12);
  CHECK(std::abs(gain.uncertainty - 0.05 * static_cast<double>(ns) / whole_ns) < 1e-12);
  CHECK(gain.is_sure());
}

TEST_CASE("GainOver, EqualKernelsAreOffTogether", "[engine]") {
  // A path of one step once, and of the same step three times: the difference is off by twice the error of one.
  const World world = MakeWorld(testing::Chain(30), {.fused = false, .blocked = false, .accelerator = false});
  const UnsureCosts costs(world.costs, 0.05);
  const Plan whole = testing::PlanOf(world, "single", "cpu");
  const StepId step = whole.report.critical_path.front();
  Plan once = whole, thrice = whole;
  once.report.critical_path = {step};
  thrice.report.critical_path = {step, step, step};
  const Candidate& candidate = whole.candidates[std::get<RunGroup>(whole.steps[step.index()].work).candidate.index()];
  const double error = 2 * 0.05 * static_cast<double>(world.costs.OfStep(candidate).run->ns);
  const double off = GainOver(world.graph, world.platform, costs, once, thrice).uncertainty;
  CHECK(std::abs(off - error / static_cast<double>(whole.makespan.ns)) < 1e-12);
}

}  // namespace
}  // namespace pt::useful_split_test
