#include "partitiontuner/plan/memory_plan.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/plan/check_plan.h"
#include "partitiontuner/plan/happens_before.h"
#include "test/testing/plan_oracle.h"

namespace pt::memory_plan_test {
namespace {

using testing::MakeWorld;
using testing::PlanOf;
using testing::World;

// What any placement needs at least: the most bytes in use at once when steps run in list order.
uint64_t PeakBytes(const World& world, const Plan& plan, DeviceId device) {
  std::vector<std::pair<size_t, size_t>> lives(plan.instances.size(), {SIZE_MAX, 0});
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto touch = [&](InstanceId id) {
      auto& [first, last] = lives[id.index()];
      first = std::min(first, s);
      last = std::max(last, s);
    };
    if (const auto* group = std::get_if<RunGroup>(&plan.steps[s].work)) {
      for (InstanceId id : group->in) touch(id);
      for (InstanceId id : group->out) touch(id);
    } else if (const auto* reorder = std::get_if<Reorder>(&plan.steps[s].work)) {
      touch(reorder->from);
      touch(reorder->to);
    }
  }
  uint64_t peak = 0;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < lives.size(); ++i) {
      const Instance& instance = plan.instances[i];
      if (instance.device != device || IsExternal(world.graph, plan.lent_on, instance)) continue;
      if (lives[i].first <= s && s <= lives[i].second) {
        int64_t elements = 4;
        for (const Dim& dim : world.graph.value(instance.value).type.dims) elements *= dim.value;
        bytes += static_cast<uint64_t>(elements);
      }
    }
    peak = std::max(peak, bytes);
  }
  return peak;
}

TEST_CASE("HappensBefore, IsTheClosureOfListsAndWaits", "[plan]") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 30), {}, seed);
    const Plan plan = PlanOf(world, "random", std::to_string(seed));
    const HappensBefore order(world.platform, plan);
    const size_t n = plan.steps.size();
    std::vector<std::vector<bool>> happens_before(n, std::vector<bool>(n, false));
    for (size_t b = 0; b < n; ++b) {
      for (size_t a = b; a-- > 0;) {
        const bool list = plan.steps[a].unit == plan.steps[b].unit ||
                          UnitsConflict(world.platform, plan.steps[a].unit, plan.steps[b].unit);
        const auto& after = plan.steps[b].after;
        if (!list && std::find(after.begin(), after.end(), StepId(a)) == after.end()) continue;
        happens_before[a][b] = true;
        for (size_t c = 0; c < a; ++c) happens_before[c][b] = happens_before[c][b] || happens_before[c][a];
      }
      for (size_t a = 0; a < b; ++a) {
        INFO("seed " << seed << ", steps " << a << " and " << b);
        CHECK(order.Before(StepId(a), StepId(b)) == happens_before[a][b]);
        CHECK_FALSE(order.Before(StepId(b), StepId(a)));
      }
      // No wait is implied by the lists and the other waits.
      for (StepId kept : plan.steps[b].after) {
        for (StepId other : plan.steps[b].after)
          CHECK_FALSE((kept != other && happens_before[kept.index()][other.index()]));
      }
    }
  }
}

TEST_CASE("PlanMemory, NeverLosesAValueInAnyOrder", "[plan]") {
  size_t elided = 0;
  size_t shared = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 8 + seed % 30), {}, seed);
    const Plan plan = PlanOf(world, "random", std::to_string(seed));
    INFO("seed " << seed);
    CHECK(testing::FirstBrokenRead(world, plan) == "");
    CHECK(testing::FaultText(world, plan) == "");
    for (bool e : ElidedSteps(world.graph, plan)) elided += e;
    for (const auto& [device, arena] : plan.memory) {
      uint64_t sum = 0;
      for (const Placement& placement : arena.placements) sum += placement.bytes;
      shared += sum > arena.bytes;
    }
  }
  CHECK(elided > 20);
  CHECK(shared > 20);
}

