// Hand-worked cases of the planners that know streams, not widths: estf and wavefront.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "partitiontuner/graph/graph_text.h"
#include "test/testing/planning_world.h"

namespace pt::streams_test {
namespace {

using testing::World;

// v0, then `branches` of one operator each, of these times, then their sum: on two single cores without overheads.
World ForkOf(const std::vector<int64_t>& branch_ns) {
  std::string text = "input x float32[2,8,4,4]\nv0 = Relu(x) : float32[2,8,4,4]\n";
  std::string in;
  for (size_t b = 1; b <= branch_ns.size(); ++b) {
    const std::string name = "v" + std::to_string(b);
    text += name + " = Relu(v0) : float32[2,8,4,4]\n";
    in += (b == 1 ? "" : ", ") + name;
  }
  text += "v9 = Sum(" + in + ") : float32[2,8,4,4]\noutput v9\n";
  World world{ParseGraph(text).value(), testing::Cores(2), {}, {}};
  std::erase_if(world.platform.units, [](const Unit& unit) { return unit.uses.size() > 1; });
  for (size_t n = 0; n < world.graph.nodes().size(); ++n) {
    const std::vector<NodeId> nodes = {NodeId(n)};
    Candidate candidate = RowMajorCandidate(world.graph, nodes, "made-up");
    candidate.unit_class = UnitClassId(0u);
    world.costs.SetRunOf(candidate, n == 0 || n > branch_ns.size() ? 10 : branch_ns[n - 1]);
    world.candidates.push_back(candidate);
  }
  return world;
}

// The same on an accelerator with two streams, each branch asking for this share of it; inputs and outputs cost nothing
// to bring there.
World ForkOnStreams(const std::vector<int64_t>& branch_ns, double share) {
  World world = ForkOf(branch_ns);
  world.platform = testing::TwoCores();
  Unit stream = world.platform.unit(FindUnit(world.platform, "acc:0#0"));
  for (Unit& unit : world.platform.units) {
    if (unit.name == "acc:0#0") unit.uses.front().second = share;
  }
  stream.name = "acc:0#1";
  stream.uses.front().second = share;
  world.platform.units.push_back(stream);
  const std::vector<Candidate> on_core = world.candidates;
  world.candidates.clear();
  for (Candidate candidate : on_core) {
    const int64_t ns = world.costs.OfStep(candidate).run->ns;
    candidate.unit_class = stream.unit_class;
    world.costs.SetRunOf(candidate, ns);
    world.candidates.push_back(candidate);
  }
  for (uint32_t link : {0u, 1u}) world.costs.SetLink(LinkId(link), 0, 1e9);
  return world;
}

// Where a stream waits 5 for another one. The copies in and out take 1 each.
World ForkWithWaits(const std::vector<int64_t>& branch_ns) {
  World world = ForkOnStreams(branch_ns, 0.25);
  const UnitClassId stream = world.candidates.front().unit_class;
  world.costs.SetWait(stream, stream, 5);
  return world;
}

// The groups of the plan, which is legal, in its order: "v0@0, v1@1" with the numbers of their streams.
std::string StreamsText(const World& world, const std::string& planner) {
  const Plan plan = testing::PlanOf(world, planner);
  CHECK(testing::FaultText(world, plan) == "");
  std::string text;
  for (const Step& step : plan.steps) {
    const auto* group = std::get_if<RunGroup>(&step.work);
    if (group == nullptr) continue;
    const NodeId node = plan.candidates[group->candidate.index()].nodes.front();
    const std::string& unit = world.platform.unit(step.unit).name;
    text += (text.empty() ? "" : ", ") + world.graph.value(world.graph.node(node).outputs[0]).name + "@" +
            unit.substr(unit.find('#') + 1);
  }
  return text + ": " + std::to_string(plan.makespan.ns);
}

TEST_CASE("Wavefront, BranchesShorterThanAWaitStayBesideTheirNeighbours", "[planner]") {
  // v2 on another stream would start at 15, and v9 would wait for it until 24.
  CHECK(StreamsText(ForkWithWaits({6, 4}), "wavefront") == "v0@0, v2@0, v1@0, v9@0: 32");
  // The short one comes first but is not whom v0's stream is for.
  CHECK(StreamsText(ForkWithWaits({4, 60}), "wavefront") == "v0@0, v1@0, v2@0, v9@0: 86");
  CHECK(StreamsText(ForkWithWaits({100, 3, 60}), "wavefront") == "v0@0, v2@0, v3@1, v1@0, v9@0: 125");
}

TEST_CASE("Estf, BranchesThatWouldBeBackLaterStayBesideTheirNeighbours", "[planner]") {
  // On the other stream v2 could start at 15, before 16, but would be back at 24 only.
  CHECK(StreamsText(ForkWithWaits({6, 4}), "estf") == "v0@0, v1@0, v2@0, v9@0: 32");
  // It starts at 15 there and is back at 24; behind v1 it would end at 26.
  CHECK(StreamsText(ForkWithWaits({12, 4}), "estf") == "v0@0, v1@0, v2@1, v9@0: 36");
}

TEST_CASE("Ios, StagesOfSeveralStreamsPayForTheirWaits", "[planner]") {
  // Side by side 4 + 5 + 5 against 6, so 14, one after the other 10.
  CHECK(StreamsText(ForkWithWaits({6, 4}), "ios") == "v0@0, v1@0, v2@0, v9@0: 32");
  // 22 beside 30 against 42.
  CHECK(StreamsText(ForkWithWaits({30, 12}), "ios") == "v0@0, v1@0, v2@1, v9@0: 52");
}

TEST_CASE("Search, BranchesGoWhereWaitsAreWorthIt", "[planner]") {
  const std::string together = StreamsText(ForkWithWaits({6, 4}), "search");
  CHECK(together.ends_with(": 32"));
  CHECK(std::count(together.begin(), together.end(), '@') == 4);
  CHECK((together.find("@1") == std::string::npos || together.find("@0") == std::string::npos));
  CHECK(StreamsText(ForkWithWaits({12, 4}), "search").ends_with(": 36"));
  CHECK(StreamsText(ForkWithWaits({100, 3, 60}), "search").ends_with(": 122"));
}

// On two streams: v0, then convolutions v1 and v2 of 40 each and v3 and v4, which only move what v0 made, of 30 each,
// then their sum.
World TwoKindsOnStreams() {
  World world = ForkOnStreams({40, 40, 30, 30}, 0.25);
  const Candidate like = world.candidates.front();
  world.graph = ParseGraph(
                    "input x float32[2,8,4,4]\nconst w float32[8,8,1,1] ones\nv0 = Relu(x) : float32[2,8,4,4]\n"
                    "v1 = Conv(v0, w) : float32[2,8,4,4]\nv2 = Conv(v0, w) : float32[2,8,4,4]\n"
                    "v3 = Relu(v0) : float32[2,8,4,4]\nv4 = Relu(v0) : float32[2,8,4,4]\n"
                    "v9 = Sum(v1, v2, v3, v4) : float32[2,8,4,4]\noutput v9\n")
                    .value();
  const std::vector<Candidate> before = std::exchange(world.candidates, {});
  for (uint32_t n = 0; n < before.size(); ++n) {
    const std::vector<NodeId> nodes = {NodeId(n)};
    Candidate candidate = RowMajorCandidate(world.graph, nodes, like.library);
    candidate.unit_class = like.unit_class;
    world.costs.SetRunOf(candidate, world.costs.OfStep(before[n]).run->ns);
    world.candidates.push_back(candidate);
  }
  return world;
}

TEST_CASE("Wavefront, KernelsBoundByMemoryAndByArithmeticAreLaunchedByTurns", "[planner]") {
  // By time alone v3 and v4 would come before v1 and v2.
  CHECK(StreamsText(TwoKindsOnStreams(), "wavefront") == "v0@0, v3@0, v1@0, v4@1, v2@1, v9@0: 92");
}

TEST_CASE("Search, KernelsThatSlowEachOtherLessRunBesideEachOther", "[planner]") {
  // Of one kind they take twice as long beside each other: 40 and 30 side by side, twice.
  World world = TwoKindsOnStreams();
  const Graph& graph = world.graph;
  world.costs.SetSlowdown([&graph](const Candidate& candidate, std::span<const Candidate* const> beside) {
    const auto op = [&graph](const Candidate& of) { return graph.node(of.nodes.front()).op; };
    return std::any_of(beside.begin(), beside.end(),
                       [&](const Candidate* other) { return op(*other) == op(candidate); })
               ? 2.0
               : 1.0;
  });
  const Plan plan = testing::PlanOf(world, "search");
  INFO(testing::OrderText(world, plan));
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(plan.makespan.ns == 1 + 10 + 40 + 40 + 10 + 1);
}

TEST_CASE("Streams, WaitsThatOthersImplyAreNotInThePlan", "[planner]") {
  // v9 reads all three branches. Those of one stream are over with its last, so it waits for one step of the other
  // stream and for none of its own.
  for (const char* planner : {"wavefront", "estf", "ios", "search"}) {
    const World world = ForkWithWaits({100, 30, 60});
    const Plan plan = testing::PlanOf(world, planner);
    INFO(planner << ": " << testing::OrderText(world, plan));
    size_t groups = 0;
    for (const Step& step : plan.steps) {
      if (!std::holds_alternative<RunGroup>(step.work)) continue;
      ++groups;
      size_t of_streams = 0;
      for (StepId predecessor : step.after) {
        const bool is_group = std::holds_alternative<RunGroup>(plan.steps[predecessor.index()].work);
        CHECK(plan.steps[predecessor.index()].unit != step.unit);
        of_streams += is_group ? 1 : 0;
      }
      CHECK(of_streams <= 1);
    }
    CHECK(groups == 5);
  }
}

TEST_CASE("Estf, StepsThatDoNotFitBesideEachOtherWait", "[planner]") {
  // Two halves run at once; of two that ask for 0.6 each the second waits, though its stream is free: as listed, v2
  // starts at 10 + 100 on whichever stream.
  for (const auto& [share, streams] : {std::pair(0.5, 2), std::pair(0.6, 1)}) {
    const World world = ForkOnStreams({100, 100}, share);
    const Plan plan = testing::PlanOf(world, "estf");
    INFO("share " << share << ": " << testing::OrderText(world, plan));
    CHECK(testing::FaultText(world, plan) == "");
    std::set<UnitId> used;
    for (const Step& step : plan.steps) {
      const auto* group = std::get_if<RunGroup>(&step.work);
      if (group == nullptr) continue;
      const NodeId node = plan.candidates[group->candidate.index()].nodes.front();
      if (node == NodeId(1u) || node == NodeId(2u)) used.insert(step.unit);
    }
    CHECK(static_cast<int>(used.size()) == streams);
  }
}

TEST_CASE("Estf, WhatRemainsLongestStartsFirstAmongEquals", "[planner]") {
  // All branches can start at 10 on either core: 100 on that of v0, 60 beside it, then 30 where it starts first, at 70.
  const World world = ForkOf({30, 60, 100});
  const Plan plan = testing::PlanOf(world, "estf");
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-0], v3@cpu[0-0], v2@cpu[1-1], v1@cpu[1-1], v9@cpu[0-0]");
  CHECK(plan.makespan.ns == 10 + 100 + 10);
}

TEST_CASE("Wavefront, LeastWorkOfAWaveIsLaunchedFirst", "[planner]") {
  // The first reader goes on in the stream of v0, each other opens one: v1 on the first core, v2 on the second, v3 on
  // the first again. Of the wave 30 is launched first, then 60 and 100.
  const World world = ForkOf({100, 60, 30});
  const Plan plan = testing::PlanOf(world, "wavefront");
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-0], v3@cpu[0-0], v2@cpu[1-1], v1@cpu[0-0], v9@cpu[0-0]");
  CHECK(plan.makespan.ns == 10 + 30 + 100 + 10);
}

