// Hand-worked cases of scheduling by operator, by path and by duet.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/graph_text.h"
#include "test/testing/planning_world.h"
#include "test/testing/timed_world.h"

namespace pt::operator_test {
namespace {

using testing::World;

// Row-major single nodes; everything costs nothing but what a case sets, other units a million.
void MakeBare(World& world, int64_t wide_ns, int64_t accelerator_ns) {
  for (size_t c = 0; c < world.platform.unit_classes.size(); ++c) {
    world.costs.SetOverhead(UnitClassId(c), 0);
    for (size_t d = 0; d < world.platform.unit_classes.size(); ++d) {
      world.costs.SetWait(UnitClassId(c), UnitClassId(d), 0);
      world.costs.SetFetch(UnitClassId(c), UnitClassId(d), 0);
    }
  }
  for (size_t l = 0; l < world.platform.links.size(); ++l) world.costs.SetLink(LinkId(l), 0, 0);
  const UnitClassId wide = FindUnitClass(world.platform, "cpu/2"),
                    accelerator = world.platform.unit(FindUnit(world.platform, "acc:0#0")).unit_class;
  for (const Candidate& candidate : world.candidates) {
    const bool is_wide = candidate.unit_class == wide, is_accelerator = candidate.unit_class == accelerator;
    world.costs.SetRunOf(candidate, is_wide ? wide_ns : is_accelerator ? accelerator_ns : 1'000'000);
  }
}

World BareDiamond(int64_t wide_ns, int64_t accelerator_ns) {
  World world = testing::MakeWorld(testing::Diamond(), {.fused = false, .blocked = false, .elided = false});
  MakeBare(world, wide_ns, accelerator_ns);
  return world;
}

Plan PlanBy(const World& world, std::string_view planner) {
  Plan plan = testing::PlanOf(world, planner);
  CHECK(testing::FaultText(world, plan) == "");
  return plan;
}

TEST_CASE("Operator, TheSecondReadyOperatorGoesToTheFreeDevice", "[planner]") {
  const World world = BareDiamond(100, 120);
  // v0 and v1 where they end sooner; v2 finds the host busy; v3 waits for v2 until 220.
  const Plan plan = PlanBy(world, "operator");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], copy v0, v2@acc:0#0, v1@cpu[0-1], copy v2, v3@cpu[0-1]");
  CHECK(plan.makespan.ns == 320);
}

TEST_CASE("Operator, AFreeDeviceIsTakenHoweverSlow", "[planner]") {
  // Waiting for the host would end v2 at 300; the rule does not look.
  CHECK(PlanBy(BareDiamond(100, 5000), "operator").makespan.ns == 5200);
}

TEST_CASE("Operator, AUnitThatWaitsForACopyIsNotFree", "[planner]") {
  // v2 goes to the accelerator at 100, since v1 has the host; its input is there at 600, it ends at 720. v5 is ready at
  // 200: behind v4 on the host it ends at 400, on the accelerator at 840, and not at 340 as without the copy.
  const World world = testing::TimedWorld(
      "input x float32[8]\nv0 = Relu(x) : float32[8]\nv1 = Relu(v0) : float32[8]\nv2 = Tanh(v0) : float32[8]\n"
      "v4 = Relu(v1) : float32[8]\nv5 = Tanh(v1) : float32[8]\nv6 = Sum(v4, v5, v2) : float32[8]\noutput v6\n",
      {{{0}, 100, 120}, {{1}, 100, 120}, {{2}, 100, 120}, {{3}, 100, 120}, {{4}, 100, 120}, {{5}, 100, 120}}, 500);
  const Plan plan = PlanBy(world, "operator");
  CHECK(testing::OrderText(world, plan) ==
        "v0@cpu[0-1], copy v0, v2@acc:0#0, v1@cpu[0-1], v4@cpu[0-1], v5@cpu[0-1], copy v2, v6@cpu[0-1]");
  CHECK(plan.makespan.ns == 720 + 500 + 100);
}

TEST_CASE("Operator, TakesTheLayoutThatIsCheapestWithItsReorders", "[planner]") {
  // Blocked kernels take 95 instead of 100, and a reorder 50.
  World world = testing::MakeWorld(testing::Chain(2), {.fused = false});
  MakeBare(world, 100, 1'000'000);
  for (const Candidate& candidate : world.candidates) {
    if (candidate.variant == "blocked")
      world.costs.SetRunOf(candidate, world.costs.OfStep(candidate).run->ns * 95 / 100);
  }
  world.costs.SetReorder([](std::span<const int64_t>, const Form&, const Form&, UnitClassId) { return 50; });
  const Plan plan = PlanBy(world, "operator");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], v1@cpu[0-1]");
  CHECK(plan.makespan.ns == 200);
}

