// What differs between plans, one difference at a time.
#include "partitiontuner/plan/plan_diff.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "test/testing/planning_world.h"

namespace pt::plan_diff_test {
namespace {

using testing::MakeWorld;
using testing::PlanOf;
using testing::World;

// A plan that knows its machine and graph, as one from a file does.
Plan Known(const World& world, Plan plan) {
  plan.made_for.platform = world.platform;
  plan.made_for.graph_hash = ToHex(GraphHash(world.graph));
  return plan;
}

Plan PlanOn(World& world, const std::vector<std::string>& classes, std::string_view planner = "search") {
  world.constraints.pin.clear();
  for (size_t n = 0; n < classes.size(); ++n) {
    world.constraints.pin.emplace_back(NodeId(n), FindUnitClass(world.platform, classes[n]));
  }
  return Known(world, PlanOf(world, planner));
}

std::vector<PlanDifference> Of(const Plan& a, const Plan& b, const std::string& what) {
  std::vector<PlanDifference> found = DiffPlans(a, b).value();
  std::erase_if(found, [&](const PlanDifference& difference) { return difference.what != what; });
  return found;
}

TEST_CASE("DiffPlans, TheSamePlanHasNoDifference", "[plan]") {
  const World world = MakeWorld(testing::Inception(2));
  const Plan plan = Known(world, PlanOf(world, "search"));
  CHECK(DiffPlans(plan, plan)->empty());
  CHECK(ToText(*DiffPlans(plan, plan)) == "the plans do the same\n");
}

TEST_CASE("DiffPlans, NodesThatGoTheSameWayAreToldTogether", "[plan]") {
  World world = MakeWorld(testing::Chain(6), {.fused = false, .blocked = false});
  const Plan host = PlanOn(world, std::vector<std::string>(6, "cpu/2"));
  const Plan mixed = PlanOn(world, {"acc:0", "acc:0", "acc:0", "cpu/2", "cpu/2", "acc:0"});
  const PlanDifference expected{"unit", "nodes 0-2, 5", "cpu[0-1]", "acc:0#0"};
  CHECK(Of(host, mixed, "unit") == std::vector<PlanDifference>{expected});
  CHECK(Of(host, mixed, "groups").empty());
  CHECK(ToText({expected}) == "unit of nodes 0-2, 5: cpu[0-1] in A, acc:0#0 in B\n");
  CHECK(Of(host, mixed, "copies").size() == 1);
  CHECK(Of(host, mixed, "copies")[0].a == "0");
  // The other way round.
  CHECK(Of(mixed, host, "unit") == std::vector<PlanDifference>{{"unit", "nodes 0-2, 5", "acc:0#0", "cpu[0-1]"}});
}

TEST_CASE("DiffPlans, OtherGroupsAreToldByStretch", "[plan]") {
  // Conv, Relu, Conv, Relu: fused and not.
  const World world = MakeWorld(testing::Chain(4), {.blocked = false, .accelerator = false});
  const auto in_groups_of = [&](size_t size) {
    World some = world;
    std::erase_if(some.candidates, [&](const Candidate& candidate) { return candidate.nodes.size() != size; });
    return Known(some, PlanOf(some, "single", "cpu"));
  };
  const Plan fused = in_groups_of(2), apart = in_groups_of(1);
  REQUIRE(fused.steps.size() == 2);
  REQUIRE(apart.steps.size() == 4);
  CHECK(Of(fused, apart, "groups") == std::vector<PlanDifference>{{"groups", "nodes 0, 1", "{0, 1}", "{0} {1}"},
                                                                  {"groups", "nodes 2, 3", "{2, 3}", "{2} {3}"}});
  CHECK(Of(fused, apart, "makespan").size() == 1);
  CHECK(Of(fused, apart, "makespan")[0].b.find(" %)") != std::string::npos);
}

TEST_CASE("DiffPlans, KernelsAndLayoutsOfEqualGroups", "[plan]") {
  World world = MakeWorld(testing::Chain(1), {.fused = false, .accelerator = false});
  const auto only = [&](const std::string& variant) {
    World some = world;
    std::erase_if(some.candidates, [&](const Candidate& candidate) { return candidate.variant != variant; });
    return Known(some, PlanOf(some, "single", "cpu"));
  };
  const Plan plain = only("plain"), blocked = only("blocked");
  const std::vector<PlanDifference> kernels = Of(plain, blocked, "kernel"), layouts = Of(plain, blocked, "layout");
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].a == "made-up plain in fp32");
  REQUIRE(layouts.size() == 1);
  CHECK(layouts[0].where == "node 0");
  CHECK(layouts[0].a == "abcd:float32 to abcd:float32");
  CHECK(Of(plain, blocked, "reorders").size() == 1);
  CHECK_FALSE(Of(plain, blocked, "memory").empty());
}

TEST_CASE("DiffPlans, TheFirstChangeOfOrderOfAUnit", "[plan]") {
  // Two branches of a diamond on one core, in either order.
  World world = MakeWorld(testing::Diamond(), {.fused = false, .blocked = false, .accelerator = false});
  const Plan a = PlanOn(world, std::vector<std::string>(4, "cpu/2"));
  Plan b = a;
  REQUIRE(b.steps.size() == 4);
  std::swap(b.steps[1], b.steps[2]);
  const auto nodes_of = [&](const Plan& plan, size_t s) {
    return "node " + std::to_string(
                         plan.candidates[std::get<RunGroup>(plan.steps[s].work).candidate.index()].nodes.front().value);
  };
  CHECK(Of(a, b, "order") ==
        std::vector<PlanDifference>{{"order", "cpu[0-1]", nodes_of(a, 1) + " before " + nodes_of(a, 2),
                                     nodes_of(a, 2) + " before " + nodes_of(a, 1)}});
}

TEST_CASE("DiffPlans, NodesOfOtherGraphsAreNotCompared", "[plan]") {
  World one = MakeWorld(testing::Chain(3)), other = MakeWorld(testing::Chain(4));
  const Plan a = Known(one, PlanOf(one, "heft")), b = Known(other, PlanOf(other, "search"));
  CHECK(Of(a, b, "graph").size() == 1);
  CHECK(Of(a, b, "planner").size() == 1);
  CHECK(Of(a, b, "unit").empty());
  CHECK(Of(a, b, "groups").empty());
}

TEST_CASE("DiffPlans, RefusesWhatThePlanLacks", "[plan]") {
  const World world = MakeWorld(testing::Chain(3));
  const Plan good = Known(world, PlanOf(world, "search"));
  Plan bad = good;
  bad.steps[0].unit = UnitId(1000u);
  CHECK(DiffPlans(good, bad).error().message == "plan B: step 0 has no unit");
  bad = good;
  bad.made_for.platform = {};
  CHECK(DiffPlans(bad, good).error().code == ErrorCode::kInvalidInput);
  bad = good;
  bad.candidates.clear();
  CHECK_FALSE(DiffPlans(bad, good).ok());
  bad = good;
  bad.memory[DeviceId(9u)].bytes = 1;
  CHECK_FALSE(DiffPlans(bad, good).ok());
}

}  // namespace
}  // namespace pt::plan_diff_test