// A block of convolutions as in figure 2 of the paper: v1 and v2 beside v3, v4, of 40 each, behind v0 and before v9; on
// two single cores without overheads. And these groups with their times.
World ConvolutionBlock(const std::vector<std::pair<std::vector<uint32_t>, int64_t>>& groups) {
  World world{ParseGraph("input x float32[2,8,4,4]\nconst w float32[8,8,1,1] ones\n"
                         "v0 = Relu(x) : float32[2,8,4,4]\nv1 = Conv(v0, w) : float32[2,8,4,4]\n"
                         "v2 = Conv(v0, w) : float32[2,8,4,4]\nv3 = Conv(v0, w) : float32[2,8,4,4]\n"
                         "v4 = Conv(v3, w) : float32[2,8,4,4]\nv9 = Sum(v1, v2, v4) : float32[2,8,4,4]\noutput v9\n")
                  .value(),
              testing::Cores(2),
              {},
              {}};
  std::erase_if(world.platform.units, [](const Unit& unit) { return unit.uses.size() > 1; });
  const auto add = [&](const std::vector<uint32_t>& nodes, int64_t ns) {
    std::vector<NodeId> ids;
    for (uint32_t n : nodes) ids.push_back(NodeId(n));
    Candidate candidate = RowMajorCandidate(world.graph, ids, "made-up");
    candidate.unit_class = UnitClassId(0u);
    world.costs.SetRunOf(candidate, ns);
    world.candidates.push_back(candidate);
  };
  for (uint32_t n = 0; n < world.graph.nodes().size(); ++n) add({n}, n == 0 || n == 5 ? 10 : 40);
  for (const auto& [nodes, ns] : groups) add(nodes, ns);
  return world;
}

