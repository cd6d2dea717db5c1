// Hand-worked cases of the branch-wise dynamic programme.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/planning_world.h"
#include "test/testing/timed_world.h"

namespace pt::partitiontuner_test {
namespace {

using testing::PlanOf;
using testing::TimedWorld;
using testing::World;

constexpr UnitClassId kWide(1u);
constexpr UnitClassId kAccelerator(2u);

// A world of row-major single nodes and Conv+Relu pairs without overheads, whose copies take `copy_ns` each way.
World PlainWorld(Graph graph, int64_t copy_ns) {
  World world = testing::MakeWorld(std::move(graph), {.blocked = false});
  testing::LeaveCopiesOnly(world, copy_ns);
  for (const Candidate& candidate : world.candidates) world.costs.SetRunOf(candidate, 1'000'000);
  return world;
}

void SetTime(World& world, std::vector<uint32_t> nodes, UnitClassId unit_class, int64_t ns) {
  std::vector<NodeId> ids;
  for (uint32_t n : nodes) ids.push_back(NodeId(n));
  bool known = false;
  for (const Candidate& candidate : world.candidates) {
    if (candidate.nodes != ids || candidate.unit_class != unit_class) continue;
    world.costs.SetRunOf(candidate, ns);
    known = true;
  }
  REQUIRE(known);
}

TEST_CASE("PartitionTuner, ACheaperGroupReplacesTheSumOfItsNodes", "[planner]") {
  World world = PlainWorld(testing::Chain(4), 1000);  // Conv v0, Relu v1, Conv v2, Relu v3
  for (uint32_t n = 0; n < 4; ++n) SetTime(world, {n}, kWide, 100);
  SetTime(world, {0, 1}, kWide, 250);  // dearer than 100 + 100
  SetTime(world, {2, 3}, kWide, 150);  // cheaper
  const Plan plan = PlanOf(world, "partitiontuner");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], v1@cpu[0-1], v2+v3@cpu[0-1]");
  CHECK(plan.makespan.ns == 350);
}

TEST_CASE("PartitionTuner, ChangingTheDevicePaysTheCopies", "[planner]") {
  World world = PlainWorld(testing::Chain(3), 100);
  for (uint32_t n : {0u, 2u}) SetTime(world, {n}, kWide, 50);
  SetTime(world, {1}, kWide, 500);
  SetTime(world, {1}, kAccelerator, 100);
  // 50 + 100 + 100 + 100 + 50 with two copies; 600 without.
  Plan plan = PlanOf(world, "partitiontuner");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], copy v0, v1@acc:0#0, copy v1, v2@cpu[0-1]");
  CHECK(plan.makespan.ns == 400);
  // At 250 a copy the way there and back is dearer than the gain.
  for (size_t l = 0; l < world.platform.links.size(); ++l) world.costs.SetLink(LinkId(l), 250, 0);
  plan = PlanOf(world, "partitiontuner");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], v1@cpu[0-1], v2@cpu[0-1]");
  CHECK(plan.makespan.ns == 600);
}

TEST_CASE("PartitionTuner, SiblingBranchesOnDifferentDevicesRunAtOnce", "[planner]") {
  World world = PlainWorld(testing::Diamond(), 10);  // Conv v0; Relu v1; Conv v2; Add v3 — v2 and v3 may fuse
  for (uint32_t n : {0u, 1u, 3u}) SetTime(world, {n}, kWide, 100);
  SetTime(world, {2}, kWide, 400);
  SetTime(world, {2}, kAccelerator, 100);
  const Plan plan = PlanOf(world, "partitiontuner");
  // v0 to 100; copied to 110; then v2 is launched and runs to 210 beside v1; copied back to 220; v3 to 320.
  CHECK(plan.makespan.ns == 320);
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], copy v0, v2@acc:0#0, v1@cpu[0-1], copy v2, v3@cpu[0-1]");
}

TEST_CASE("PartitionTuner, AJoinPaysForInputsFromTheOtherDevice", "[planner]") {
  World world = PlainWorld(testing::Diamond(), 300);
  for (uint32_t n : {0u, 1u, 2u}) SetTime(world, {n}, kWide, 100);
  SetTime(world, {3}, kWide, 300);
  SetTime(world, {3}, kAccelerator, 10);
  // Two copies there and one back cost more than the join saves.
  const Plan plan = PlanOf(world, "partitiontuner");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], v1@cpu[0-1], v2@cpu[0-1], v3@cpu[0-1]");
}

// The plan of the rules "" or "paper", which is legal.
Plan LegalPlan(const World& world, std::string_view rules) {
  Plan plan = PlanOf(world, "partitiontuner", rules);
  CHECK(testing::FaultText(world, plan) == "");
  return plan;
}