// Arena over peak in percent, of a one-stream plan without sharing, so that the peak is exact.
uint64_t PercentOfPeak(Graph graph, uint64_t seed) {
  const World world = MakeWorld(std::move(graph), {.elided = false, .accelerator = false}, seed);
  Plan plan = PlanOf(world, "single", "cpu");
  for (Candidate& candidate : plan.candidates) {
    candidate.aliases.clear();
    candidate.scratch_bytes = 0;
  }
  REQUIRE(PlanMemory(world.graph, world.platform, plan).ok());
  const uint64_t peak = PeakBytes(world, plan, DeviceId(0u));
  CHECK(plan.memory[DeviceId(0u)].bytes >= peak);
  return plan.memory[DeviceId(0u)].bytes * 100 / peak;
}

TEST_CASE("PlanMemory, IsNearThePeakOnOneStream", "[plan]") {
  // The shapes of networks.
  CHECK(PercentOfPeak(testing::Chain(30), 1) == 100);
  CHECK(PercentOfPeak(testing::Residual(8), 1) == 100);
  CHECK(PercentOfPeak(testing::Inception(4), 1) <= 113);  // nine blocks where eight would do
  // Long edges of random sizes are the hard case of packing; greedy packing is known to lose up to a fifth there.
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    CHECK(PercentOfPeak(testing::RandomGraph(seed, 60), seed) <= 120);
  }
}

TEST_CASE("PlanMemory, ThousandsOfBlocksAreSweptLegally", "[plan]") {
  const World world = MakeWorld(testing::RandomGraph(7, 5000), {}, 7);
  const Plan plan = PlanOf(world, "random", "1");
  size_t placements = 0;
  for (const auto& [device, arena] : plan.memory) placements = std::max(placements, arena.placements.size());
  CHECK(placements > 3000);
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(PercentOfPeak(testing::Residual(1200), 1) <= 110);
}

TEST_CASE("PlanMemory, ConcatenationBecomesSlices", "[plan]") {
  const World world = MakeWorld(testing::Inception(1), {.accelerator = false});
  const Plan plan = PlanOf(world, "single", "cpu");
  const std::vector<bool> elided = ElidedSteps(world.graph, plan);
  size_t concats = 0;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto* group = std::get_if<RunGroup>(&plan.steps[s].work);
    if (group == nullptr) continue;
    const Candidate& candidate = plan.candidates[group->candidate.index()];
    if (candidate.elision != Elision::kSlicesOfOutput) continue;
    ++concats;
    CHECK(elided[s]);
    for (InstanceId in : group->in) {
      const auto& placements = plan.memory.at(DeviceId(0u)).placements;
      const auto found =
          std::find_if(placements.begin(), placements.end(), [&](const Placement& p) { return p.instance == in; });
      REQUIRE(found != placements.end());
      CHECK(found->strides.size() == 4);
    }
  }
  CHECK(concats == 1);
}

TEST_CASE("PlanMemory, SaysWhenADeviceIsTooSmall", "[plan]") {
  const World world = MakeWorld(testing::Chain(6), {.accelerator = false});
  Plan plan = PlanOf(world, "single", "cpu");
  const Status status = PlanMemory(world.graph, world.platform, plan, {{DeviceId(0u), 10}});
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kOutOfMemory);
  CHECK(status.error().device == "cpu");
}

TEST_CASE("PlanMemory, AccumulatingOverTheCallersInputIsRefused", "[plan]") {
  const World world = MakeWorld(testing::Residual(1), {.accelerator = false});
  Plan plan = PlanOf(world, "random", "3");
  // The step that reads the graph input is made to overwrite it.
  for (Step& step : plan.steps) {
    auto* group = std::get_if<RunGroup>(&step.work);
    if (group == nullptr || group->in.empty() ||
        !IsExternal(world.graph, plan.lent_on, plan.instances[group->in[0].index()]))
      continue;
    plan.candidates[group->candidate.index()].aliases = {{0, 0, Alias::Kind::kRequired}};
  }
  const Status status = PlanMemory(world.graph, world.platform, plan);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kInfeasible);
}

}  // namespace
}  // namespace pt::memory_plan_test
