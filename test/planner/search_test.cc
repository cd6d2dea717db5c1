// Hand-worked cases of the search: which moves it has, and when it stops.
#include <array>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/graph_text.h"
#include "test/testing/planning_world.h"

namespace pt::search_test {
namespace {

using testing::MakeWorld;
using testing::World;

Plan BySearch(const World& world, uint64_t effort = testing::kTestEffort, int64_t time_limit_ns = 0) {
  PlanningProblem problem = world.problem();
  problem.effort = effort;
  problem.time_limit_ns = time_limit_ns;
  Plan plan = FindPlanner("search").value()->make_plan(problem, nullptr).value();
  CHECK(testing::FaultText(world, plan) == "");
  return plan;
}

// Row-major single nodes on every class, each taking the class's time.
void ProposeSingles(World& world, std::span<const int64_t> ns_of_class) {
  for (size_t n = 0; n < world.graph.nodes().size(); ++n) {
    for (size_t c = 0; c < world.platform.unit_classes.size(); ++c) {
      Candidate candidate;
      candidate.nodes = {NodeId(n)};
      candidate.unit_class = UnitClassId(c);
      candidate.library = "made-up";
      const Form form = {RowMajor(4), DataType::kFloat32};
      candidate.in.assign(GroupInputs(world.graph, candidate.nodes).size(), form);
      candidate.out.assign(GroupOutputs(world.graph, candidate.nodes).size(), form);
      world.costs.SetRunOf(candidate, ns_of_class[c]);
      world.candidates.push_back(std::move(candidate));
    }
  }
}

TEST_CASE("Search, PairsWideStepsOnUnitsOfAnyNarrowerWidth", "[planner]") {
  // The branches of the diamond take 100 + 100 on all cores one after the other, 150 on two cores each side by side,
  // and 320 on one core each: only the pair of two cores gains, and neither branch gains by moving alone.
  World world{testing::Diamond(), testing::Cores(4), {}, {}};
  ProposeSingles(world, std::array<int64_t, 3>{320, 150, 100});
  CHECK(BySearch(world).makespan.ns == 350);
}

// One core, and an accelerator that another core drives.
Platform CoreAndAccelerator() {
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "made-up"});
  platform.devices.push_back({"acc:0", "simulated", 0, true, "made-up"});
  for (uint32_t core : {0u, 1u}) platform.resources.push_back({"core " + std::to_string(core), 1.0, core});
  const auto add = [&](const std::string& name, DeviceId device, uint32_t cores, ResourceId uses,
                       std::optional<ResourceId> driver, std::optional<LinkId> link) {
    platform.unit_classes.push_back({name, device, cores});
    platform.units.push_back({name, UnitClassId(platform.unit_classes.size() - 1), {{uses, 1.0}}, driver, link});
  };
  add("cpu/1", DeviceId(0u), 1, ResourceId(0u), std::nullopt, std::nullopt);
  for (const char* queue : {"acc:0", "cpu>acc:0", "acc:0>cpu"})
    platform.resources.push_back({queue, 1.0, std::nullopt});
  platform.links.push_back({DeviceId(0u), DeviceId(1u), 0, 0});
  platform.links.push_back({DeviceId(1u), DeviceId(0u), 0, 0});
  add("acc:0", DeviceId(1u), 0, ResourceId(2u), ResourceId(1u), std::nullopt);
  add("cpu>acc:0", DeviceId(1u), 0, ResourceId(3u), ResourceId(1u), LinkId(0u));
  add("acc:0>cpu", DeviceId(1u), 0, ResourceId(4u), ResourceId(1u), LinkId(1u));
  return platform;
}

TEST_CASE("Search, MovedRunsGoOnInTheFormsThatTheyBeginIn", "[planner]") {
  // a takes 600 on the core, each b 90 there and 100 on the accelerator. Only all six of them moved together gain, and
  // only in the blocked form that the first makes and the last takes: what goes in or out of it on the way, or is
  // row-major on the accelerator, costs more than everything else.
  std::string text = "input x float32[2,8,4,4]\n";
  for (int b = 1; b <= 6; ++b) {
    const std::string of = b == 1 ? "x" : "b" + std::to_string(b - 1);
    text += "b" + std::to_string(b) + " = Relu(" + of + ") : float32[2,8,4,4]\n";
  }
  text += "a = Tanh(x) : float32[2,8,4,4]\ny = Add(b6, a) : float32[2,8,4,4]\noutput y\n";
  World world{ParseGraph(text).value(), CoreAndAccelerator(), {}, {}};
  const Form row = {RowMajor(4), DataType::kFloat32}, blocked = {ChannelBlocked(4, 8), DataType::kFloat32};
  const auto offer = [&](uint32_t node, uint32_t kind, const Form& in, const Form& out, int64_t ns) {
    Candidate candidate;
    candidate.nodes = {NodeId(node)};
    candidate.unit_class = UnitClassId(kind);
    candidate.library = "made-up";
    candidate.variant = ToString(in.layout) + ">" + ToString(out.layout);
    candidate.in.assign(GroupInputs(world.graph, candidate.nodes).size(), in);
    candidate.out = {out};
    world.costs.SetRunOf(candidate, ns);
    world.candidates.push_back(std::move(candidate));
  };
  for (uint32_t b = 0; b < 6; ++b) {
    offer(b, 0, row, row, 90);
    offer(b, 1, b == 0 ? row : blocked, b == 5 ? row : blocked, 100);
    if (b > 0) offer(b, 1, row, row, 900);
  }
  offer(6, 0, row, row, 600);
  offer(7, 0, row, row, 10);
  for (uint32_t link : {0u, 1u}) world.costs.SetLink(LinkId(link), 49, 1e9);  // and 1 for the bytes
  world.costs.SetReorder([](std::span<const int64_t>, const Form&, const Form&, UnitClassId) { return 1000; });
  CHECK(BySearch(world).makespan.ns == 50 + 6 * 100 + 50 + 10);
}

