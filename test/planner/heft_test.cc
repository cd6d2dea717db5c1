#include <catch2/catch_test_macros.hpp>

#include "test/testing/planning_world.h"

namespace pt {
namespace {

using testing::World;

// The ten tasks of Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity task scheduling for
// heterogeneous computing" (2002), figure 2 and table 2: times on P1, P2, P3, and the cost of every edge. Transfers
// there do not hinder each other, so each link gets as many copy engines as there are edges.
World TenTasks() {
  const std::vector<std::vector<int64_t>> times = {{14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17},  {12, 13, 10},
                                                   {13, 16, 9}, {7, 15, 11},  {5, 11, 14},  {18, 12, 20}, {21, 7, 16}};
  struct Edge {
    size_t from, to;
    int64_t cost;
  };
  const std::vector<Edge> edges = {{1, 2, 18}, {1, 3, 12}, {1, 4, 9},   {1, 5, 11},  {1, 6, 14},
                                   {2, 8, 19}, {2, 9, 16}, {3, 7, 23},  {4, 8, 27},  {4, 9, 23},
                                   {5, 9, 13}, {6, 8, 15}, {7, 10, 17}, {8, 10, 11}, {9, 10, 13}};
  GraphBuilder builder;
  std::vector<Node> nodes(times.size());
  for (const Edge& edge : edges) {
    // As many bytes as the edge costs; every edge is a value of its own.
    const ValueId value = builder.AddValue("e" + std::to_string(edge.from) + "_" + std::to_string(edge.to),
                                           StaticType(DataType::kUint8, {edge.cost}));
    nodes[edge.from - 1].outputs.push_back(value);
    nodes[edge.to - 1].inputs.push_back(value);
  }
  const ValueId result = builder.AddValue("result", StaticType(DataType::kUint8, {0}));
  nodes.back().outputs.push_back(result);
  for (Node& node : nodes) {
    node.op = "Task";
    builder.AddNode(std::move(node));
  }
  builder.AddOutput(result);

  World world;
  world.graph = builder.Build().value();
  for (uint32_t p = 0; p < 3; ++p) {
    const std::string name = "P" + std::to_string(p + 1);
    world.platform.devices.push_back({name, "made-up", 0, true, ""});
    world.platform.unit_classes.push_back({name, DeviceId(p), 0});
    world.platform.resources.push_back({name, 1.0, std::nullopt});
    world.platform.units.push_back({name, UnitClassId(p), {{ResourceId(p), 1.0}}, std::nullopt, std::nullopt});
  }
  for (uint32_t from = 0; from < 3; ++from) {
    for (uint32_t to = 0; to < 3; ++to) {
      if (from == to) continue;
      const LinkId link(world.platform.links.size());
      world.platform.links.push_back({DeviceId(from), DeviceId(to), 0, 0});
      world.platform.unit_classes.push_back({"link " + std::to_string(link.value), DeviceId(to), 0});
      world.costs.SetLink(link, 0, 1.0);
      for (size_t e = 0; e < edges.size(); ++e) {
        world.platform.units.push_back({"link " + std::to_string(link.value) + " engine " + std::to_string(e),
                                        UnitClassId(world.platform.unit_classes.size() - 1),
                                        {},
                                        std::nullopt,
                                        link});
      }
    }
  }
  for (uint32_t n = 0; n < times.size(); ++n) {
    for (uint32_t p = 0; p < 3; ++p) {
      Candidate candidate;
      candidate.nodes = {NodeId(n)};
      candidate.unit_class = UnitClassId(p);
      candidate.library = "table";
      const Form form = {RowMajor(1), DataType::kUint8};
      candidate.in.assign(GroupInputs(world.graph, candidate.nodes).size(), form);
      candidate.out.assign(GroupOutputs(world.graph, candidate.nodes).size(), form);
      world.costs.SetRun(candidate.nodes, candidate.unit_class, times[n][p]);
      world.candidates.push_back(std::move(candidate));
    }
  }
  return world;
}

TEST_CASE("Heft, TheTenTasksOfThePaperTake80", "[planner]") {
  const World world = TenTasks();
  const Plan plan = FindPlanner("heft").value()->make_plan(world.problem(), nullptr).value();
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(plan.makespan.ns == 80);
  // Figure 3a: unit and start of each task.
  const std::vector<std::pair<std::string, int64_t>> expected = {{"P3", 0},  {"P1", 27}, {"P3", 9},  {"P2", 18},
                                                                 {"P3", 28}, {"P2", 26}, {"P3", 38}, {"P1", 57},
                                                                 {"P2", 56}, {"P2", 73}};
  for (const Step& step : plan.steps) {
    const auto* group = std::get_if<RunGroup>(&step.work);
    if (group == nullptr) continue;
    const size_t task = plan.candidates[group->candidate.index()].nodes[0].index();
    INFO("task " << task + 1);
    CHECK(world.platform.unit(step.unit).name == expected[task].first);
    CHECK(step.expected_start_ns == expected[task].second);
  }
}

TEST_CASE("Search, DiamondOverlapsBothBranches", "[planner]") {
  World world = testing::MakeWorld(testing::Diamond(), {.fused = false, .blocked = false, .accelerator = false});
  // Narrow steps of equal time; a wide one takes more than half as long.
  for (Candidate& candidate : world.candidates) {
    world.costs.SetRunOf(candidate, candidate.unit_class == UnitClassId(0u) ? 1000 : 950);
  }
  for (size_t c = 0; c < 2; ++c) {
    world.costs.SetOverhead(UnitClassId(c), 0);
    for (size_t d = 0; d < 2; ++d) {
      world.costs.SetWait(UnitClassId(c), UnitClassId(d), 0);
      world.costs.SetFetch(UnitClassId(c), UnitClassId(d), 0);
    }
  }
  const Plan plan = FindPlanner("search").value()->make_plan(world.problem(), nullptr).value();
  CHECK(plan.makespan.ns == 950 + 1000 + 950);
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], v1@cpu[0], v2@cpu[1], v3@cpu[0-1]");
}

}  // namespace
}  // namespace pt
