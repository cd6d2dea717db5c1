#include "partitiontuner/plan/timeline.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "lib/planner/schedule/assemble.h"
#include "lib/planner/solve.h"
#include "partitiontuner/support/random.h"
#include "test/testing/planning_world.h"
#include "test/testing/rounds.h"

namespace pt::timeline_test {
namespace {

using testing::MakeWorld;
using testing::World;

TimedStep Timed(uint32_t unit, int64_t run_ns, uint32_t first_wait = 0, uint32_t end_wait = 0) {
  TimedStep step;
  step.unit = UnitId(unit);
  step.run_ns = run_ns;
  step.first_wait = first_wait;
  step.end_wait = end_wait;
  return step;
}

// Units of TwoCores(): 0 = cpu[0], 1 = cpu[1], 2 = cpu[0-1], 3 = acc:0#0, 4 = cpu>acc:0, 5 = acc:0>cpu.
TEST_CASE("Simulator, UnitsThatShareACoreTakeTurns", "[plan]") {
  const Platform platform = testing::TwoCores();
  const TableCosts costs;
  const Simulator simulator(platform, costs);
  const std::vector<TimedStep> steps = {Timed(0, 100), Timed(1, 70), Timed(2, 50), Timed(1, 10)};
  const Timeline timeline = simulator.Run(steps, {});
  CHECK(timeline.start_ns == std::vector<int64_t>{0, 0, 100, 150});
  CHECK(timeline.makespan_ns == 160);
  CHECK(timeline.critical_path == std::vector<StepId>{StepId(0u), StepId(2u), StepId(3u)});
  CHECK(timeline.busy_ns == std::vector<int64_t>{100, 80, 50, 0, 0, 0});
}

TEST_CASE("Simulator, WaitsCostTimeAcrossUnitsOnly", "[plan]") {
  const Platform platform = testing::TwoCores();
  TableCosts costs;
  costs.SetWait(UnitClassId(0u), UnitClassId(0u), 7);
  const Simulator simulator(platform, costs);
  const std::vector<uint32_t> waits = {0, 0};
  const Timeline timeline =
      simulator.Run(std::vector<TimedStep>{Timed(0, 100), Timed(1, 10, 0, 1), Timed(0, 10, 1, 2)}, waits);
  CHECK(timeline.start_ns == std::vector<int64_t>{0, 107, 100});
}

TEST_CASE("Simulator, LaunchesOccupyTheDriverNotTheQueue", "[plan]") {
  const Platform platform = testing::TwoCores();
  const TableCosts costs;
  const Simulator simulator(platform, costs);
  std::vector<TimedStep> steps = {Timed(3, 100), Timed(3, 100), Timed(1, 10)};
  steps[0].overhead_ns = steps[1].overhead_ns = 20;
  // Two launches back to back on core 1, then its own step; the queue never idles between the two.
  const Timeline timeline = simulator.Run(steps, {});
  CHECK(timeline.start_ns == std::vector<int64_t>{20, 120, 40});
  CHECK(timeline.makespan_ns == 220);
}

TEST_CASE("Simulator, NeighboursSlowEachOtherWhileTheyRunAtOnce", "[plan]") {
  const Platform platform = testing::TwoCores();
  TableCosts costs;
  costs.SetSlowdown(
      [](const Candidate&, std::span<const Candidate* const> beside) { return beside.empty() ? 1.0 : 2.0; });
  const Simulator simulator(platform, costs);
  const Candidate candidate;
  std::vector<TimedStep> steps = {Timed(0, 100), Timed(1, 40)};
  for (TimedStep& step : steps) step.candidate = &candidate;
  // Both at half speed until the short one ends at 80 with 60 of the long one left.
  const Timeline timeline = simulator.Run(steps, {});
  CHECK(timeline.end_ns == std::vector<int64_t>{140, 80});
}

TEST_CASE("Simulator, SharesOfAResourceSlowDownBeyondItsCapacity", "[plan]") {
  Platform platform = testing::TwoCores();
  platform.units[3].uses[0].second = 0.75;
  Unit second = platform.units[3];
  second.name = "acc:0#1";
  platform.units.push_back(second);
  const TableCosts costs;
  const Simulator simulator(platform, costs);
  const Timeline timeline = simulator.Run(std::vector<TimedStep>{Timed(3, 100), Timed(6, 100)}, {});
  CHECK(timeline.end_ns == std::vector<int64_t>{150, 150});
  // What a step asks for counts, where that is known, and not what its unit may use.
  std::vector<TimedStep> steps = {Timed(3, 100), Timed(6, 100)};
  steps[0].demand = 1;
  steps[1].demand = 0.25;
  CHECK(simulator.Run(steps, {}).end_ns == std::vector<int64_t>{125, 125});
  steps[0].demand = 0.5;
  CHECK(simulator.Run(steps, {}).end_ns == std::vector<int64_t>{100, 100});
}

TEST_CASE("Simulator, UnitsOfADeviceWaitForEachOtherWithoutTheirDriver", "[plan]") {
  const Platform platform = testing::TwoCores();
  const TableCosts costs;
  const Simulator simulator(platform, costs);
  // A copy, a kernel that reads it, a copy back, and a step of the core that launches them: it is not held up.
  std::vector<TimedStep> steps = {Timed(4, 100), Timed(3, 50, 0, 1), Timed(5, 30, 1, 2), Timed(1, 10)};
  for (size_t s = 0; s < 3; ++s) steps[s].overhead_ns = 5;
  const std::vector<uint32_t> waits = {0, 1};
  CHECK(simulator.Run(steps, waits).start_ns == std::vector<int64_t>{5, 105, 155, 15});
  // A kernel that waits for the host does hold it up.
  const std::vector<TimedStep> held = {Timed(0, 100), Timed(3, 50, 0, 1), Timed(1, 10)};
  CHECK(simulator.Run(held, waits).start_ns == std::vector<int64_t>{0, 100, 100});
}

// A copy, a kernel that reads it and its result's copy back: the kernel and the second copy let their streams wait.
TEST_CASE("Simulator, LettingAStreamWaitOccupiesTheDriver", "[plan]") {
  const Platform platform = testing::TwoCores();
  std::vector<TimedStep> steps = {Timed(4, 100), Timed(3, 50, 0, 1), Timed(5, 30, 1, 2), Timed(1, 10)};
  for (size_t s = 0; s < 3; ++s) steps[s].overhead_ns = 5;
  const std::vector<uint32_t> waits = {0, 1};
  TableCosts costs;
  CHECK_FALSE(Simulator(platform, costs).needs_whole_plans());
  costs.SetDevice(DeviceId(1u), {.segments = {}, .stream_wait_ns = 2});
  const Simulator simulator(platform, costs);
  CHECK(simulator.needs_whole_plans());
  // 5, 7 and 7 on the core before its own step; the device is as fast as before.
  CHECK(simulator.Run(steps, waits).start_ns == std::vector<int64_t>{5, 105, 155, 19});
  // One wait for each other unit, since its steps are in order; none within a unit, and none of the host's steps.
  steps = {Timed(4, 100), Timed(4, 100), Timed(3, 50, 0, 2), Timed(3, 50, 2, 3), Timed(0, 10, 3, 4), Timed(1, 10)};
  const std::vector<uint32_t> more = {0, 1, 2, 2};
  CHECK(simulator.Run(steps, more).start_ns[5] == 2);
}

// TwoCores() whose accelerator records: a launch by itself takes 20 ns, one of a segment 30 and 5 for each step.
struct Recording {
  Recording() {
    platform.devices[1].captures = true;
    costs.SetDevice(DeviceId(1u), {SegmentLaunch{30, 5}});
  }
  Timeline Run(std::vector<TimedStep> steps, const std::vector<uint32_t>& waits) const {
    for (TimedStep& step : steps)
      step.overhead_ns = platform.unit_class(platform.unit(step.unit).unit_class).on_host() ? 0 : 20;
    return Simulator(platform, costs).Run(steps, waits);
  }