TEST_CASE("PartitionTuner, AGroupReachesOverAJoin", "[planner]") {
  // v1 beside v2, v3; v2 and v3 as one take 120 instead of 200.
  const World world = TimedWorld(
      "input x float32[8]\nv0 = Relu(x) : float32[8]\nv1 = Tanh(v0) : float32[8]\nv2 = Relu(v0) : float32[8]\n"
      "v3 = Add(v1, v2) : float32[8]\nv4 = Tanh(v3) : float32[8]\noutput v4\n",
      {{{0}, 100}, {{1}, 100}, {{2}, 100}, {{3}, 100}, {{4}, 100}, {{2, 3}, 120}}, 10);
  const Plan plan = LegalPlan(world, "");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], v1@cpu[0-1], v2+v3@cpu[0-1], v4@cpu[0-1]");
  CHECK(plan.makespan.ns == 420);
  // As published the join begins a branch, where no group of it fits.
  CHECK(LegalPlan(world, "paper").makespan.ns == 500);
}

TEST_CASE("PartitionTunerPaper, GroupsArePairsOfNeighbours", "[planner]") {
  const World world = TimedWorld(
      "input x float32[8]\nv0 = Relu(x) : float32[8]\nv1 = Tanh(v0) : float32[8]\nv2 = Relu(v1) : float32[8]\n"
      "output v2\n",
      {{{0}, 100}, {{1}, 100}, {{2}, 100}, {{0, 1}, 150}, {{1, 2}, 260}, {{0, 1, 2}, 160}}, 10);
  const Plan paper = LegalPlan(world, "paper");
  CHECK(testing::OrderText(world, paper) == "v0+v1@cpu[0-1], v2@cpu[0-1]");
  CHECK(paper.makespan.ns == 250);
  CHECK(LegalPlan(world, "").makespan.ns == 160);
}

TEST_CASE("PartitionTunerPaper, EnteringABranchIsFreeAndLeavingIt", "[planner]") {
  // 80 on the accelerator instead of 200; the copies to it and back, which the rule does not see, take 200 more.
  const World world =
      TimedWorld("input x float32[8]\nv0 = Relu(x) : float32[8]\nv1 = Tanh(v0) : float32[8]\noutput v1\n",
                 {{{0}, 100, 40}, {{1}, 100, 40}}, 100);
  const Plan paper = LegalPlan(world, "paper");
  CHECK(testing::OrderText(world, paper) == "copy x, v0@acc:0#0, v1@acc:0#0, copy v1");
  CHECK(paper.makespan.ns == 280);
  CHECK(LegalPlan(world, "").makespan.ns == 200);
}

TEST_CASE("PartitionTunerPaper, ASwitchWithinABranchPaysTheCopies", "[planner]") {
  const std::string graph =
      "input x float32[8]\nv0 = Relu(x) : float32[8]\nv1 = Tanh(v0) : float32[8]\nv2 = Relu(v1) : float32[8]\n"
      "output v2\n";
  const std::vector<testing::TimedGroup> times = {{{0}, 50, 1000}, {{1}, 500, 100}, {{2}, 50, 1000}};
  // 50 + 100 + 100 + 100 + 50 with two copies; 600 without.
  CHECK(LegalPlan(TimedWorld(graph, times, 100), "paper").makespan.ns == 400);
  // At 250 a copy the way there and back is dearer than the gain.
  CHECK(LegalPlan(TimedWorld(graph, times, 250), "paper").makespan.ns == 600);
}

TEST_CASE("PartitionTunerPaper, ALevelWaitsForTheWholeLevelBefore", "[planner]") {
  // Levels: v0; v1 on the host beside v2 on the accelerator; v3 and v4, which read from v1 alone; v5.
  const World world = TimedWorld(
      "input x float32[8]\nv0 = Relu(x) : float32[8]\nv1 = Relu(v0) : float32[8]\nv2 = Tanh(v0) : float32[8]\n"
      "v3 = Relu(v1) : float32[8]\nv4 = Tanh(v1) : float32[8]\nv5 = Sum(v2, v3, v4) : float32[8]\noutput v5\n",
      {{{0}, 100}, {{1}, 100}, {{2}, 1000, 300}, {{3}, 100}, {{4}, 100}, {{5}, 100}}, 10);
  // v0 to 100, its copy to 110, v2 to 410; v3 to 510 and v4 to 610; then v2 is copied and v5 ends at 720.
  const Plan paper = LegalPlan(world, "paper");
  CHECK(testing::OrderText(world, paper) ==
        "v0@cpu[0-1], copy v0, v2@acc:0#0, v1@cpu[0-1], v3@cpu[0-1], v4@cpu[0-1], copy v2, v5@cpu[0-1]");
  CHECK(paper.steps[4].expected_start_ns == 410);
  CHECK(paper.makespan.ns == 720);
  // Without the barrier v4 is over at 400, before v2.
  CHECK(LegalPlan(world, "").makespan.ns == 520);
}