// The sample network of the authors' repository, which is figure 2 of the paper: a (with d behind it), b and c of one
// input, then a concatenation, with the times that they publish for a V100 in nanoseconds. What each asks of the device
// is what the two measured stages say, 161451 for a beside b and 154482 for d beside c: 1.3 together, and b and d have
// twice the filters of a and c. On an accelerator with three streams.
World IosSample() {
  World world{ParseGraph("input x float32[1,375,15,15]\nconst w1 float32[375,375,3,3] ones\n"
                         "const w2 float32[750,375,3,3] ones\n"
                         "a = Conv(x, w1) pads=[1,1,1,1] : float32[1,375,15,15]\n"
                         "b = Conv(x, w2) pads=[1,1,1,1] : float32[1,750,15,15]\n"
                         "c = Conv(x, w1) pads=[1,1,1,1] : float32[1,375,15,15]\n"
                         "d = Conv(a, w2) pads=[1,1,1,1] : float32[1,750,15,15]\n"
                         "y = Concat(d, b, c) axis=1 : float32[1,1875,15,15]\noutput y\n")
                  .value(),
              testing::TwoCores(),
              {},
              {}};
  const UnitId first = FindUnit(world.platform, "acc:0#0");
  world.platform.units[first.index()].uses.front().second = 0.1;
  for (const char* name : {"acc:0#1", "acc:0#2"}) {
    Unit stream = world.platform.unit(first);
    stream.name = name;
    world.platform.units.push_back(stream);
  }
  const Unit& stream = world.platform.unit(first);
  SimulatedRates& rates = world.platform.simulated[world.platform.device_of(first)];
  rates.families["Conv 1x375x15x15,375x375x3x3>1x375x15x15"].demand = 0.43;
  rates.families["Conv 1x375x15x15,750x375x3x3>1x750x15x15"].demand = 0.87;
  rates.families["*"].demand = 1;
  const int64_t published_ns[] = {110706, 126037, 106041, 125497, 17948};
  for (uint32_t n = 0; n < world.graph.nodes().size(); ++n) {
    const std::vector<NodeId> nodes = {NodeId(n)};
    Candidate candidate = RowMajorCandidate(world.graph, nodes, "made-up");
    candidate.unit_class = stream.unit_class;
    world.costs.SetRunOf(candidate, published_ns[n]);
    world.candidates.push_back(candidate);
  }
  for (uint32_t link : {0u, 1u}) world.costs.SetLink(LinkId(link), 0, 1e9);
  return world;
}

