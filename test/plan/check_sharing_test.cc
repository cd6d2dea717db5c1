// Bytes with two writers: slices and views that are laid where another value lies.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/plan/memory_plan.h"
#include "test/testing/plan_oracle.h"

namespace pt::check_sharing_test {
namespace {

using testing::HasFault;
using testing::MakeWorld;
using testing::World;

// Concat(a, b) is elided, Concat(a, c) copies: a can lie in one of them only.
struct Concatenations {
  World world = MakeWorld(testing::TwoConcatenations(), {.fused = false, .blocked = false, .accelerator = false});
  Plan plan = testing::PlanOf(world, "single", "cpu");
  const RunGroup* first = nullptr;
  const RunGroup* second = nullptr;

  Concatenations() {
    for (const Step& step : plan.steps) {
      const auto* group = std::get_if<RunGroup>(&step.work);
      if (group == nullptr || world.graph.node(plan.candidates[group->candidate.index()].nodes[0]).op != "Concat")
        continue;
      (first == nullptr ? first : second) = group;
    }
    REQUIRE(second != nullptr);
    if (At(first->in[0]).strides.empty()) std::swap(first, second);
    REQUIRE(first->in[0] == second->in[0]);
    REQUIRE_FALSE(At(first->in[1]).strides.empty());
    REQUIRE(At(second->in[1]).strides.empty());
    REQUIRE(testing::FaultText(world, plan) == "");
  }

  Placement& At(InstanceId instance) {
    std::vector<Placement>& placements = plan.memory.at(DeviceId(0u)).placements;
    return *std::find_if(placements.begin(), placements.end(),
                         [&](const Placement& placement) { return placement.instance == instance; });
  }
  // Places `instance` where `like` lies, with its strides.
  void LayOn(InstanceId instance, InstanceId like) {
    const Placement& there = At(like);
    Placement& moved = At(instance);
    moved.offset = there.offset;
    moved.bytes = there.bytes;
    moved.strides = there.strides;
  }
};

TEST_CASE("CheckPlan, TwoConcatenationsThatShareAnInputAreNotLaidOnTheSameBytes", "[plan]") {
  Concatenations c;
  c.LayOn(c.second->out[0], c.first->out[0]);
  c.LayOn(c.second->in[1], c.first->in[1]);
  CHECK(ElidedSteps(c.world.graph, c.plan) != ElidedSteps(c.world.graph, Concatenations().plan));
  CHECK(HasFault(c.world, c.plan, "slice_shared"));
  CHECK(testing::FirstBrokenRead(c.world, c.plan) != "");
}

TEST_CASE("CheckPlan, AConcatenationThatCopiesDoesNotWriteOverItsSlices", "[plan]") {
  Concatenations c;
  // Its result begins where the shared input lies, its second input stays elsewhere: the kernel runs.
  c.At(c.second->out[0]).offset = c.At(c.first->out[0]).offset;
  CHECK(HasFault(c.world, c.plan, "memory_overlap"));
}

TEST_CASE("CheckPlan, SlicesThatMeetAreNoSlices", "[plan]") {
  Concatenations c;
  SECTION("both on the first place") { c.At(c.first->in[1]).offset = c.At(c.first->in[0]).offset; }
  SECTION("one element too early") { c.At(c.first->in[1]).offset -= sizeof(float); }
  SECTION("in the wrong order") { std::swap(c.At(c.first->in[0]).offset, c.At(c.first->in[1]).offset); }
  CHECK(HasFault(c.world, c.plan, "memory_strides"));
}

TEST_CASE("CheckPlan, ASliceOfAnotherConcatenationIsOverwrittenByNobody", "[plan]") {
  Concatenations c;
  // Another value on the bytes of a slice while the whole is still to be read.
  c.At(c.second->in[1]).offset = c.At(c.first->out[0]).offset;
  CHECK(HasFault(c.world, c.plan, "memory_overlap"));
  CHECK(testing::FirstBrokenRead(c.world, c.plan) != "");
}

// x is read again after the step that may overwrite it through a view.
TEST_CASE("CheckPlan, AViewOfWhatOthersStillReadIsNotOverwritten", "[plan]") {
  size_t laid = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 20), {.blocked = false, .accelerator = false}, seed);
    const Plan plan = testing::PlanOf(world, "random", std::to_string(seed));
    for (const Step& step : plan.steps) {
      const auto* group = std::get_if<RunGroup>(&step.work);
      if (group == nullptr || plan.candidates[group->candidate.index()].aliases.empty()) continue;
      Plan edited = plan;
      std::vector<Placement>& placements = edited.memory.at(DeviceId(0u)).placements;
      const auto at = [&](InstanceId instance) {
        return std::find_if(placements.begin(), placements.end(),
                            [&](const Placement& placement) { return placement.instance == instance; });
      };
      const auto in = at(group->in[0]);
      const auto out = at(group->out[0]);
      if (in == placements.end() || out == placements.end() || in->offset == out->offset) continue;
      out->offset = in->offset;
      ++laid;
      INFO("seed " << seed << ", instance " << out->instance.value << " over " << in->instance.value);
      if (testing::FaultText(world, edited).empty()) CHECK(testing::FirstBrokenRead(world, edited) == "");
      if (testing::FirstBrokenRead(world, edited) != "") CHECK_FALSE(testing::FaultText(world, edited).empty());
    }
  }
  CHECK(laid > 50);
}

}  // namespace
}  // namespace pt::check_sharing_test
