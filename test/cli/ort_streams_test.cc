// pt-plan --export ort-streams: a plan's streams as ONNX Runtime reads them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <set>

#include "test/cli/tools.h"

namespace pt::testing::ort_streams_test {
namespace {

Wire NamedNode(const std::string& op, const std::vector<std::string>& in, const std::string& out,
               const std::string& name) {
  return NodeBytes(op, in, {out}, {}, name);
}

// Two branches of x that join, one behind an Identity, which the passes remove.
std::string Branches(const Workplace& place) {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"64", "64"})};
  graph.outputs = {ValueInfo("y", 1, {"64", "64"})};
  graph.nodes = {NamedNode("Identity", {"x"}, "i", "same"), NamedNode("Exp", {"i"}, "a", "left"),
                 NamedNode("Tanh", {"x"}, "b", "right"), NamedNode("Add", {"a", "b"}, "y", "join")};
  return place.Write("branches.onnx", ModelBytes(graph));
}

std::vector<std::vector<std::string>> StreamsIn(const Json& json) {
  std::vector<std::vector<std::string>> streams;
  for (const Json& stream : *json.find("streams")->as_array()) {
    streams.emplace_back();
    for (const Json& name : *stream.as_array()) streams.back().push_back(*name.as_string());
  }
  return streams;
}

TEST_CASE("OrtStreams, HoldEveryNodeOfTheFileOnceWhereThePlanHasIt", "[cli]") {
  const Workplace place;
  const std::string model = Branches(place), db = place.path() + "/profile.db", plan = place.path() + "/plan.json";
  REQUIRE(RunTool("pt-profile", {model, "--db", db, "--libraries", "reference", "--max-time", "2ms"}).exit_code == 0);
  size_t of_two = 0;
  for (int seed = 1; seed <= 6; ++seed) {
    INFO("random:" << seed);
    const std::vector<std::string> common = {model, "--db", db, "--libraries", "reference"};
    REQUIRE(RunTool("pt-plan", Joined(common, {"--planner", "random:" + std::to_string(seed), "-o", plan})).exit_code ==
            0);
    const CommandResult result =
        RunTool("pt-plan", Joined(common, {"--check", plan, "--export", "ort-streams", "-o", "-"}));
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    const Json json = ParseJson(result.out, "streams").value();
    CHECK(*json.find("type")->as_string() == "DeviceBasedPartitioner");
    const auto streams = StreamsIn(json);
    REQUIRE(json.find("devices")->as_array()->size() == streams.size());
    for (const Json& device : *json.find("devices")->as_array()) CHECK(*device.as_string() == "0");
    std::multiset<std::string> names;
    for (const auto& stream : streams) {
      CHECK_FALSE(stream.empty());
      names.insert(stream.begin(), stream.end());
      // The Identity is gone from the planned graph, and goes with its reader.
      CHECK(std::ranges::count(stream, "same") == std::ranges::count(stream, "left"));
    }
    CHECK(names == std::multiset<std::string>{"join", "left", "right", "same"});
    of_two += streams.size() == 2;
  }
  std::ifstream cores("/sys/devices/system/cpu/online");
  std::string online;
  std::getline(cores, online);
  if (online != "0") CHECK(of_two > 0);
}

TEST_CASE("OrtStreams, WhatHasNoNameThereIsRefused", "[cli]") {
  const Workplace place;
  const std::string nameless = place.ReluPlusOne("case");
  const std::string db = place.path() + "/profile.db";
  REQUIRE(RunTool("pt-profile", {nameless, "--db", db, "--libraries", "reference", "--max-time", "2ms"}).exit_code ==
          0);
  const CommandResult no_name =
      RunTool("pt-plan", {nameless, "--db", db, "--libraries", "reference", "--export", "ort-streams", "-o", "-"});
  CHECK(no_name.exit_code == 4);
  CHECK(no_name.err.find("has no name") != std::string::npos);
  CHECK(RunTool("pt-plan", {nameless, "--export", "ort-streams"}).exit_code == 2);
  CHECK(RunTool("pt-plan", {nameless, "--export", "ort-streams", "-o", "-", "--baselines"}).exit_code == 2);
}

TEST_CASE("OrtStreams, ASimulatedDeviceIsNoneOfOnnxRuntime", "[cli]") {
  const Workplace place;
  const std::string model = Branches(place), db = place.path() + "/profile.db";
  const std::vector<std::string> common = {model,
                                           "--db",
                                           db,
                                           "--libraries",
                                           "reference,simulated",
                                           "--platform",
                                           std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json"};
  REQUIRE(RunTool("pt-profile", Joined(common, {"--max-time", "2ms"})).exit_code == 0);
  const CommandResult result = RunTool(
      "pt-plan", Joined(common, {"--place", "*=sim:0", "--export", "ort-streams", "-o", place.path() + "/s.json"}));
  CHECK(result.exit_code == 4);
  CHECK(result.err.find("sim:0") != std::string::npos);
}

}  // namespace
}  // namespace pt::testing::ort_streams_test