  Platform platform = testing::TwoCores();
  TableCosts costs;
};

TEST_CASE("Simulator, ASegmentHasOneLaunch", "[plan]") {
  Recording recording;
  // A copy, a kernel that reads it, a copy back, and a step of the core that launches them.
  const std::vector<TimedStep> steps = {Timed(4, 100), Timed(3, 50, 0, 1), Timed(5, 30, 1, 2), Timed(1, 10)};
  const std::vector<uint32_t> waits = {0, 1};
  CHECK(recording.Run(steps, waits).start_ns == std::vector<int64_t>{45, 145, 195, 45});
  // What is elided is no part of what is recorded, but of the order.
  std::vector<TimedStep> elided = steps;
  elided[1].elided = true;
  elided[1].run_ns = 0;
  CHECK(recording.Run(elided, waits).start_ns == std::vector<int64_t>{40, 140, 140, 40});
  // One step is launched as it is anywhere.
  CHECK(recording.Run({Timed(3, 50), Timed(1, 10)}, {}).start_ns == std::vector<int64_t>{20, 20});
  // Without a device that records, or without knowing what that takes, each step is launched.
  const std::vector<int64_t> one_by_one = {20, 120, 170, 60};
  recording.platform.devices[1].captures = false;
  CHECK(recording.Run(steps, waits).start_ns == one_by_one);
  recording.platform.devices[1].captures = true;
  recording.costs = TableCosts();
  CHECK(recording.Run(steps, waits).start_ns == one_by_one);
}

TEST_CASE("Simulator, ASegmentIsLaunchedWhereItsFirstStepStands", "[plan]") {
  const Recording recording;
  // The core that launches has a long step between the two: the second is on its way before it.
  CHECK(recording.Run({Timed(3, 50), Timed(1, 1000), Timed(3, 50)}, {}).start_ns == std::vector<int64_t>{40, 40, 90});
  // What waits for the host between them is no part of it.
  const std::vector<uint32_t> waits = {0, 1};
  CHECK(recording.Run({Timed(3, 50), Timed(0, 100, 0, 1), Timed(3, 50, 1, 2)}, waits).start_ns ==
        std::vector<int64_t>{20, 70, 190});
}

TEST_CASE("Simulator, ASegmentStartsBehindWhatItsFirstStepWaitsFor", "[plan]") {
  const Recording recording;
  // Segments {0, 1} and {3, 4}: the second is launched at 150, for 40 ns, on the stream that is busy until 1040, and
  // its other step, which waits for nothing, does not start before.
  const std::vector<uint32_t> waits = {1, 2};
  const std::vector<TimedStep> steps = {Timed(3, 1000), Timed(5, 10), Timed(0, 100, 0, 1), Timed(3, 10, 1, 2),
                                        Timed(4, 10)};
  CHECK(recording.Run(steps, waits).start_ns == std::vector<int64_t>{40, 40, 50, 1040, 1040});
}

TEST_CASE("Simulator, AStreamGoesOnBehindAllOfTheSegmentLaunchedOnIt", "[plan]") {
  const Recording recording;
  // Segment {0, 1} ends at 540, on the other unit; the last step is launched by itself.
  const std::vector<uint32_t> waits = {0, 2};
  const std::vector<TimedStep> steps = {Timed(3, 10), Timed(5, 500), Timed(0, 100, 0, 1), Timed(3, 10, 1, 2)};
  CHECK(recording.Run(steps, waits).start_ns == std::vector<int64_t>{40, 40, 50, 540});
}

// Steps in chains and forks on cores and on three streams that ask for more than the device has, and their waits.
struct BusyStreams {
  explicit BusyStreams(uint64_t seed) {
    platform.units[3].uses[0].second = 0.6;
    for (const char* name : {"acc:0#1", "acc:0#2"}) {
      Unit stream = platform.units[3];
      stream.name = name;
      platform.units.push_back(stream);
    }
    costs.SetWait(UnitClassId(2u), UnitClassId(2u), 40);
    Random random(seed);
    for (uint32_t s = 0; s < 60; ++s) {
      constexpr uint32_t kUnits[] = {0, 1, 3, 6, 7};
      TimedStep step = Timed(kUnits[random.Below(std::size(kUnits))], 1 + static_cast<int64_t>(random.Below(1000)));
      step.overhead_ns = static_cast<int64_t>(random.Below(60));
      step.demand = step.unit.index() < 3 ? 0 : 0.1 * static_cast<double>(random.Below(11));
      step.first_wait = static_cast<uint32_t>(waits.size());
      for (uint64_t n = random.Below(3); s > 0 && n > 0; --n) {
        waits.push_back(s - 1 - static_cast<uint32_t>(random.Below(std::min(s, 12U))));
      }
      step.end_wait = static_cast<uint32_t>(waits.size());
      steps.push_back(step);
    }
  }

