// Stretches as problems of their own, and what is put together from them.
#include "lib/planner/search/segments.h"

#include <catch2/catch_test_macros.hpp>
#include <numeric>

#include "lib/planner/proofs/exact.h"
#include "lib/planner/schedule/assemble.h"
#include "lib/planner/search/segment_problem.h"
#include "lib/planner/search/serial_dp.h"
#include "test/testing/random_world.h"

namespace pt::segments_test {
namespace {

using testing::MachineKind;
using testing::RandomWorld;
using testing::RepeatedBlocks;
using testing::World;

const Solver& SolverOf(std::string_view name) {
  return *std::ranges::find_if(Solvers(), [&](const Solver& solver) { return solver.planner.name == name; });
}

// The tests' planners of stretches: how often they were asked, and single streams, which take no time.
int g_solved = 0;
Result<Solved> CountAndStream(const Space& space, std::string_view) {
  ++g_solved;
  PT_ASSIGN(Solution solution, SolveSerial(space, {}));
  return Solved{std::move(solution), "done"};
}

std::vector<NodeId> AllNodes(const World& world) {
  std::vector<NodeId> nodes;
  for (size_t n = 0; n < world.graph.nodes().size(); ++n) nodes.emplace_back(n);
  return nodes;
}

Solution OuterSolution(const Space& space, const GraphSegment& segment, const std::vector<SegmentChoice>& choices) {
  Solution solution;
  for (const SegmentChoice& choice : choices)
    solution.push_back({space.group(segment.groups[choice.group]).options[choice.option], choice.unit});
  return solution;
}

TEST_CASE("SegmentProblem, OfAllNodesIsTheProblemItself", "[planner]") {
  for (const MachineKind machine : {MachineKind::kHost, MachineKind::kQueue, MachineKind::kTwoStreams}) {
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      const World world = RandomWorld(seed, 20, machine);
      const PlanningProblem problem = world.problem();
      const Space space = Space::Make(problem).value();
      const GraphSegment segment = MakeSegment(space, AllNodes(world), {}, {});
      SegmentProblem inner(space, segment);
      const Space own = Space::Make(inner.problem()).value();
      for (int plan = 1; plan <= 20; ++plan) {
        const Solution solution = SolverOf("random").solve(own, std::to_string(plan)).value().order;
        const Solution outer = OuterSolution(space, segment, inner.ChoicesOf(own, solution));
        INFO("machine " << static_cast<int>(machine) << ", seed " << seed << ", random:" << plan);
        CHECK(Scheduler(space).Run(outer) == Scheduler(own).Run(solution));
      }
    }
  }
}

TEST_CASE("SegmentProblem, LeavesValuesInTheirPlacesAndForms", "[planner]") {
  // Conv, Relu, Conv, Relu, Conv: the middle pair, from each place and form of its input to each of its output.
  World world = testing::MakeWorld(testing::Chain(5));
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  const std::vector<NodeId> nodes = {NodeId(2u), NodeId(3u)};
  const ValueId before = world.graph.node(NodeId(1u)).outputs[0], behind = world.graph.node(NodeId(3u)).outputs[0];
  int checked = 0;
  for (Slot from = 0; from < space.routes(before).slots; ++from) {
    for (Slot to = 0; to < space.routes(behind).slots; ++to) {
      const GraphSegment segment = MakeSegment(space, nodes, {{before, from}}, {{behind, to}});
      SegmentProblem inner(space, segment);
      const Space own = Space::Make(inner.problem()).value();
      const ExactResult exact = FindExact(own, {}, {});
      REQUIRE(exact.proven);
      const std::vector<SegmentChoice> choices = inner.ChoicesOf(own, exact.solution);
      std::vector<NodeId> covered;
      for (const SegmentChoice& choice : choices) {
        const Group& group = space.group(segment.groups[choice.group]);
        covered.insert(covered.end(), group.nodes.begin(), group.nodes.end());
      }
      std::sort(covered.begin(), covered.end());
      CHECK(covered == nodes);
      // Nothing takes less than its kernels and the way of its input and output.
      int64_t least = kImpossible;
      for (uint32_t g : segment.groups) {
        for (uint32_t o : space.group(g).options) least = std::min(least, space.option(o).ns());
      }
      CHECK(exact.makespan_ns >= least);
      ++checked;
    }
  }
  CHECK(checked >= 4);
}

TEST_CASE("KeyOf, TellsWhatDiffers", "[planner]") {
  World world = testing::MakeWorld(testing::Chain(6), {.accelerator = false});
  for (const Candidate& candidate : world.candidates)  // all pairs alike
    world.costs.SetRunOf(candidate,
                         1000 * static_cast<int64_t>(candidate.nodes.size() + candidate.nodes[0].index() % 2));
  const auto keys = [&] {
    const PlanningProblem problem = world.problem();
    const Space space = Space::Make(problem).value();
    std::vector<std::vector<uint64_t>> result;
    for (const uint32_t first : {2u, 4u}) {
      const std::vector<NodeId> nodes = {NodeId(first), NodeId(first + 1)};
      const ValueId in = world.graph.node(NodeId(first - 1)).outputs[0];
      result.push_back(KeyOf(space, MakeSegment(space, nodes, {{in, 0}}, {})));
      result.push_back(KeyOf(space, MakeSegment(space, nodes, {{in, 1}}, {})));
    }
    return result;
  };
  const auto before = keys();
  CHECK(before[0] != before[1]);  // another form
  CHECK(before[0] != before[2]);  // the last pair makes the graph's output
  World longer = testing::MakeWorld(testing::Chain(8), {.accelerator = false});
  std::swap(world, longer);
  for (const Candidate& candidate : world.candidates)
    world.costs.SetRunOf(candidate,
                         1000 * static_cast<int64_t>(candidate.nodes.size() + candidate.nodes[0].index() % 2));
  const auto alike = keys();
  CHECK(alike[0] == alike[2]);
  CHECK(alike[1] == alike[3]);
  for (const Candidate& candidate : world.candidates) {
    if (candidate.nodes == std::vector{NodeId(3u)}) world.costs.SetRunOf(candidate, 77);
  }
  const auto other = keys();
  CHECK(other[0] != other[2]);
}

TEST_CASE("SolveBySegments, MakesLegalPlansOnEveryMachine", "[planner]") {
  int made = 0;
  for (const MachineKind machine :
       {MachineKind::kHost, MachineKind::kQueue, MachineKind::kTwoStreams, MachineKind::kSharedQueue}) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const World world = RandomWorld(seed, 70, machine);
      const PlanningProblem problem = world.problem();
      const Space space = Space::Make(problem).value();
      const Solution stream = SolveSerial(space, {}).value();
      const Solution heft = SolverOf("heft").solve(space, "").value().order;
      const std::vector<const Solution*> starts = {&stream, &heft};
      const SegmentResult found = SolveBySegments(space, starts, 100'000, CountAndStream);
      if (found.solution.empty()) continue;
      ++made;
      INFO("machine " << static_cast<int>(machine) << ", seed " << seed);
      CHECK(found.evaluations <= 100'000);
      const Result<Plan> plan = Assemble(space, found.solution, "segments");
      REQUIRE(plan.ok());
      CHECK(testing::FaultText(world, *plan) == "");
    }
  }
  CHECK(made >= 8);
}

TEST_CASE("SolveBySegments, SolvesEqualStretchesOnce", "[planner]") {
  const auto solves = [](size_t blocks) {
    const World world = RepeatedBlocks(blocks);
    const PlanningProblem problem = world.problem();
    const Space space = Space::Make(problem).value();
    const Solution stream = SolveSerial(space, {}).value();
    const std::vector<const Solution*> starts = {&stream};
    g_solved = 0;
    const SegmentResult found = SolveBySegments(space, starts, 100'000, CountAndStream);
    CHECK(Scheduler(space).Run(found.solution) < kImpossible);
    return g_solved;
  };
  const int few = solves(10);
  CHECK(few > 0);
  CHECK(solves(40) == few);
}

TEST_CASE("SolveBySegments, GivesNothingWithoutEffortOrTime", "[planner]") {
  const World world = RandomWorld(1, 70, MachineKind::kQueue);
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  const Solution stream = SolveSerial(space, {}).value();
  const std::vector<const Solution*> starts = {&stream};
  CHECK(SolveBySegments(space, starts, 10, CountAndStream).solution.empty());
  int64_t now_ns = 0;
  PlanningProblem limited = world.problem();
  limited.time_limit_ns = 100;
  limited.now_ns = [&] { return now_ns; };
  const Space late = Space::Make(limited).value();
  now_ns = 100;
  CHECK(SolveBySegments(late, starts, 100'000, CountAndStream).solution.empty());
  CHECK(SolveBySegments(space, {}, 100'000, CountAndStream).solution.empty());
}

}  // namespace
}  // namespace pt::segments_test
