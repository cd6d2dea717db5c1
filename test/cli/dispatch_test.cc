// pt-run --dispatch: runs that decide while they run.
#include <catch2/catch_test_macros.hpp>

#include "test/cli/tools.h"

namespace pt::testing::dispatch_test {
namespace {

// The example network, profiled on the host; the simulated device needs no profiling.
struct Profiled {
  Workplace place;
  std::string model = place.Branchy(), db = place.path() + "/profile.db";
  std::vector<std::string> on_device = {"--platform", std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json"};

  Profiled() { REQUIRE(RunTool("pt-profile", {model, "--db", db, "--max-time", "2ms", "-q"}).exit_code == 0); }
  CommandResult Run(const std::vector<std::string>& arguments) const {
    return RunTool("pt-run", Joined({model, "--db", db}, arguments));
  }
};

TEST_CASE("PtRun, DispatchMeasuresRunsThatDecide", "[cli]") {
  const Profiled profiled;
  for (const char* rule : {"operator", "path"}) {
    const CommandResult table = profiled.Run({"--dispatch", rule, "--iterations", "5"});
    INFO(table.out << table.err);
    REQUIRE(table.exit_code == 0);
    CHECK(table.out.find("dispatch:" + std::string(rule)) != std::string::npos);
    CHECK(table.out.find(" decisions of ") != std::string::npos);

    const Json json = Parsed(profiled.Run({"--dispatch", rule, "--iterations", "5", "--format", "json"}).out);
    CHECK(*json.find("dispatch")->as_string() == rule);
    CHECK(*json.find("runs")->as_int() == 5);
    CHECK(*json.find("tasks")->as_int() > 1);
    CHECK(*json.find("decision_ns")->as_int() > 0);
    CHECK(*json.find("latency_ns")->find("min")->as_number() > 0);
    CHECK(json.find("predicted_ns") == nullptr);
  }
}

TEST_CASE("PtRun, DispatchIsComparedWithPlansInTurns", "[cli]") {
  const Profiled profiled;
  const CommandResult result =
      profiled.Run({"--compare", "dispatch:operator,operator", "--iterations", "5", "--format", "json"});
  const Json json = Parsed(result.out);
  const Json::Array& rows = *json.find("compared")->as_array();
  REQUIRE(rows.size() == 2);
  CHECK(*rows[0].find("plan")->as_string() == "dispatch:operator");
  CHECK(rows[0].find("predicted_ns") == nullptr);
  CHECK(*rows[0].find("decision_ns")->as_int() > 0);
  CHECK(rows[1].find("predicted_ns") != nullptr);
  CHECK(rows[1].find("decision_ns") == nullptr);
}

TEST_CASE("PtRun, WhatIsDecidedInTheRunVerifies", "[cli]") {
  const Profiled profiled;
  for (const char* rule : {"operator", "path"}) {
    for (const bool device : {false, true}) {
      std::vector<std::string> arguments = {"--dispatch", rule, "--verify", "reference"};
      if (device) arguments = Joined(Joined(arguments, profiled.on_device), {"--sim-clock", "real"});
      const CommandResult result = profiled.Run(arguments);
      INFO(rule << " " << device << ": " << result.out << result.err);
      CHECK(result.exit_code == 0);
      CHECK(result.out.find("PASS") != std::string::npos);
    }
  }
}

TEST_CASE("PtRun, SeveralCallersOfRunsThatDecide", "[cli]") {
  const Profiled profiled;
  const CommandResult result = profiled.Run({"--dispatch", "operator", "--concurrency", "2", "--iterations", "5"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
}

TEST_CASE("PtRun, DispatchNeedsTimeThatPasses", "[cli]") {
  const Profiled profiled;
  const CommandResult result =
      profiled.Run(Joined({"--dispatch", "operator", "--iterations", "5"}, profiled.on_device));
  CHECK(result.exit_code == 4);
  CHECK(result.err.find("--sim-clock real") != std::string::npos);
}

TEST_CASE("PtRun, DispatchNamesWhatItDoesNotGoWith", "[cli]") {
  const std::vector<std::vector<std::string>> others = {
      {"--plan", "p"}, {"--planner", "search"}, {"--compare", "search"}, {"--sequential"},
      {"--twin"},      {"--trace", "t.json"},   {"--residuals"},         {"--suite", "folder"}};
  for (const std::vector<std::string>& other : others) {
    const CommandResult result = RunTool("pt-run", Joined({"m.onnx", "--dispatch", "operator"}, other));
    INFO(other[0] << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("--dispatch cannot be combined with " + other[0]) != std::string::npos);
  }
  const CommandResult rule = RunTool("pt-run", {"m.onnx", "--dispatch", "heft"});
  CHECK(rule.exit_code == 2);
  CHECK(rule.err.find("operator, path") != std::string::npos);
  CHECK(RunTool("pt-run", {"m.onnx", "--planner", "dispatch:path"}).err.find("--dispatch path") != std::string::npos);
}

}  // namespace
}  // namespace pt::testing::dispatch_test
