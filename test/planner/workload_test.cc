// Workload files: what each field becomes, what is refused, and that every planner keeps the rules that they bring.
#include "partitiontuner/planner/workload.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "partitiontuner/planner/bounds.h"
#include "partitiontuner/planner/planner_names.h"
#include "partitiontuner/support/file.h"
#include "test/testing/planning_world.h"
#include "test/testing/test_data.h"

namespace pt::workload_test {
namespace {

namespace fs = std::filesystem;

Result<Workload> Read(const std::string& text) {
  const Result<Json> json = ParseJson(text, "w.json");
  REQUIRE(json.ok());
  return WorkloadFromJson(*json, "w.json");
}

std::string NodeText(int id, double cpu_ms, double accelerator_ms, int64_t size, const std::string& more = "") {
  return "{\"id\": " + std::to_string(id) + ", \"name\": \"n" + std::to_string(id) +
         "\", \"supportedOnFpga\": 1, \"cpuLatency\": " + std::to_string(cpu_ms) +
         ", \"fpgaLatency\": " + std::to_string(accelerator_ms) + ", \"size\": " + std::to_string(size) + more + "}";
}

std::string EdgeText(int from, int to, double cost_ms) {
  return "{\"sourceId\": " + std::to_string(from) + ", \"destId\": " + std::to_string(to) +
         ", \"cost\": " + std::to_string(cost_ms) + "}";
}

std::string FileText(int cores, int accelerators, int64_t bytes, const std::string& nodes,
                     const std::string& edges = "") {
  return "{\"maxCPUs\": " + std::to_string(cores) + ", \"maxFPGAs\": " + std::to_string(accelerators) +
         ", \"maxSizePerFPGA\": " + std::to_string(bytes) + ", \"nodes\": [" + nodes + "], \"edges\": [" + edges + "]}";
}

// An optional colour class.
std::string Colour(int colour) { return ", \"colorClass\": " + std::to_string(colour); }

// As what the planners' other tests look at.
testing::World AsWorld(const Workload& workload) {
  return {workload.graph, workload.platform, workload.candidates, workload.costs, workload.constraints};
}

Result<Plan> PlanBy(const Workload& workload, const std::string& name, uint64_t effort = testing::kTestEffort) {
  PlanningProblem problem = workload.problem();
  problem.effort = effort;
  if (const size_t colon = name.find(':'); colon != std::string::npos)
    problem.argument = std::string_view(name).substr(colon + 1);
  return FindPlanner(name).value()->make_plan(problem, nullptr);
}

std::vector<DeviceId> DevicesOf(const Workload& workload, const Plan& plan) {
  std::vector<DeviceId> device_of(workload.graph.nodes().size());
  for (const Step& step : plan.steps) {
    const auto* run = std::get_if<RunGroup>(&step.work);
    if (run == nullptr) continue;
    for (NodeId node : plan.candidates[run->candidate.index()].nodes) {
      device_of[node.index()] = workload.platform.device_of(step.unit);
    }
  }
  return device_of;
}

void CheckKeepsRules(const Workload& workload, const Plan& plan) {
  CHECK(testing::FaultText(AsWorld(workload), plan) == "");
  const std::vector<DeviceId> device_of = DevicesOf(workload, plan);
  for (const std::vector<NodeId>& nodes : workload.constraints.together) {
    for (NodeId node : nodes) CHECK(device_of[node.index()] == device_of[nodes.front().index()]);
  }
  std::map<DeviceId, uint64_t> resident;
  for (size_t n = 0; n < device_of.size(); ++n) resident[device_of[n]] += workload.constraints.resident_bytes[n];
  for (const auto& [device, cap] : workload.constraints.resident_caps) CHECK(resident[device] <= cap);
}

// All that can plan it; at least the search.
void CheckEveryPlanner(const Workload& workload, uint64_t effort) {
  const int64_t bound = BestBound(workload.problem()).ns;
  const Result<Plan> search = PlanBy(workload, "search", effort);
  REQUIRE(search.ok());
  for (const std::string& name : PlannerNames(workload.platform, 1)) {
    INFO(name);
    const Result<Plan> plan = PlanBy(workload, name, effort);
    if (name == "rnn-pipeline" || name == "throughput") {  // for other graphs
      CHECK(plan.error().code == ErrorCode::kInfeasible);
      continue;
    }
    if (!plan.ok()) {
      CHECK(name.starts_with("single:acc:"));
      CHECK(plan.error().id == "planner.resident");
      continue;
    }
    CheckKeepsRules(workload, *plan);
    CHECK(bound <= plan->makespan.ns);
    CHECK(search->makespan.ns <= plan->makespan.ns);
  }
}

TEST_CASE("Workload, SmallFileBecomesAProblem", "[planner]") {
  // The second node stands in the file before the first.
  const std::string nodes =
      NodeText(7, 4, 0.5, 30, Colour(3) + ", \"isBackwardNode\": true") + "," + NodeText(2, 1.5, 0.25, 10, Colour(3)) +
      "," + "{\"id\": 5, \"supportedOnFpga\": false, \"cpuLatency\": 2, \"fpgaLatency\": 0, \"size\": 0}";
  const Result<Workload> read = Read(FileText(2, 3, 100, nodes, EdgeText(2, 7, 0.125) + "," + EdgeText(2, 5, 0.125)));
  REQUIRE(read.ok());
  const Workload& workload = *read;
  REQUIRE(workload.graph.nodes().size() == 3);
  CHECK(workload.graph.nodes()[0].name == "n2");
  CHECK(workload.is_training);
  CHECK(CheckPlatform(workload.platform).ok());
  CHECK(workload.platform.devices.size() == 4);
  CHECK(SingleCoreUnits(workload.platform).size() == 2);
  std::map<std::string, NodeId> by_name;
  for (size_t n = 0; n < 3; ++n) by_name[workload.graph.nodes()[n].name] = NodeId(n);
  const NodeId first = by_name.at("n2"), second = by_name.at("n7"), hosted = by_name.at("node 5");
  // Each on the host's class and on three accelerators, but for the one that no accelerator supports.
  CHECK(workload.candidates.size() == 4 + 4 + 1);
  for (const Candidate& candidate : workload.candidates) {
    const bool on_host = workload.platform.unit_class(candidate.unit_class).on_host();
    const NodeId node = candidate.nodes.front();
    const int64_t cpu_ns = node == first ? 1'500'000 : node == second ? 4'000'000 : 2'000'000;
    const int64_t accelerator_ns = node == first ? 250'000 : 500'000;
    CHECK(workload.costs.OfStep(candidate).run->ns == (on_host ? cpu_ns : accelerator_ns));
    if (node == hosted) CHECK(on_host);
  }
  const ValueId output = workload.graph.node(first).outputs.front();
  const auto dims = workload.graph.value(output).type.static_dims();
  REQUIRE(dims);
  for (size_t l = 0; l < workload.platform.links.size(); ++l) {
    CHECK(workload.costs.Copy(static_cast<uint64_t>(dims->front()), LinkId(l)).ns == 125'000);
  }
  CHECK(workload.constraints.together ==
        std::vector<std::vector<NodeId>>{{std::min(first, second), std::max(first, second)}});
  CHECK(workload.constraints.resident_bytes[second.index()] == 30);
  CHECK(workload.constraints.resident_caps.size() == 3);
  CHECK(workload.constraints.resident_caps.at(DeviceId(3u)) == 100);
}

TEST_CASE("Workload, BadFilesAreRefusedWithPlaceAndReason", "[planner]") {
  const std::string two = NodeText(1, 1, 1, 1) + "," + NodeText(2, 1, 1, 1);
  const std::pair<std::string, const char*> bad[] = {
      {"[]", "the workload is not an object"},
      {FileText(1, 1, 1, ""), "the workload: 0 nodes"},
      {FileText(0, 1, 1, two), "\"maxCPUs\" is 0"},
      {FileText(1, 100000, 1, two), "\"maxFPGAs\" is 100000"},
      {FileText(1, -1, 1, two), "\"maxFPGAs\" is -1"},
      {FileText(1, 1, -5, two), "\"maxSizePerFPGA\" is -5"},
      {FileText(1, 1, 1, NodeText(1, 1, 1, 1, ", \"colourClass\": 3")), "nodes[0]: unknown key 'colourClass'"},
      {FileText(1, 1, 1, NodeText(1, 1, 1, 1) + "," + NodeText(1, 1, 1, 1)), "nodes[1]: id 1 was used before"},
      {FileText(1, 1, 1, NodeText(1, -1, 1, 1)), "nodes[0]: \"cpuLatency\" is -1"},
      {FileText(1, 1, 1, NodeText(1, 1, 1e30, 1)), "nodes[0]: \"fpgaLatency\" is"},
      {FileText(1, 1, 1, NodeText(1, 9e9, 1, 1) + "," + NodeText(2, 9e9, 1, 1)),
       "nodes[1]: the times of the file add up"},
      {FileText(1, 1, 1, NodeText(1, 1, 1, int64_t{1} << 59) + "," + NodeText(2, 1, 1, int64_t{3} << 58)),
       "nodes[1]: the sizes of the file add up"},
      {FileText(1, 1, 1, "{\"id\": 1}"), "cpuLatency"},
      {FileText(1, 1, 1, "{\"id\": 1, \"cpuLatency\": 1, \"fpgaLatency\": 1, \"supportedOnFpga\": 2, \"size\": 1}"),
       "supportedOnFpga"},
      {FileText(1, 1, 1, two, EdgeText(1, 3, 1)), "edges[0]: \"destId\" is 3, which no node has"},
      {FileText(1, 1, 1, two, EdgeText(1, 2, 1) + "," + EdgeText(1, 2, 1)), "edges[1]: repeats an edge"},
      {FileText(1, 1, 1, two + "," + NodeText(3, 1, 1, 1), EdgeText(1, 2, 1) + "," + EdgeText(1, 3, 2)),
       "edges[1]: \"cost\" is 2000000 ns, but another edge out of the same node has 1000000 ns"},
      {FileText(1, 1, 1, two, EdgeText(1, 2, -1)), "edges[0]: \"cost\" is -1"},
      {FileText(1, 1, 1, two, EdgeText(1, 2, 1) + "," + EdgeText(2, 1, 1)), "cycle"},
      {FileText(1, 1, 1, two, EdgeText(1, 1, 1)), "cycle"},
  };
  for (const auto& [text, reason] : bad) {
    INFO(reason);
    const Result<Workload> read = Read(text);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::kInvalidInput);
    CHECK(read.error().file == "w.json");
    INFO(read.error().message);
    CHECK(read.error().message.find(reason) != std::string::npos);
  }
}

TEST_CASE("Workload, WhatSharesADeviceGoesWhereAllOfItHasRoom", "[planner]") {
  // Two independent nodes, 4 ms on a core and 1 ms on an accelerator, that keep 10 bytes there.
  const auto makespan_ms = [](int64_t cap, int cores, const std::string& more) {
    const std::string nodes = NodeText(1, 4, 1, 10, more) + "," + NodeText(2, 4, 1, 10, more);
    const Workload workload = Read(FileText(cores, 2, cap, nodes)).value();
    const Plan plan = PlanBy(workload, "search").value();
    CheckKeepsRules(workload, plan);
    // The same by branch and bound.
    CHECK(PlanBy(workload, "exact").value().makespan.ns == plan.makespan.ns);
    return plan.makespan.ns / 1'000'000;
  };
  CHECK(makespan_ms(10, 1, "") == 1);         // one on each accelerator
  CHECK(makespan_ms(20, 1, Colour(1)) == 2);  // both on one of them
  CHECK(makespan_ms(19, 1, Colour(1)) == 8);  // which has no room for both
  CHECK(makespan_ms(19, 2, Colour(1)) == 4);
  CHECK(makespan_ms(9, 1, "") == 8);
}

TEST_CASE("Workload, EveryPlannerKeepsColoursAndCaps", "[planner]") {
  // Three layers of four nodes, each with a weight of its own that shares its device; an accelerator has room for five.
  std::string nodes, edges;
  for (int layer = 0; layer < 3; ++layer) {
    for (int n = 0; n < 4; ++n) {
      const int id = layer * 8 + n * 2;
      nodes += (nodes.empty() ? "" : ",") + NodeText(id, 0, 0, 80, Colour(id)) + "," +
               NodeText(id + 1, 3 + n, 0.5 + 0.1 * n, 20, Colour(id));
      edges += (edges.empty() ? "" : ",") + EdgeText(id, id + 1, 5);
      if (layer > 0) edges += "," + EdgeText(id + 1 - 8, id + 1, 0.2 * n);
      if (layer > 0 && n > 0) edges += "," + EdgeText(id + 1 - 10, id + 1, 0.2 * (n - 1));
    }
  }
  const Workload workload = Read(FileText(2, 3, 500, nodes, edges)).value();
  CheckEveryPlanner(workload, testing::kTestEffort);
}

TEST_CASE("Workload, APlannerThatWasToldADeviceSaysWhenItHasNoRoom", "[planner]") {
  const Workload workload = Read(FileText(1, 2, 15, NodeText(1, 4, 1, 10) + "," + NodeText(2, 4, 1, 10))).value();
  const Result<Plan> plan = PlanBy(workload, "single:acc:1");
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().code == ErrorCode::kOutOfMemory);
  CHECK(plan.error().message == "the nodes on acc:1 keep 20 bytes there, which has 15");
  CHECK(PlanBy(workload, "single:cpu").value().makespan.ns == 8'000'000);
}

TEST_CASE("Workload, WhatFitsNowhereHasNoPlan", "[planner]") {
  // A node that must be on an accelerator has no room on any.
  Workload workload = Read(FileText(1, 2, 5, NodeText(1, 4, 1, 10))).value();
  workload.constraints.forbid = {{NodeId(0u), FindUnitClass(workload.platform, "cpu/1")}};
  for (const char* name : {"search", "heft", "exact"}) {
    INFO(name);
    const Result<Plan> plan = PlanBy(workload, name);
    REQUIRE_FALSE(plan.ok());
    CHECK((plan.error().code == ErrorCode::kOutOfMemory || plan.error().code == ErrorCode::kInfeasible));
  }
}

Workload Published(const std::string& file) {
  const std::string text = ReadFile(file, 0).value();
  Result<Workload> workload = WorkloadFromJson(ParseJson(text, file).value(), file);
  if (!workload.ok()) FAIL(ToString(workload.error()));
  return *std::move(workload);
}

std::string PublishedFolder() {
  std::string folder = testing::TestDataFolder("planner-workloads");
  if (folder.empty()) SKIP("no published workloads: set PARTITIONTUNER_TEST_DATA");
  return folder;
}

TEST_CASE("Workload, PublishedFilesAreRead", "[planner]") {
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(PublishedFolder())) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path());
    ++files;
    const Workload workload = Published(entry.path());
    CHECK(workload.graph.nodes().size() >= 32);
    CHECK(CheckPlatform(workload.platform).ok());
  }
  CHECK(files == 16);
}

TEST_CASE("Workload, EveryPlannerKeepsTheRulesOfASmallPublishedFile", "[planner]") {
  CheckEveryPlanner(Published(PublishedFolder() + "/LayerGraphs-bert24_inference.json"), 200);
}

TEST_CASE("Workload, EveryPlannerKeepsTheRulesOfAllPublishedFiles", "[planner][slow]") {
  for (const auto& entry : fs::directory_iterator(PublishedFolder())) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path());
    CheckEveryPlanner(Published(entry.path()), 1000);
  }
}

}  // namespace
}  // namespace pt::workload_test
