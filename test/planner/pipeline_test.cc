// Hand-worked cases of the planners that make pipelines: rnn-pipeline over slices of time, throughput over requests.
#include <catch2/catch_test_macros.hpp>

#include "lib/planner/methods/stages.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/transform/rewrites.h"
#include "test/testing/planning_world.h"

namespace pt::pipeline_test {
namespace {

using testing::World;

TEST_CASE("LeastLargestStage, CutsWhereTheBusiestPlaceHasLeast", "[planner]") {
  using Places = std::vector<uint32_t>;
  const auto of = [](std::vector<std::vector<int64_t>> times) { return LeastLargestStage(times); };
  CHECK(of({{5, 5}, {1, 1}, {2, 2}, {4, 4}}) == Places{0, 0, 1, 1});
  CHECK(of({{5, 1}, {1, 1}, {2, 1}, {4, 1}}) == Places{1, 1, 1, 1});
  CHECK(of({{9, 9, 9}, {1, 1, 1}, {1, 1, 1}, {9, 9, 9}}) == Places{0, 1, 1, 2});
  CHECK(of({{kImpossible, 7}, {1, 7}}) == Places{1, 1});
  CHECK(of({{1, kImpossible}, {kImpossible, 1}}) == Places{0, 1});
  CHECK(of({{kImpossible, 1}, {1, kImpossible}}).empty());  // places take items in their order
  CHECK(of({{kImpossible}}).empty());
  CHECK(of({}).empty());
}

// Every node by itself, row-major, on one core; ns by operator.
World OnCores(Graph graph, uint32_t cores, const std::map<std::string, int64_t>& ns) {
  World world{std::move(graph), testing::Cores(cores), {}, {}};
  std::erase_if(world.platform.units, [](const Unit& unit) { return unit.uses.size() > 1; });
  for (size_t n = 0; n < world.graph.nodes().size(); ++n) {
    const std::vector<NodeId> nodes = {NodeId(n)};
    Candidate candidate = RowMajorCandidate(world.graph, nodes, "made-up");
    candidate.unit_class = UnitClassId(0u);
    world.costs.SetRunOf(candidate, ns.at(world.graph.nodes()[n].op));
    world.candidates.push_back(candidate);
  }
  return world;
}

Graph Layers(int layers) {
  std::string text =
      "input x0 float32[6,1,4]\nconst w float32[1,16,4] random 1\nconst r float32[1,16,4] random 2\n"
      "const one int64[1] ints 1\n";
  for (int l = 0; l < layers; ++l) {
    const std::string n = std::to_string(l);
    text += "y" + n + " = LSTM(x" + n + ", w, r) hidden_size=4\nx" + std::to_string(l + 1) + " = Squeeze(y" + n +
            ", one)\n";
  }
  return InferShapes(ParseGraph(text + "output x" + std::to_string(layers) + "\n").value()).value();
}

TEST_CASE("RnnPipeline, LayersWorkOnSlicesSideBySide", "[planner]") {
  const std::map<std::string, int64_t> ns = {{"LSTM", 100}, {"Squeeze", 0}, {"Split", 0}, {"Concat", 0}};
  // Two layers of three slices: the second layer begins when the first has made its first slice.
  const World two = OnCores(SliceTime(Layers(2), 3).value(), 2, ns);
  const Plan plan = testing::PlanOf(two, "rnn-pipeline");
  CHECK(testing::FaultText(two, plan) == "");
  CHECK(plan.makespan.ns == (3 + 1) * 100);
  // Four layers on two cores: two each, 2 x 3 slices and one slice of two layers before the second core can begin.
  const World four = OnCores(SliceTime(Layers(4), 3).value(), 2, ns);
  CHECK(testing::PlanOf(four, "rnn-pipeline").makespan.ns == (6 + 2) * 100);
  // Not cut, one layer waits for the other.
  CHECK(testing::PlanOf(OnCores(Layers(2), 2, {{"LSTM", 300}, {"Squeeze", 0}}), "rnn-pipeline").makespan.ns == 600);
}

TEST_CASE("RnnPipeline, NothingRecurrentIsInfeasible", "[planner]") {
  const World world = testing::MakeWorld(testing::Chain(3));
  const Result<Plan> plan = FindPlanner("rnn-pipeline").value()->make_plan(world.problem(), nullptr);
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().code == ErrorCode::kInfeasible);
}

Graph RequestsOf(const std::string& text, uint32_t requests) {
  return RepeatRequests(ParseGraph(text).value(), requests).value();
}

TEST_CASE("Throughput, WholeRequestsWhereAllUnitsAreAlike", "[planner]") {
  const std::string text =
      "input x float32[2,8,4,4]\nv = Relu(x) : float32[2,8,4,4]\nw = Tanh(v) : float32[2,8,4,4]\n"
      "output w\n";
  const World world = OnCores(RequestsOf(text, 4), 2, {{"Relu", 70}, {"Tanh", 30}});
  const Plan plan = testing::PlanOf(world, "throughput");
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(plan.makespan.ns == 200);  // a pipeline takes 4 * 70 + 30
}

TEST_CASE("Throughput, StagesWhereEachUnitIsBetterAtItsOwn", "[planner]") {
  const std::string text =
      "input x float32[2,8,4,4]\nv = Relu(x) : float32[2,8,4,4]\nw = Tanh(v) : float32[2,8,4,4]\n"
      "output w\n";
  World world = OnCores(RequestsOf(text, 3), 2, {{"Relu", 10}, {"Tanh", 1000}});
  world.platform = testing::TwoCores();
  std::erase_if(world.platform.units, [](const Unit& unit) { return unit.uses.size() > 1 || unit.name == "cpu[1]"; });
  for (const Candidate& on_core : std::vector<Candidate>(world.candidates)) {
    Candidate candidate = on_core;
    candidate.unit_class = world.platform.unit(FindUnit(world.platform, "acc:0#0")).unit_class;
    const bool tanh = world.graph.node(candidate.nodes.front()).op == "Tanh";
    world.costs.SetRunOf(candidate, tanh ? 10 : 1000);
    world.candidates.push_back(candidate);
  }
  for (uint32_t link : {0u, 1u}) world.costs.SetLink(LinkId(link), 0, 1e9);
  const Plan plan = testing::PlanOf(world, "throughput");
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(plan.makespan.ns == 10 + 1 + 3 * 10 + 1);  // with a copy of 1 ns before and one behind what the device does
}

TEST_CASE("Throughput, OneRequestIsInfeasible", "[planner]") {
  const World world = testing::MakeWorld(testing::Chain(3));
  const Result<Plan> plan = FindPlanner("throughput").value()->make_plan(world.problem(), nullptr);
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().id == "planner.one_request");
}

}  // namespace
}  // namespace pt::pipeline_test
