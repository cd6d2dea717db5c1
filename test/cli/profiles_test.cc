// What lies in profiles/ plans on any machine, with no measuring.
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "partitiontuner/cost/profile.h"
#include "partitiontuner/support/file.h"
#include "test/cli/tools.h"

namespace pt::testing::profiles_test {
namespace {

// By planner, of those that made a plan.
std::map<std::string, int64_t> Makespans(const Json& comparison) {
  std::map<std::string, int64_t> makespans;
  for (const Json& row : *comparison.find("planners")->as_array()) {
    const Json* makespan = row.find("makespan_ns");
    if (makespan != nullptr) makespans[*row.find("planner")->as_string()] = *makespan->as_int();
  }
  return makespans;
}

const std::string kProfiles = std::string(PT_SOURCE_DIR) + "/profiles/";

TEST_CASE("PtPlan, PlansForThePublishedBoardOnAnyMachine", "[cli]") {
  // Two convolutions of ResNet-18 beside each other: of 8 and 4 ms on the VTA, of 72 and 5 on the CPU.
  const Workplace place;
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"1", "64", "56", "56"})};
  graph.outputs = {ValueInfo("y", 1, {"1", "64", "56", "56"}), ValueInfo("z", 1, {"1", "128", "28", "28"})};
  graph.initializers = {FloatTensor("w", {64, 64, 3, 3}, std::vector<float>(64 * 64 * 9, 0.5f)),
                        FloatTensor("v", {128, 64, 1, 1}, std::vector<float>(128 * 64, 0.5f))};
  graph.nodes = {NodeBytes("Conv", {"x", "w"}, {"c"}, {IntsAttribute("pads", {1, 1, 1, 1})}),
                 NodeBytes("Relu", {"c"}, {"y"}),
                 NodeBytes("Conv", {"x", "v"}, {"z"}, {IntsAttribute("strides", {2, 2})})};
  const std::string model = place.Write("m.onnx", ModelBytes(graph));
  const CommandResult result =
      RunTool("pt-plan", {model, "--platform", kProfiles + "partitiontuner-board.json", "--libraries",
                          "reference,simulated", "--db", "none", "--baselines", "--format", "json"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const std::map<std::string, int64_t> makespans = Makespans(Parsed(result.out));
  // In milliseconds: a copy that costs nothing takes a nanosecond.
  CHECK(makespans.at("single:cpu") / 1'000'000 == 77);
  CHECK(makespans.at("single:vta:0") / 1'000'000 == 12);
  CHECK(makespans.at("search") / 1'000'000 == 8);
}

TEST_CASE("PtPlan, ThePublishedNetworkIsAWorkload", "[cli]") {
  const CommandResult result = RunTool("pt-plan", {"--workload", kProfiles + "partitiontuner-resnet18.workload.json",
                                                   "--baselines", "--format", "json"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const std::map<std::string, int64_t> makespans = Makespans(Parsed(result.out));
  CHECK(makespans.at("single:cpu") == 1'246'000'000);
  CHECK(makespans.at("single:acc:0") == 113'000'000);
  // The three projections run on the CPU beside what the VTA does then.
  CHECK(makespans.at("search") == 105'000'000);
}

TEST_CASE("PtPlan, PlatformFilesOfProfilesAreRead", "[cli]") {
  for (const char* file : {"gpu-streams.json", "sim-accelerator.json", "partitiontuner-board.json"}) {
    INFO(file);
    const CommandResult result =
        RunTool("pt-plan", {"--list-devices", "--libraries", "reference,simulated", "--platform", kProfiles + file});
    INFO(result.err);
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("PtPlan, RecordedProfilesBelongToTheirPlatform", "[cli]") {
  const std::string folder = kProfiles + "zen4-2cores/";
  const Json platform = Parsed(ReadFile(folder + "platform.json", 0).value());
  const std::string fingerprint = *platform.find("fingerprint")->as_string();
  for (const char* network : {"alexnet", "googlenet", "resnet18", "resnet50", "resnext50", "squeezenet", "zfnet"}) {
    const std::string file = folder + network + ".ptprof.json";
    INFO(file);
    const Json json = Parsed(ReadFile(file, 0).value());
    const Result<Profile> profile = ProfileFromJson(json, file);
    REQUIRE(profile.ok());
    CHECK(profile->measurements.size() > 100);
    CHECK(*json.find("platform_fingerprint")->as_string() == fingerprint);
  }
}

}  // namespace
}  // namespace pt::testing::profiles_test