TEST_CASE("Ios, MakesTheScheduleOfItsPaper", "[planner]") {
  // {a, b}, then {d, c}, then y: 333 us as published, 334.5 with these shares, less what c gains by not waiting for b.
  // One after another they take 486, and with all that is ready at once (a, b and c, then d) 350.
  const World world = IosSample();
  const Plan plan = testing::PlanOf(world, "ios");
  INFO(testing::OrderText(world, plan));
  CHECK(testing::FaultText(world, plan) == "");
  std::map<NodeId, UnitId> on;
  std::map<NodeId, int64_t> start;
  for (const Step& step : plan.steps) {
    if (const auto* group = std::get_if<RunGroup>(&step.work)) {
      const NodeId node = plan.candidates[group->candidate.index()].nodes.front();
      on[node] = step.unit;
      start[node] = step.expected_start_ns;
    }
  }
  const NodeId a(0u), b(1u), c(2u), d(3u);
  CHECK(on[a] != on[b]);
  CHECK(on[d] != on[c]);
  CHECK(start[c] >= start[a] + 110706);  // not beside both
  CHECK(std::abs(plan.makespan.ns - 334500) < 1000);
  CHECK(testing::PlanOf(world, "single", "acc:0").makespan.ns > 486000);
}

// The makespan of the plan of ios, which is legal.
int64_t IosNs(const World& world) {
  const Plan plan = testing::PlanOf(world, "ios");
  CHECK(testing::FaultText(world, plan) == "");
  return plan.makespan.ns;
}