  Platform platform = testing::TwoCores();
  TableCosts costs;
  std::vector<TimedStep> steps;
  std::vector<uint32_t> waits;
};

TEST_CASE("Simulator, ARunWithinALimitEndsEarlyOnlyWhereItIsLonger", "[plan]") {
  int given_up = 0;
  for (uint64_t seed = 1; seed <= testing::Rounds(50); ++seed) {
    const BusyStreams world(seed);
    const Simulator simulator(world.platform, world.costs);
    const Timeline whole = simulator.Run(world.steps, world.waits);
    INFO("seed " << seed << ", makespan " << whole.makespan_ns);
    for (const int64_t more_ns : {0, 1, 1000}) {
      const std::optional<Timeline> within = simulator.RunWithin(world.steps, world.waits, whole.makespan_ns + more_ns);
      REQUIRE(within);
      CHECK(within->start_ns == whole.start_ns);
      CHECK(within->end_ns == whole.end_ns);
      CHECK(within->critical_path == whole.critical_path);
    }
    CHECK(!simulator.RunWithin(world.steps, world.waits, whole.makespan_ns / 2));
    given_up += !simulator.RunWithin(world.steps, world.waits, whole.makespan_ns * 19 / 20);
  }
  CHECK(given_up > 0);
}

TEST_CASE("Simulator, WithoutSlowdownsTheLimitChangesNothing", "[plan]") {
  const Platform platform = testing::TwoCores();
  const TableCosts costs;
  const Simulator simulator(platform, costs);
  const std::optional<Timeline> within = simulator.RunWithin(std::vector<TimedStep>{Timed(0, 100)}, {}, 10);
  REQUIRE(within);
  CHECK(within->makespan_ns == 100);
}

TEST_CASE("SimulatePlan, AgreesWithTheScheduleThePlanWasMadeFrom", "[plan]") {
  uint64_t segments = 0;
  for (uint64_t seed = 1; seed <= testing::Rounds(40); ++seed) {
    const testing::WorldOptions options = {.contention = seed % 4 == 0, .captures = seed % 3 == 0};
    World world = MakeWorld(testing::RandomGraph(seed, 8 + seed % 40), options, seed);
    if (seed % 7 < 2) {
      DeviceCost device = world.costs.OfDevice(DeviceId(1u));
      device.stream_wait_ns = 300;
      world.costs.SetDevice(DeviceId(1u), device);
    }
    if (seed % 5 == 0) {
      world.costs.ChangeSteps([](const Candidate& c, StepCost& cost) {
        cost.demand = c.nodes.front().value % 3 == 0 ? 0 : 0.75;
        cost.overhead.ns = int64_t{c.nodes.front().value % 7} * 100;
      });
    }
    const PlanningProblem problem = world.problem();
    const Space space = Space::Make(problem).value();
    for (const Solver& solver : Solvers()) {
      if (solver.planner.name == "exact") continue;  // takes small models only
      const std::string argument = solver.planner.name == "random" ? std::to_string(seed) : "";
      const Result<Solved> solved = solver.solve(space, argument);
      if (!solved.ok()) {  // for several requests, or recurrent layers, alone
        CHECK(solved.error().code == ErrorCode::kInfeasible);
        continue;
      }
      const Solution& solution = solved->order;
      Scheduler scheduler(space);
      const int64_t scheduled = scheduler.Run(solution);
      const Plan plan = Assemble(space, solution, "test").value();
      INFO("seed " << seed << ", " << solver.planner.name);
      CHECK(plan.makespan.ns == scheduled);
      segments += plan.report.segments.segments;
      REQUIRE(plan.steps.size() == scheduler.steps().size());
      for (size_t s = 0; s < plan.steps.size(); ++s)
        CHECK(plan.steps[s].expected_start_ns == scheduler.steps()[s].start_ns);
    }
  }
  CHECK(segments > 0);
}

// Two nodes that know nothing of each other, on two streams of one device.
TEST_CASE("SimulatePlan, TakesDemandAndLaunchesFromTheCosts", "[plan]") {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueType type = StaticType(DataType::kFloat32, {64});
  for (const char* input : {"x", "z"}) {
    builder.AddOutput(builder.AddOp("Relu", {builder.AddInput(input, type)}, type));
  }
  World world{builder.Build().value(), testing::TwoCores(), {}, {}};
  const UnitId first = FindUnit(world.platform, "acc:0#0");
  world.platform.units[first.index()].uses.front().second = 0.5;
  Unit second = world.platform.unit(first);
  second.name = "acc:0#1";
  world.platform.units.push_back(second);
  for (uint32_t n = 0; n < 2; ++n) {
    const std::vector<NodeId> nodes = {NodeId(n)};
    world.candidates.push_back(RowMajorCandidate(world.graph, nodes, "made-up"));
    world.candidates.back().unit_class = second.unit_class;
    world.costs.SetRunOf(world.candidates.back(), 100'000);
  }
  world.costs.SetOverhead(second.unit_class, 10'000);
  for (uint32_t link : {0u, 1u}) world.costs.SetLink(LinkId(link), 0, 1e9);
  const auto ends = [&] {
    const Plan plan = testing::PlanOf(world, "wavefront", "acc:0");
    const Timeline timeline = SimulatePlan(world.graph, world.platform, plan, world.costs).value();
    CHECK(timeline.makespan_ns == plan.makespan.ns);  // the planner has planned with the same
    std::vector<int64_t> kernels;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      if (std::holds_alternative<RunGroup>(plan.steps[s].work)) kernels.push_back(timeline.end_ns[s]);
    }
    return kernels;
  };
  CHECK(ends() == std::vector<int64_t>{110'000, 120'000});  // one launch behind the other, half of the device each
  world.costs.ChangeSteps([](const Candidate&, StepCost& cost) { cost.overhead.ns = 20'000; });
  CHECK(ends() == std::vector<int64_t>{120'000, 140'000});
  world.costs.ChangeSteps([](const Candidate&, StepCost& cost) { cost.demand = 1.0; });
  // Alone from 20 to 40 us, at half speed until the first has done its other 80, then the second alone again.
  CHECK(ends() == std::vector<int64_t>{200'000, 220'000});
}

// A chain of three on cpu[0], cpu[1], cpu[1]: only what crosses from core to core takes longer, as much as is felt of
// it.
TEST_CASE("SimulatePlan, StepsFetchWhatOtherUnitsMade", "[plan]") {
  World world = MakeWorld(testing::Chain(3), {.accelerator = false});
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  Solution solution;
  const auto narrow = [&](NodeId node, UnitId unit) {
    for (uint32_t o : space.group(space.single_group(node)).options) {
      if (space.option(o).unit_class == world.platform.unit(unit).unit_class) return Choice{o, unit};
    }
    FAIL("no option on one core");
    return Choice{};
  };
  for (const auto& [node, unit] : {std::pair(0u, 0u), std::pair(1u, 1u), std::pair(2u, 1u)}) {
    solution.push_back(narrow(space.order()[node], UnitId(unit)));
  }
  const auto time_of_choices = [&](double ns_per_byte, double share) {
    world.costs.SetFetch(UnitClassId(0u), UnitClassId(0u), ns_per_byte);
    world.costs.ChangeSteps([share](const Candidate&, StepCost& cost) { cost.fetch_share = share; });
    const Space felt = Space::Make(problem).value();
    Scheduler scheduler(felt);
    scheduler.Run(solution);
    std::vector<int64_t> times;
    for (const ScheduledStep& step : scheduler.steps()) {
      if (step.choice != kNothing) times.push_back(step.end_ns - step.start_ns);
    }
    const Timeline timeline =
        SimulatePlan(world.graph, world.platform, Assemble(felt, solution, "test").value(), world.costs).value();
    CHECK(timeline.makespan_ns == scheduler.steps().back().end_ns);
    return times;
  };
  const std::vector<int64_t> without = time_of_choices(0, 1);
  REQUIRE(without.size() == 3);
  const ValueId crossing = space.group_of(solution[0].option).out[0];
  const uint64_t bytes =
      space.routes(crossing).bytes[space.option(solution[0].option).out[0] % space.value(crossing).forms.size()];
  CHECK(bytes > 0);
  for (const double share : {0.0, 0.25, 1.0, 1.5}) {
    CAPTURE(share);
    const std::vector<int64_t> with = time_of_choices(2, share);
    CHECK(with[0] == without[0]);
    CHECK(with[1] - without[1] == std::llround(share * 2 * static_cast<double>(bytes)));
    CHECK(with[2] == without[2]);
  }
}

TEST_CASE("SimulatePlan, RefusesUnknownCosts", "[plan]") {
  const World world = MakeWorld(testing::Chain(3));
  const Plan plan = FindPlanner("search").value()->make_plan(world.problem(), nullptr).value();
  const TableCosts nothing;
  const Result<Timeline> timeline = SimulatePlan(world.graph, world.platform, plan, nothing);
  REQUIRE_FALSE(timeline.ok());
  CHECK(timeline.error().code == ErrorCode::kPartial);
}

}  // namespace
}  // namespace pt::timeline_test
