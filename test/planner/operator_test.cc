// Hand-worked cases of scheduling by operator.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/planning_world.h"

namespace pt {
namespace {

using testing::World;

// Row-major single nodes; everything costs nothing but what a case sets, other units a million.
World BareDiamond(int64_t wide_ns, int64_t accelerator_ns) {
  World world = testing::MakeWorld(testing::Diamond(), {.fused = false, .blocked = false, .elided = false});
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
  return world;
}

Plan ByOperator(const World& world) {
  const Plan plan = FindPlanner("operator").value()->make_plan(world.problem(), nullptr).value();
  CHECK(testing::FaultText(world, plan) == "");
  return plan;
}

TEST_CASE("Operator, TheSecondReadyOperatorGoesToTheFreeDevice", "[planner]") {
  const World world = BareDiamond(100, 120);
  // v0 and v1 where they end sooner; v2 finds the host busy; v3 waits for v2 until 220.
  const Plan plan = ByOperator(world);
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], copy v0, v2@acc:0#0, v1@cpu[0-1], copy v2, v3@cpu[0-1]");
  CHECK(plan.makespan.ns == 320);
}

TEST_CASE("Operator, AFreeDeviceIsTakenHoweverSlow", "[planner]") {
  // Waiting for the host would end v2 at 300; the rule does not look.
  CHECK(ByOperator(BareDiamond(100, 5000)).makespan.ns == 5200);
}

}  // namespace
}  // namespace pt