TEST_CASE("Ios, StagesBeatLevels", "[planner]") {
  // By levels three run at once on two cores, then v4 alone: 120. Two stages of two parts each take 80.
  CHECK(IosNs(ConvolutionBlock({})) == 10 + 80 + 10);
}

TEST_CASE("Ios, AStageIsMergedWhereThatIsFaster", "[planner]") {
  // One kernel for v1, v2 and v3 in 30, then v4.
  const World world = ConvolutionBlock({{{1, 2, 3}, 30}});
  const Plan plan = testing::PlanOf(world, "ios");
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-0], v1+v2+v3@cpu[0-0], v4@cpu[0-0], v9@cpu[0-0]");
  CHECK(plan.makespan.ns == 10 + 30 + 40 + 10);
}

TEST_CASE("Ios, AMergeThatTakesLongerThanStagesSideBySideIsNot", "[planner]") {
  // 55 and 40 for v4 behind it; or v1 and v2 in 20, and v3 and v4 one after the other. A single stream would take
  // either.
  CHECK(IosNs(ConvolutionBlock({{{1, 2, 3}, 55}, {{1, 2}, 20}})) == 10 + 80 + 10);
}

TEST_CASE("Ios, WhatReadsNoCommonValueIsNotMerged", "[planner]") {
  CHECK(IosNs(ConvolutionBlock({{{1, 4}, 1}})) == 10 + 80 + 10);
}

TEST_CASE("Ios, WhatDoesNotHangTogetherNeverSharesAStreamInAStage", "[planner]") {
  // 30 and 60 behind each other beside 90 would take 90, but are no part: a stage of two parts, then one of the third.
  const World world = ForkOf({90, 30, 60});
  CHECK(testing::PlanOf(world, "ios").makespan.ns == 10 + 90 + 30 + 10);
}

TEST_CASE("Ios, BlocksOfManyBranchesAreSolvedWithSmallerParts", "[planner]") {
  // More endings than are looked at; every other planner's limits hold still, and equal blocks get equal stages.
  const World world = testing::MakeWorld(testing::Inception(6), {.blocked = false, .accelerator = false});
  const Plan plan = testing::PlanOf(world, "ios");
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(plan.makespan.ns < testing::PlanOf(world, "wavefront").makespan.ns);
}

}  // namespace
}  // namespace pt::streams_test