// A clock that goes on by one whenever it is read, so that time runs out at a chosen place of the search.
class CountingClock {
 public:
  int64_t read() { return ++reads_; }
  int64_t reads() const { return reads_; }

 private:
  int64_t reads_ = 0;
};

TEST_CASE("Search, EndsWithAPlanWhereverTimeRunsOut", "[planner]") {
  std::vector<World> worlds;
  worlds.push_back(MakeWorld(testing::RandomGraph(1, 40)));
  worlds.push_back(MakeWorld(testing::Inception(20), {.accelerator = false}));
  worlds.push_back(MakeWorld(testing::RandomGraph(2, 2100)));  // with fewer starts
  for (const World& world : worlds) {
    const auto run = [&](int64_t limit, CountingClock& clock) {
      PlanningProblem problem = world.problem();
      problem.effort = 300;
      problem.time_limit_ns = limit;
      problem.now_ns = [&] { return clock.read(); };
      return FindPlanner("search").value()->make_plan(problem, nullptr).value();
    };
    CountingClock whole;
    const Plan best = run(INT64_MAX / 2, whole);
    CHECK(best.report.stopped_by == "effort");
    // Inside starts too: they are several passes over all nodes.
    const auto nodes = static_cast<int64_t>(world.graph.nodes().size());
    CHECK(whole.reads() > 4 * nodes);
    for (const int64_t part : {0, 5, 20, 40, 60, 80, 95}) {
      const int64_t limit = 1 + whole.reads() * part / 100;
      CountingClock clock;
      const Plan plan = run(limit, clock);
      INFO(nodes << " nodes, time runs out at reading " << limit << " of " << whole.reads());
      CHECK(testing::FaultText(world, plan) == "");
      CHECK(plan.report.stopped_by == "time");
      CHECK(plan.makespan.ns >= best.makespan.ns);
      CHECK(clock.reads() <= limit + 40);
    }
  }
}

TEST_CASE("Search, EndsAtAPlanThatNoneIsFasterThan", "[planner]") {
  // Too large to be proven by itself. Told that nothing is faster than what it finds, it says that it is done, long
  // before its effort is spent; told of less it goes on.
  const World world = MakeWorld(testing::Inception(4));
  const Plan unbounded = BySearch(world);
  REQUIRE(unbounded.report.stopped_by == "effort");
  PlanningProblem problem = world.problem();
  problem.effort = 100 * testing::kTestEffort;
  problem.bound_ns = unbounded.makespan.ns;
  const Planner* search = FindPlanner("search").value();
  const Plan bounded = search->make_plan(problem, nullptr).value();
  CHECK(testing::FaultText(world, bounded) == "");
  CHECK(bounded.report.stopped_by == "done");
  CHECK(bounded.makespan.ns <= unbounded.makespan.ns);
  problem.effort = testing::kTestEffort;
  problem.bound_ns = 1;
  CHECK(search->make_plan(problem, nullptr).value().report.stopped_by == "effort");
}

TEST_CASE("Search, ATimeLimitThatIsNotReachedChangesNothing", "[planner]") {
  const World world = MakeWorld(testing::RandomGraph(5, 30), {}, 5);
  const Plan limited = BySearch(world, testing::kTestEffort, INT64_MAX / 4);
  CHECK(testing::OrderText(world, limited) == testing::OrderText(world, BySearch(world)));
}

TEST_CASE("Search, ImpossibleMovesOfManyInputsAreStillImpossible", "[planner]") {
  // Only the values at the boundary can change their form, so of the concatenations of four values only those that
  // take what the convolutions make can be used. Moves that cost kImpossible each add up to no more than that.
  World world = MakeWorld(testing::Inception(2), {.fused = false, .elided = false, .accelerator = false});
  const int64_t boundary = 2 * 32 * 4 * 4;
  world.costs.SetReorder(
      [=](std::span<const int64_t> dims, const Form&, const Form&, UnitClassId) -> std::optional<int64_t> {
        int64_t elements = 1;
        for (int64_t d : dims) elements *= d;
        return elements == boundary ? std::optional<int64_t>(100) : std::nullopt;
      });
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    PlanningProblem problem = world.problem();
    problem.seed = seed;
    const Plan plan = FindPlanner("search").value()->make_plan(problem, nullptr).value();
    CHECK(testing::FaultText(world, plan) == "");
    CHECK(plan.makespan.ns < 10'000'000);
  }
}

}  // namespace
}  // namespace pt::search_test
