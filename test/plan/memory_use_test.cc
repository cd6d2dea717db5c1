// How much of its arenas a plan uses over time.
#include "partitiontuner/plan/memory_use.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "test/testing/planning_world.h"

namespace pt::memory_use_test {
namespace {

// Two steps, 10 ns each: the first makes instance 0, the second reads it and makes instance 1.
Plan TwoSteps() {
  Plan plan;
  plan.instances.resize(2);
  for (int64_t s = 0; s < 2; ++s) {
    Step step;
    step.expected_start_ns = 10 * s;
    step.expected_ns = 10;
    plan.steps.push_back(step);
  }
  plan.steps[0].work = RunGroup{PlanCandidateId(0u), {}, {InstanceId(0u)}};
  plan.steps[1].work = RunGroup{PlanCandidateId(0u), {InstanceId(0u)}, {InstanceId(1u)}};
  plan.makespan.ns = 30;
  return plan;
}

using Curve = std::vector<std::pair<int64_t, uint64_t>>;

TEST_CASE("MemoryUse, TensorsCountFromTheirMakerToTheirLastReader", "[plan]") {
  Plan plan = TwoSteps();
  plan.memory[kHostDevice] = {1000, {{InstanceId(0u), 0, 100, {}}, {InstanceId(1u), 100, 50, {}}}, {}};
  const MemoryUse use = MemoryUseOf(plan).at(kHostDevice);
  CHECK(use.bytes_at == Curve{{0, 100}, {10, 150}, {20, 50}, {30, 0}});  // nothing reads the second: to the end
  CHECK(use.peak_bytes == 150);
}

TEST_CASE("MemoryUse, SharedBytesCountOnce", "[plan]") {
  Plan plan = TwoSteps();
  plan.memory[kHostDevice] = {1000, {{InstanceId(0u), 0, 100, {}}, {InstanceId(1u), 50, 100, {}}}, {}};
  const MemoryUse use = MemoryUseOf(plan).at(kHostDevice);
  CHECK(use.bytes_at == Curve{{0, 100}, {10, 150}, {20, 100}, {30, 0}});
  CHECK(use.peak_bytes == 150);
}

TEST_CASE("MemoryUse, ScratchCountsDuringItsStep", "[plan]") {
  Plan plan = TwoSteps();
  plan.memory[kHostDevice] = {1000, {}, {{StepId(1u), 0, 7}}};
  CHECK(MemoryUseOf(plan).at(kHostDevice).bytes_at == Curve{{10, 7}, {20, 0}});
  plan.memory[kHostDevice] = {};
  CHECK(MemoryUseOf(plan).empty());
}

TEST_CASE("MemoryUse, OfARunGoesByTheTimesOfItsSteps", "[plan]") {
  Plan plan = TwoSteps();
  plan.memory[kHostDevice] = {
      1000, {{InstanceId(0u), 0, 100, {}}, {InstanceId(1u), 100, 50, {}}}, {{StepId(1u), 150, 7}}};
  const std::vector<StepTime> times = {{5, 20}, {30, 70}};
  CHECK(MemoryUseOf(plan, times, 90).at(kHostDevice).bytes_at == Curve{{5, 100}, {30, 157}, {70, 50}, {90, 0}});
  CHECK(MemoryUseOf(plan, ExpectedTimes(plan), plan.makespan.ns).at(kHostDevice).bytes_at ==
        MemoryUseOf(plan).at(kHostDevice).bytes_at);
}

TEST_CASE("MemoryUse, NeverMoreThanTheArena", "[plan]") {
  const testing::World world = testing::MakeWorld(testing::Inception(4));
  for (const char* planner : {"search", "heft"}) {
    const Plan plan = testing::PlanOf(world, planner);
    for (const auto& [device, use] : MemoryUseOf(plan)) {
      CHECK(use.peak_bytes <= plan.memory.at(device).bytes);
      CHECK(use.peak_bytes > 0);
      CHECK(use.bytes_at.back().second == 0);
      CHECK(std::ranges::is_sorted(use.bytes_at));
    }
  }
}

}  // namespace
}  // namespace pt::memory_use_test
