// Memory caps are part of the search: what does not fit is no plan, and what fits is as fast as it can be made.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "lib/planner/schedule/assemble.h"
#include "lib/planner/schedule/memory_judge.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/testing/planning_world.h"
#include "test/testing/rounds.h"

namespace pt::memory_caps_test {
namespace {

using testing::MakeWorld;
using testing::World;

Result<Plan> Made(const World& world, std::string_view planner, std::string_view argument = {}) {
  PlanningProblem problem = world.problem();
  problem.argument = argument;
  return FindPlanner(planner).value()->make_plan(problem, nullptr);
}

uint64_t BytesOn(const Plan& plan, uint32_t device) {
  const auto arena = plan.memory.find(DeviceId(device));
  return arena == plan.memory.end() ? 0 : arena->second.bytes;
}

void CheckFits(const World& world, const Plan& plan) {
  CHECK(testing::FaultText(world, plan) == "");
  for (const auto& [device, cap] : world.constraints.memory_caps) CHECK(BytesOn(plan, device.value) <= cap);
}

// Each node alone, row-major, on every unit class.
World SinglesOnTwoCores(const std::string& text, int64_t ns) {
  World world{ParseGraph(text).value(), testing::TwoCores(false), {}, {}};
  for (size_t n = 0; n < world.graph.nodes().size(); ++n) {
    Candidate candidate;
    candidate.nodes = {NodeId(n)};
    candidate.unit_class = FindUnitClass(world.platform, "cpu/1");
    candidate.library = "made-up";
    const Form form = {RowMajor(2), DataType::kFloat32};
    candidate.in.assign(GroupInputs(world.graph, candidate.nodes).size(), form);
    candidate.out.assign(GroupOutputs(world.graph, candidate.nodes).size(), form);
    world.costs.SetRunOf(candidate, ns);
    world.candidates.push_back(std::move(candidate));
  }
  return world;
}

// `forks` pairs of branches one after the other: a small value, two chains of three, a sum. The chains of the fork
// numbered `large` hold 64 times as much.
std::string Forks(int forks, int large) {
  std::string text = "input x float32[4,16]\n", in = "x";
  for (int f = 0; f < forks; ++f) {
    const std::string id = std::to_string(f), dims = f == large ? "[256,16]" : "[4,16]";
    for (const char* branch : {"a", "b"}) {
      const std::string name = branch + id;
      text += name + "0 = Made(" + in + ") : float32" + dims + "\n";
      text += name + "1 = Made(" + name + "0) : float32" + dims + "\n";
      text += name + "2 = Made(" + name + "1) : float32[4,16]\n";
    }
    text += "s" + id + " = Add(a" + id + "2, b" + id + "2) : float32[4,16]\n";
    in = "s" + id;
  }
  return text + "output " + in + "\n";
}

TEST_CASE("Search, OnlyWhatTheCapForbidsIsSerialised", "[planner]") {
  // Four forks, 28 steps of 1 us: on two cores 4 us a fork, on one 7. The large fork's chains side by side take four
  // large values at once, one after the other two; then only the first step of one may run beside the last of the
  // other, which makes 6.
  World world = SinglesOnTwoCores(Forks(4, 1), 1000);
  const Plan free = Made(world, "search").value();
  CHECK(free.makespan.ns == 4 * 4000);
  const uint64_t large = 256 * 16 * 4;
  CHECK(BytesOn(free, 0) > 3 * large);
  world.constraints.memory_caps[DeviceId(0u)] = 2 * large + 8 * 256;
  const Plan capped = Made(world, "search").value();
  CheckFits(world, capped);
  CHECK(capped.makespan.ns == 3 * 4000 + 6000);
}

TEST_CASE("Search, CapsOnBothDevicesSpreadTheWork", "[planner]") {
  // Neither device alone has room for what is alive at once.
  World world = MakeWorld(testing::Inception(3));
  const uint64_t host = BytesOn(Made(world, "single", "cpu").value(), 0);
  const Plan accelerated = Made(world, "single", "acc:0").value();
  const uint64_t accelerator = BytesOn(accelerated, 1);
  world.constraints.memory_caps = {{DeviceId(0u), host - 64}, {DeviceId(1u), accelerator - 64}};
  CHECK(Made(world, "single", "cpu").error().code == ErrorCode::kOutOfMemory);
  CHECK(Made(world, "single", "acc:0").error().code == ErrorCode::kOutOfMemory);
  CheckFits(world, Made(world, "search").value());
}

TEST_CASE("Search, FitsWhereAnyPlannerDoesAndIsNoSlower", "[planner]") {
  for (uint64_t seed = 1; seed <= testing::Rounds(12); ++seed) {
    World world = MakeWorld(testing::RandomGraph(seed, 24 + seed), {.accelerator = seed % 2 == 0}, seed);
    const Plan free = testing::PlanOf(world, "search");
    for (const uint64_t percent : {100, 80, 60, 45}) {
      for (const auto& [device, arena] : free.memory) {
        world.constraints.memory_caps[device] = arena.bytes * percent / 100;
      }
      int64_t best = INT64_MAX;
      for (const char* planner : {"single", "heft", "operator", "partitiontuner"}) {
        const Result<Plan> plan = Made(world, planner);
        if (plan.ok()) best = std::min(best, plan->makespan.ns);
      }
      for (int other = 1; other <= 10; ++other) {
        const Result<Plan> plan = Made(world, "random", std::to_string(other));
        if (plan.ok()) best = std::min(best, plan->makespan.ns);
      }
      INFO("seed " << seed << ", caps of " << percent << " %");
      const Result<Plan> plan = Made(world, "search");
      if (best < INT64_MAX) REQUIRE(plan.ok());
      if (!plan.ok()) {
        CHECK(plan.error().code == ErrorCode::kOutOfMemory);
        continue;
      }
      CheckFits(world, *plan);
      CHECK(plan->makespan.ns <= best);
      CHECK(plan->makespan.ns >= free.makespan.ns * 9 / 10);
    }
  }
}

TEST_CASE("Search, ATotalCapHoldsForAllDevicesTogether", "[planner]") {
  World world = MakeWorld(testing::Inception(3));
  const Plan free = testing::PlanOf(world, "search");
  const uint64_t total = BytesOn(free, 0) + BytesOn(free, 1);
  world.constraints.total_memory_cap = total - 1;
  const Plan capped = Made(world, "search").value();
  CHECK(testing::FaultText(world, capped) == "");
  CHECK(BytesOn(capped, 0) + BytesOn(capped, 1) < total);
  world.constraints.total_memory_cap = 1;
  CHECK(Made(world, "search").error().code == ErrorCode::kOutOfMemory);
}

TEST_CASE("MemoryJudge, SaysWhatAssembleSays", "[planner]") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    World world = MakeWorld(testing::RandomGraph(seed, 20), {}, seed);
    world.constraints.memory_caps = {{DeviceId(0u), 6000}, {DeviceId(1u), 4000}};
    const PlanningProblem problem = world.problem();
    const Space space = Space::Make(problem).value();
    MemoryJudge judge(space);
    Solution solution;
    for (NodeId node : space.order()) {
      const uint32_t option = space.group(space.single_group(node)).options.front();
      solution.push_back({option, space.units(space.option(option).unit_class).front()});
    }
    const Result<Plan> plan = Assemble(space, solution, "test");
    const Overrun over = judge.Judge(solution);
    INFO("seed " << seed);
    CHECK(over.fits() == plan.ok());
    CHECK(over.fits() == judge.pressing().empty());
  }
}

TEST_CASE("OrderForMemory, EndsOneBranchBeforeTheNext", "[planner]") {
  const World world = SinglesOnTwoCores(Forks(1, 0), 1000);
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  Solution solution;  // both branches step by step
  for (const size_t n : {0, 3, 1, 4, 2, 5, 6}) {
    const uint32_t option = space.group(space.single_group(NodeId(n))).options.front();
    solution.push_back({option, space.units(space.option(option).unit_class).front()});
  }
  const Solution ordered = OrderForMemory(space, solution);
  REQUIRE(ordered.size() == solution.size());
  std::vector<size_t> nodes;
  for (const Choice& choice : ordered) nodes.push_back(space.group_of(choice.option).nodes.front().index());
  CHECK(nodes == std::vector<size_t>{0, 1, 2, 3, 4, 5, 6});
}

}  // namespace
}  // namespace pt::memory_caps_test
