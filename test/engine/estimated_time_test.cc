#include "partitiontuner/engine/estimated_time.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/cost/costs_over.h"
#include "test/testing/planning_world.h"

namespace pt::estimated_time_test {
namespace {

using testing::MakeWorld;
using testing::World;

// The world's costs, where those of some node are an estimate, or unknown on some device.
class SomeEstimated : public CostsOver {
 public:
  SomeEstimated(const World& world, NodeId estimated) : CostsOver(world.costs), estimated_(estimated) {}
  StepCost OfStep(const Candidate& candidate) const override {
    StepCost cost = under().OfStep(candidate);
    if (cost.run && candidate.nodes[0] == estimated_) cost.run->provenance = Provenance::kEstimated;
    return cost;
  }

 private:
  NodeId estimated_;
};

class NothingOn : public CostsOver {
 public:
  NothingOn(const World& world, DeviceId device) : CostsOver(world.costs), world_(world), device_(device) {}
  StepCost OfStep(const Candidate& candidate) const override {
    StepCost cost = under().OfStep(candidate);
    if (world_.platform.unit_class(candidate.unit_class).device == device_) cost.run.reset();
    return cost;
  }

 private:
  const World& world_;
  DeviceId device_;
};

TEST_CASE("EstimatedTime, IsTheShareOfStepsThatNobodyMeasured", "[engine]") {
  const World world = MakeWorld(testing::Chain(4), {.fused = false, .blocked = false, .accelerator = false});
  const Plan plan = testing::PlanOf(world, "single", "cpu");
  CHECK(EstimatedTimeOf(world.graph, world.platform, plan, &world.costs) == EstimatedTime());
  const SomeEstimated costs(world, NodeId(1u));
  const EstimatedTime estimated = EstimatedTimeOf(world.graph, world.platform, plan, &costs);
  int64_t expected_ns = 0;
  for (const Step& step : plan.steps) {
    const auto* group = std::get_if<RunGroup>(&step.work);
    if (group != nullptr && plan.candidates[group->candidate.index()].nodes[0] == NodeId(1u)) {
      expected_ns += step.expected_ns;
    }
  }
  REQUIRE(expected_ns > 0);
  CHECK(estimated.ns == expected_ns);
  CHECK(estimated.share == Catch::Approx(static_cast<double>(expected_ns) / static_cast<double>(plan.makespan.ns)));
  CHECK(estimated.unsized_ns == 0);
}

TEST_CASE("EstimatedTime, IsAllWhereNothingWasMeasured", "[engine]") {
  const World world = MakeWorld(testing::Chain(3), {.fused = false, .blocked = false, .accelerator = false});
  const Plan plan = testing::PlanOf(world, "single", "cpu");
  const EstimatedTime estimated = EstimatedTimeOf(world.graph, world.platform, plan, nullptr);
  CHECK(estimated.share > 0.99);
  CHECK(estimated.unsized_operators.empty());
}

TEST_CASE("UnmeasuredDevices, AreThoseWhereNothingHasACost", "[engine]") {
  const World world = MakeWorld(testing::Chain(3));
  Model model;
  model.graph = std::make_shared<const Graph>(world.graph);
  model.candidates = world.candidates;
  CHECK(UnmeasuredDevices(model, world.platform, world.costs).empty());
  for (size_t d = 0; d < world.platform.devices.size(); ++d) {
    const NothingOn costs(world, DeviceId(d));
    CHECK(UnmeasuredDevices(model, world.platform, costs) == std::vector<DeviceId>{DeviceId(d)});
  }
}

}  // namespace
}  // namespace pt::estimated_time_test