TEST_CASE("PartitionTunerPaper, SiblingsThatShareADeviceAllRunOneAfterAnother", "[planner]") {
  const World world = TimedWorld(
      "input x float32[8]\nv0 = Relu(x) : float32[8]\nv1 = Relu(v0) : float32[8]\nv2 = Tanh(v0) : float32[8]\n"
      "v3 = Abs(v0) : float32[8]\nv4 = Sum(v1, v2, v3) : float32[8]\noutput v4\n",
      {{{0}, 100}, {{1}, 1000, 100}, {{2}, 100}, {{3}, 100}, {{4}, 100}}, 10);
  // v1 from 110 to 210, then v2 and v3 on the host, then v1 is copied.
  CHECK(LegalPlan(world, "paper").makespan.ns == 210 + 200 + 10 + 100);
  CHECK(LegalPlan(world, "").makespan.ns == 100 + 200 + 10 + 100);
}

TEST_CASE("PartitionTuner, OtherRulesAreRefused", "[planner]") {
  const World world = TimedWorld("input x float32[8]\nv0 = Relu(x) : float32[8]\noutput v0\n", {{{0}, 100}}, 10);
  PlanningProblem problem = world.problem();
  problem.argument = "papers";
  const Result<Plan> plan = FindPlanner("partitiontuner").value()->make_plan(problem, nullptr);
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().code == ErrorCode::kUsage);
}

TEST_CASE("StaticType, SendsConvolutionsWhateverTheyCost", "[planner]") {
  World world = PlainWorld(testing::Chain(3), 100);
  for (uint32_t n : {0u, 1u, 2u}) {
    SetTime(world, {n}, kWide, 50);
    SetTime(world, {n}, kAccelerator, 60);
  }
  const Plan plan = PlanOf(world, "static-type");
  // The fused pair travels with its convolution but costs a million.
  CHECK(testing::OrderText(world, plan) == "copy x0, v0@acc:0#0, copy v0, v1@cpu[0-1], copy v1, v2@acc:0#0, copy v2");
}

TEST_CASE("PerOp, IgnoresTransfers", "[planner]") {
  World world = PlainWorld(testing::Chain(2), 100000);
  for (uint32_t n : {0u, 1u}) SetTime(world, {n}, kWide, 50);
  SetTime(world, {1}, kAccelerator, 49);
  const Plan plan = PlanOf(world, "per-op");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], copy v0, v1@acc:0#0, copy v1");
}

TEST_CASE("PerOp, AConvolutionTakesItsReluAlong", "[planner]") {
  // Relu alone is faster on the accelerator, where the convolution is slower.
  const std::string graph =
      "input x float32[1,8,4,4]\nconst w float32[8,8,1,1] ones\nv0 = Conv(x, w) : float32[1,8,4,4]\n"
      "v1 = Relu(v0) : float32[1,8,4,4]\noutput v1\n";
  World world = TimedWorld(graph, {{{0}, 100, 300}, {{1}, 50, 10}, {{0, 1}, 105, 90}}, 1000);
  // Copies ignored: 105, against 100 + 10. That the group is faster on the accelerator is not asked.
  CHECK(testing::OrderText(world, PlanOf(world, "per-op")) == "v0+v1@cpu[0-1]");
  world = TimedWorld(graph, {{{0}, 100, 300}, {{1}, 50, 10}, {{0, 1}, 115, 90}}, 1000);
  CHECK(testing::OrderText(world, PlanOf(world, "per-op")) == "v0@cpu[0-1], copy v0, v1@acc:0#0, copy v1");
}

TEST_CASE("PerOp, ChangesOfLayoutAreNoTransfers", "[planner]") {
  // Blocked kernels take 95 instead of 100; the way into the layout and back 50 each.
  World world = testing::MakeWorld(testing::Chain(2), {.fused = false, .accelerator = false});
  for (const Candidate& candidate : world.candidates) {
    const bool is_wide = candidate.unit_class == kWide;
    world.costs.SetRunOf(candidate, !is_wide ? 1'000'000 : candidate.variant == "blocked" ? 95 : 100);
  }
  world.costs.SetReorder([](std::span<const int64_t>, const Form&, const Form&, UnitClassId) { return 50; });
  CHECK(testing::OrderText(world, PlanOf(world, "per-op")) == "v0@cpu[0-1], v1@cpu[0-1]");
}

TEST_CASE("Single, ReordersOncePerFormNotPerReader", "[planner]") {
  // Blocked is faster everywhere, so the caller's row-major input is reordered once and the output once back.
  World world = testing::MakeWorld(testing::Residual(2), {.accelerator = false});
  for (const Candidate& candidate : world.candidates) {
    world.costs.SetRunOf(candidate, candidate.variant == "blocked" ? 1000 : 90000);
  }
  const Plan plan = PlanOf(world, "single");
  size_t reorders = 0;
  for (const Step& step : plan.steps) reorders += std::holds_alternative<Reorder>(step.work);
  CHECK(reorders == 2);
  CHECK(testing::FaultText(world, plan) == "");
}

}  // namespace
}  // namespace pt::partitiontuner_test