TEST_CASE("Path, ABranchGoesToOneUnitAndTheLongestFirst", "[planner]") {
  // v1 and v2, v3 are the branches between v0 and v4. Both are ready at 100. The longer one is handed out first, to the
  // host, where it ends sooner; the other finds the host busy and goes to the accelerator. By operators it would be the
  // other way round, since v1 stands first, and v3 would come back to the host.
  World world = testing::MakeWorld(ParseGraph("input x float32[2,8,4,4]\n"
                                              "v0 = Relu(x) : float32[2,8,4,4]\nv1 = Relu(v0) : float32[2,8,4,4]\n"
                                              "v2 = Tanh(v0) : float32[2,8,4,4]\nv3 = Tanh(v2) : float32[2,8,4,4]\n"
                                              "v4 = Add(v1, v3) : float32[2,8,4,4]\noutput v4\n")
                                       .value(),
                                   {.fused = false, .blocked = false, .elided = false});
  MakeBare(world, 100, 120);
  const Plan plan = PlanBy(world, "path");
  CHECK(testing::OrderText(world, plan) ==
        "v0@cpu[0-1], copy v0, v1@acc:0#0, v2@cpu[0-1], v3@cpu[0-1], copy v1, v4@cpu[0-1]");
  CHECK(plan.makespan.ns == 400);
  CHECK(testing::OrderText(world, PlanBy(world, "operator")) ==
        "v0@cpu[0-1], copy v0, v2@acc:0#0, v1@cpu[0-1], copy v2, v3@cpu[0-1], v4@cpu[0-1]");
}

World ConvolutionForTheAccelerator() {
  World world = BareDiamond(100, 100);
  for (const Candidate& candidate : world.candidates) {
    const bool is_host = world.platform.unit_class(candidate.unit_class).on_host();
    if (candidate.nodes == std::vector{NodeId(2u)} && is_host) world.costs.SetRunOf(candidate, 300);
    if (candidate.nodes != std::vector{NodeId(2u)} && !is_host) world.costs.SetRunOf(candidate, 200);
  }
  return world;
}

TEST_CASE("Duet, TheCriticalPathTakesItsFasterDeviceAndOthersWhatEndsFirst", "[planner]") {
  // v1 beside v2: the convolution v2 is the critical path, 300 on the host and 100 on the accelerator; v1 takes 100 on
  // the host and would end later behind v2.
  const World world = ConvolutionForTheAccelerator();
  const Plan plan = PlanBy(world, "duet");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], copy v0, v2@acc:0#0, v1@cpu[0-1], copy v2, v3@cpu[0-1]");
  CHECK(plan.makespan.ns == 300);
}

TEST_CASE("Duet, AMoveThatCostsMoreThanItGainsIsTakenBack", "[planner]") {
  // As above, but each copy takes 500: the first placement ignores it, the correction brings v2 home.
  World world = ConvolutionForTheAccelerator();
  for (size_t l = 0; l < world.platform.links.size(); ++l) world.costs.SetLink(LinkId(l), 500, 0);
  CHECK(PlanBy(world, "duet").makespan.ns == 600);
}

}  // namespace
}  // namespace pt::operator_test
