// Where steps stand in pictures: wide steps cover the lanes of all their cores.
#include "partitiontuner/plan/lanes.h"

#include <catch2/catch_test_macros.hpp>

#include "test/testing/planning_world.h"

namespace pt::lanes_test {
namespace {

TEST_CASE("StepLanes, WideStepsCoverTheLanesOfTheirCores", "[plan]") {
  const Platform platform = testing::Cores(4);
  Plan plan;
  for (size_t u = 0; u < platform.units.size(); ++u) {
    Step step;
    step.unit = UnitId(u);
    step.expected_ns = 10;
    plan.steps.push_back(step);
  }
  const StepLanes lanes = StepLanesOf(platform, plan);
  CHECK(lanes.names == std::vector<std::string>{"core 0", "core 1", "core 2", "core 3"});
  for (size_t u = 0; u < platform.units.size(); ++u) {
    uint32_t covered = 0;
    for (const LaneRun& run : lanes.of_unit.at(UnitId(u))) covered += run.count;
    CHECK(covered == platform.unit_class(platform.units[u].unit_class).cores);
  }
}

TEST_CASE("StepLanes, UnitsThatAreNoCoresStandAlone", "[plan]") {
  const testing::World world = testing::MakeWorld(testing::Inception(2));
  const Plan plan = testing::PlanOf(world, "search");
  const StepLanes lanes = StepLanesOf(world.platform, plan);
  for (const Step& step : plan.steps) {
    const Unit& unit = world.platform.unit(step.unit);
    if (step.expected_ns <= 0 || world.platform.unit_class(unit.unit_class).on_host()) continue;
    const std::vector<LaneRun>& runs = lanes.of_unit.at(step.unit);
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].count == 1);
    CHECK(lanes.names[runs[0].first] == unit.name);
  }
}

TEST_CASE("StepLanes, WhatTakesNoTimeHasNone", "[plan]") {
  const Platform platform = testing::TwoCores();
  Plan plan;
  plan.steps.resize(1);
  CHECK(StepLanesOf(platform, plan).names.empty());
}

}  // namespace
}  // namespace pt::lanes_test
