// Corrections by what steps took in a plan that ran: exact numbers from tables.
#include "lib/engine/traced_costs.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "partitiontuner/plan/timeline.h"
#include "partitiontuner/planner/planner.h"
#include "test/testing/planning_world.h"

namespace pt::traced_costs_test {
namespace {

using testing::MakeWorld;
using testing::World;

Plan PlanOf(const World& world) {
  PlanningProblem problem = world.problem();
  problem.argument = "cpu";
  return FindPlanner("single").value()->make_plan(problem, nullptr).value();
}

// A chain on the host, and its plan.
struct Scene {
  World world = MakeWorld(testing::Chain(2), {.accelerator = false});
  Plan plan = PlanOf(world);
  TracedCosts costs{world.graph, world.platform, world.costs};

  std::vector<int64_t> Expected() const {
    std::vector<int64_t> ns;
    for (const Step& step : plan.steps) ns.push_back(step.expected_ns);
    return ns;
  }
  const Candidate* Ran(size_t s) const {
    const auto* group = std::get_if<RunGroup>(&plan.steps[s].work);
    return group == nullptr ? nullptr : &plan.candidates[group->candidate.index()];
  }
  // The first step that runs a group that no other step runs alike.
  size_t Some() const {
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      if (Ran(s) != nullptr) return s;
    }
    FAIL("the plan runs nothing");
    return 0;
  }
};

TEST_CASE("TracedCosts, StepsThatTookWhatWasExpectedChangeNothing", "[engine]") {
  Scene scene;
  scene.costs.Note(scene.plan, scene.Expected());
  CHECK(scene.costs.pace() == 1.0);
  for (size_t s = 0; s < scene.plan.steps.size(); ++s) {
    if (const Candidate* ran = scene.Ran(s))
      CHECK(scene.costs.OfStep(*ran).run->ns == scene.world.costs.OfStep(*ran).run->ns);
  }
  const Timeline timeline = SimulatePlan(scene.world.graph, scene.world.platform, scene.plan, scene.costs).value();
  CHECK(timeline.makespan_ns == scene.plan.makespan.ns);
}

TEST_CASE("TracedCosts, ASlowerMachineIsPaceAndNoCorrection", "[engine]") {
  Scene scene;
  std::vector<int64_t> twice = scene.Expected();
  for (int64_t& ns : twice) ns *= 2;
  scene.costs.Note(scene.plan, twice);
  CHECK(scene.costs.pace() == 2.0);
  const Candidate& ran = *scene.Ran(scene.Some());
  const int64_t alone = scene.world.costs.OfStep(ran).run->ns;
  CHECK(scene.costs.OfStep(ran).run->ns == alone);
  scene.costs.set_scale(scene.costs.pace());
  CHECK(scene.costs.OfStep(ran).run->ns == 2 * alone);
}

TEST_CASE("TracedCosts, AStepThatTakesLongerThanTheOthersIsCorrectedAndLaterTimesReplaceIt", "[engine]") {
  Scene scene;
  const size_t slow = scene.Some();
  const Candidate& ran = *scene.Ran(slow);
  const int64_t alone = scene.world.costs.OfStep(ran).run->ns;
  std::vector<int64_t> times = scene.Expected();
  int64_t sum = 0;
  for (int64_t ns : times) sum += ns;
  times[slow] += sum;  // all steps together take twice as long now
  scene.costs.Note(scene.plan, times);
  CHECK(scene.costs.pace() == 2.0);
  const double more = static_cast<double>(times[slow]) / 2 - static_cast<double>(scene.plan.steps[slow].expected_ns);
  CHECK(std::abs(static_cast<double>(scene.costs.OfStep(ran).run->ns - alone) - more) <= 1);
  CHECK(scene.costs.OfStep(ran).run->provenance == Provenance::kMeasured);
  // With the plan predicted anew, the same times are what is expected but for the pace.
  const Timeline timeline = SimulatePlan(scene.world.graph, scene.world.platform, scene.plan, scene.costs).value();
  for (size_t s = 0; s < scene.plan.steps.size(); ++s) {
    scene.plan.steps[s].expected_ns = timeline.end_ns[s] - timeline.start_ns[s];
  }
  const int64_t corrected = scene.costs.OfStep(ran).run->ns;
  scene.costs.Note(scene.plan, scene.Expected());
  CHECK(scene.costs.OfStep(ran).run->ns == corrected);
}

// As of nested graphs: a placeholder that is twenty times too small is no slow machine.
TEST_CASE("TracedCosts, StepsThatNobodyMeasuredSayNothingOfThePace", "[engine]") {
  Scene scene;
  const size_t guessed = scene.Some();
  class Guessed : public CostsOver {
   public:
    Guessed(const CostModel& costs, const Candidate& guessed) : CostsOver(costs), guessed_(guessed) {}
    StepCost OfStep(const Candidate& candidate) const override {
      StepCost cost = under().OfStep(candidate);
      if (cost.run && candidate.nodes == guessed_.nodes) cost.run->provenance = Provenance::kEstimated;
      return cost;
    }

   private:
    const Candidate& guessed_;
  };
  const Candidate& ran = *scene.Ran(guessed);
  const Guessed alone(scene.world.costs, ran);
  for (const int64_t times : {200, 1}) {
    TracedCosts costs(scene.world.graph, scene.world.platform, alone);
    std::vector<int64_t> taken = scene.Expected();
    taken[guessed] = scene.plan.steps[guessed].expected_ns * times / 10;
    costs.Note(scene.plan, taken);
    CHECK(costs.pace() == 1.0);
    const int64_t more = taken[guessed] - scene.plan.steps[guessed].expected_ns;
    CHECK(costs.OfStep(ran).run->ns == std::max<int64_t>(1, alone.OfStep(ran).run->ns + more));
    CHECK(costs.OfStep(ran).run->provenance == Provenance::kMeasured);
  }
}

TEST_CASE("TracedCosts, StepsWithoutTimesAndImpossibleTimesAreLeftAlone", "[engine]") {
  Scene scene;
  scene.costs.Note(scene.plan, std::vector<int64_t>(scene.plan.steps.size(), 0));
  CHECK(scene.costs.pace() == 1.0);
  const size_t fast = scene.Some();
  std::vector<int64_t> times = scene.Expected();
  times[fast] = 1;
  scene.costs.Note(scene.plan, times);
  const Candidate& ran = *scene.Ran(fast);
  CHECK(scene.costs.OfStep(ran).run->ns >= scene.world.costs.OfStep(ran).run->ns / 4);
}

}  // namespace
}  // namespace pt::traced_costs_test
