// --doctor and --list-devices: what is not used, and why.
#include <catch2/catch_test_macros.hpp>

#include "test/cli/tools.h"

namespace pt::testing::doctor_test {
namespace {

// The entry of that kind and name in a list of objects; null when there is none.
const Json* Find(const Json& list, const std::string& key, const std::string& name) {
  for (const Json& row : *list.as_array()) {
    if (*row.find(key)->as_string() == name) return &row;
  }
  return nullptr;
}

TEST_CASE("Doctor, SaysWhatOfTheHostBearsOnTimesAndWhatIsMissing", "[cli]") {
  const Workplace place;
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    INFO(tool);
    const CommandResult result = RunTool(tool, {"--doctor", "--format", "json", "--plugin-path", place.path()});
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    const Json json = ParseJson(result.out, "doctor").value();
    for (const char* topic : {"processor", "cores", "governor", "denormals", "lock files"}) {
      INFO(topic);
      const Json* const check = Find(*json.find("host"), "topic", topic);
      REQUIRE(check != nullptr);
      CHECK_FALSE(check->find("state")->as_string()->empty());
    }
    for (const char* plugin : {"cuda", "openvino", "onnxruntime"}) {
      const Json* const missing = Find(*json.find("missing"), "name", plugin);
      REQUIRE(missing != nullptr);
      CHECK(missing->find("reason")->as_string()->find(place.path()) != std::string::npos);
    }
    const Json* const simulated = Find(*json.find("missing"), "name", "simulated");
    REQUIRE(simulated != nullptr);
    CHECK(*simulated->find("kind")->as_string() == "library");
  }
}

TEST_CASE("Doctor, WhatIsThereIsNotMissing", "[cli]") {
  const CommandResult result =
      RunTool("pt-run", {"--list-devices", "--format", "json", "--libraries", "reference,simulated", "--platform",
                         std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const Json json = ParseJson(result.out, "devices").value();
  CHECK(Find(*json.find("missing"), "name", "simulated") == nullptr);
  const Json* const left_out = Find(*json.find("missing"), "name", "onednn");
  REQUIRE(left_out != nullptr);
  CHECK(left_out->find("reason")->as_string()->find("--libraries") != std::string::npos);
}

TEST_CASE("Doctor, WhatWasNamedAndCannotBeUsedEndsWithFive", "[cli]") {
  const CommandResult plugin = RunTool("pt-run", {"--doctor", "--plugins", "nowhere"});
  CHECK(plugin.exit_code == 5);
  CHECK(plugin.err.find("nowhere") != std::string::npos);
  CHECK(plugin.out.find("governor") != std::string::npos);  // the host is told all the same
  CHECK(RunTool("pt-run", {"--doctor", "--devices", "npu:7"}).exit_code == 5);
}

// A plugin whose file is damaged is told with what the system's loader says.
TEST_CASE("Doctor, ARefusedPluginHasItsReason", "[cli]") {
  const Workplace place;
  place.Write("plugins/cuda.so", "no shared object");
  const CommandResult result =
      RunTool("pt-run", {"--doctor", "--format", "json", "--plugin-path", place.path() + "/plugins"});
  REQUIRE(result.exit_code == 0);
  const Json json = ParseJson(result.out, "doctor").value();
  const Json* const cuda = Find(*json.find("missing"), "name", "cuda");
  REQUIRE(cuda != nullptr);
  CHECK(cuda->find("reason")->as_string()->find("cannot be loaded") != std::string::npos);
}

}  // namespace
}  // namespace pt::testing::doctor_test
