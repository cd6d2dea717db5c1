// Every real model there is, and random groups of it, saved and loaded again.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <set>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/candidate/group_graph.h"
#include "partitiontuner/onnx/save_onnx.h"
#include "partitiontuner/support/random.h"
#include "test/testing/loading.h"
#include "test/testing/rounds.h"
#include "test/testing/same_graph.h"
#include "test/testing/seeds.h"
#include "test/testing/test_data.h"

namespace pt::save_corpus_test {
namespace {
namespace fs = std::filesystem;

// "" when it comes back as it was, else what differs; `refused` when it cannot be written.
std::string RoundTripFault(const Graph& graph, bool& refused) {
  const auto bytes = SaveOnnxBytes(graph);
  refused = !bytes.ok();
  if (refused) return bytes.error().id == "onnx.no_type" ? "" : "not written: " + ToString(bytes.error());
  LoadOptions options;
  options.convert_opset = graph.opset() == kTargetOpset;  // what could not be converted as a whole may be in part
  LoadReport report;
  const auto back = testing::Load(*bytes, options, &report);
  if (!back.ok()) return "not loaded: " + ToString(back.error());
  if (!report.warnings.empty()) return "warning: " + report.warnings.front();
  return testing::GraphDifference(graph, *back, report.declared_types);
}

// A node and what neighbours it wherever the whole stays convex, or a stretch of the graph's order.
std::vector<NodeId> RandomGroup(const Graph& graph, Random& random) {
  const auto count = static_cast<uint64_t>(graph.nodes().size());
  const uint64_t first = random.Below(count), wanted = 1 + random.Below(std::min<uint64_t>(count, 40));
  std::vector<NodeId> nodes;
  if (random.Below(3) == 0) {
    for (uint64_t i = first; i < std::min(count, first + wanted); ++i) nodes.push_back(NodeId(i));
    return nodes;
  }
  std::set<NodeId> group = {NodeId(first)};
  for (uint64_t tries = 0; tries < 4 * wanted && group.size() < wanted; ++tries) {
    const Node& node = graph.node(*std::next(group.begin(), static_cast<int64_t>(random.Below(group.size()))));
    std::vector<NodeId> neighbours;
    for (const ValueId id : node.inputs) {
      if (id.valid() && graph.value(id).producer.valid()) neighbours.push_back(graph.value(id).producer);
    }
    for (const ValueId id : node.outputs) {
      if (!id.valid()) continue;
      for (const Use& use : graph.value(id).uses) neighbours.push_back(use.node);
    }
    if (neighbours.empty()) break;
    std::set<NodeId> larger = group;
    larger.insert(neighbours[random.Below(neighbours.size())]);
    if (IsConvex(graph, std::vector(larger.begin(), larger.end()))) group = std::move(larger);
  }
  return {group.begin(), group.end()};
}

struct Counts {
  int models = 0, groups = 0, refused = 0;
};

void CheckModel(const std::string& path, uint64_t seed, uint64_t groups, Counts& counts) {
  const auto graph = LoadOnnx(path);
  if (!graph.ok()) return;  // the loader's own tests count these
  INFO(path << ", seed " << seed);
  bool refused = false;
  CHECK(RoundTripFault(*graph, refused) == "");
  counts.models += !refused;
  counts.refused += refused;
  Random random(seed);
  for (uint64_t i = 0; i < groups && !graph->nodes().empty(); ++i) {
    const std::vector<NodeId> nodes = RandomGroup(*graph, random);
    INFO("group " << i << ": " << nodes.size() << " nodes from " << NodeLabel(*graph, nodes.front()));
    if (GroupOutputs(*graph, nodes).empty()) continue;
    const auto group = GroupGraph(*graph, nodes);
    REQUIRE(group.ok());
    CHECK(RoundTripFault(*group, refused) == "");
    counts.groups += !refused;
    counts.refused += refused;
  }
}

TEST_CASE("SaveOnnx, RealModelsAndTheirGroupsComeBackAsTheyWere", "[onnx][slow]") {
  const std::string folder = testing::TestDataFolder("models");
  if (folder.empty()) SKIP("no model corpus; set PARTITIONTUNER_TEST_DATA");
  const testing::Seeds seeds = testing::SeedsOfNight({1, testing::Rounds(2)});
  Counts counts;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!entry.is_directory() || entry.path().filename().string().starts_with("onnx-suite")) continue;
      for (const std::string& path : testing::ModelsBelow(entry.path().string())) CheckModel(path, seed, 12, counts);
    }
  }
  CHECK(counts.models >= 29);
  CHECK(counts.groups >= 300);
  CHECK(counts.refused == 0);
}

TEST_CASE("SaveOnnx, SuitesComeBackAsTheyWere", "[onnx][slow]") {
  const std::string folder = testing::TestDataFolder("models");
  if (folder.empty()) SKIP("no model corpus; set PARTITIONTUNER_TEST_DATA");
  Counts counts;
  for (const char* suite : {"onnx-suite-node", "onnx-suite-simple", "onnx-suite-light"}) {
    for (const std::string& path : testing::ModelsBelow(folder + "/" + suite)) CheckModel(path, 1, 2, counts);
  }
  CHECK(counts.models >= 1500);
  CHECK(counts.refused <= 10);
}

}  // namespace
}  // namespace pt::save_corpus_test
