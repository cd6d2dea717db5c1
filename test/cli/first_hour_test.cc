// What a new user does wrong at first, and what the tools say then.
#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "test/cli/tools.h"

namespace pt::testing::first_hour_test {
namespace {

bool Says(const CommandResult& result, const std::string& text) {
  UNSCOPED_INFO(result.err);
  return result.err.find(text) != std::string::npos;
}

TEST_CASE("FirstHour, FilesThatAreNoModelAreNamedForWhatTheyAre", "[cli]") {
  const Workplace place;
  const std::string model = place.ReluPlusOne("relu");
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    const CommandResult text = RunTool(tool, {place.Write("README.md", "# A model\n\nIt is good.\n")});
    CHECK(text.exit_code == 3);
    CHECK(Says(text, "README.md is not an ONNX model, but text"));
    const CommandResult page = RunTool(tool, {place.Write("page.onnx", "<html>Sign in</html>\n")});
    CHECK(page.exit_code == 3);
    CHECK(Says(page, "is not an ONNX model, but a web page"));
    const CommandResult folder = RunTool(tool, {place.path() + "/relu"});
    CHECK(folder.exit_code == 3);
    CHECK(Says(folder, "is a folder"));
    CHECK(Says(folder, "relu/model.onnx"));
  }
}

TEST_CASE("FirstHour, TruncatedModelsSayThatTheyEndTooEarly", "[cli]") {
  const Workplace place;
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"256"})};
  graph.outputs = {ValueInfo("y", 1, {"256"})};
  graph.initializers = {FloatTensor("w", {256}, std::vector<float>(256, 1.F))};
  graph.nodes = {NodeBytes("Add", {"x", "w"}, {"y"})};
  const std::string whole = ModelBytes(graph);
  const CommandResult result = RunTool("pt-run", {place.Write("cut.onnx", whole.substr(0, whole.size() / 2))});
  CHECK(result.exit_code == 3);
  CHECK(Says(result, "the file ends too early, after " + std::to_string(whole.size() / 2) + " bytes"));
}

TEST_CASE("FirstHour, PlansAndModelsInEachOthersPlaceAreSaid", "[cli]") {
  const Workplace place;
  const std::string model = place.ReluPlusOne("relu");
  const CommandResult as_plan = RunTool("pt-run", {model, "--db", "none", "--plan", model});
  CHECK(as_plan.exit_code == 3);
  CHECK(Says(as_plan, "is not JSON, but looks like an ONNX model"));
  const std::string plan = place.Write("plan.json", "{\"format\": \"partitiontuner plan\", \"version\": \"1.0\"}\n");
  const CommandResult as_model = RunTool("pt-run", {plan});
  CHECK(as_model.exit_code == 3);
  CHECK(Says(as_model, "is not an ONNX model, but a plan"));
  CHECK(Says(as_model, "--plan " + plan));
}

TEST_CASE("FirstHour, UnknownDimsAreNotFilledIn", "[cli]") {
  const Workplace place;
  const std::string bytes = OneNodeModel("Relu", {"batch", "4"});
  const CommandResult alone = RunTool("pt-run", {place.Write("alone/m.onnx", bytes), "--db", "none"});
  CHECK(Says(alone, "--dim batch=N"));
  CHECK(RunTool("pt-run", {place.path() + "/alone/m.onnx", "--db", "none", "--dim", "batch=N"}).exit_code == 2);
  const std::string model = place.Write("with/m.onnx", bytes);
  place.Write("with/test_data_set_0/input_0.pb", FloatFile({2, 4}, std::vector<float>(8, 1.F)));
  const CommandResult beside = RunTool("pt-run", {model, "--db", "none"});
  CHECK(Says(beside, "--input " + place.path() + "/with/test_data_set_0"));
}

TEST_CASE("FirstHour, WhatTheEnvironmentSaysWrongIsNamed", "[cli]") {
  CommandOptions options;
  options.environment = {"PARTITIONTUNER_THREADS=abc"};
  const CommandResult result = RunTool("pt-run", {"m.onnx"}, options);
  CHECK(result.exit_code == 2);
  CHECK(Says(result, "PARTITIONTUNER_THREADS=abc"));
  CHECK(!Says(RunTool("pt-run", {"m.onnx", "--threads", "x"}, options), "PARTITIONTUNER_THREADS"));
}

TEST_CASE("FirstHour, WordsTooManyAreSaidInTheirOrder", "[cli]") {
  const CommandResult result = RunTool("pt-run", {"m.onnx", "second", "first"});
  CHECK(result.exit_code == 2);
  CHECK(Says(result, "too many: second first"));
}

TEST_CASE("FirstHour, NewDatabasesAreSaid", "[cli]") {
  const Workplace place;
  const std::string model = place.ReluPlusOne("relu"), db = place.path() + "/typo.db";
  CHECK(Says(RunTool("pt-profile", {model, "--db", db, "--dry-run"}), db + " is a new database"));
}

TEST_CASE("FirstHour, BaselinesWithoutMeasurementsArePartial", "[cli]") {
  const Workplace place;
  const std::string model = place.ReluPlusOne("relu");
  CHECK(RunTool("pt-plan", {model, "--db", "none", "--baselines"}).exit_code == 6);
}

TEST_CASE("FirstHour, BaselinesAreSorted", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/p.db";
  RunTool("pt-profile",
          {model, "--db", db, "--libraries", "onednn,host,reference", "--min-samples", "1", "--max-time", "1ms"});
  const CommandResult result = RunTool(
      "pt-plan", {model, "--db", db, "--libraries", "onednn,host,reference", "--baselines", "--format", "json"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  int64_t last = 0;
  const Json compared = Parsed(result.out);
  for (const Json& row : *compared.find("planners")->as_array()) {
    const Json* const makespan = row.find("makespan_ns");
    if (makespan == nullptr) continue;
    CHECK(*makespan->as_int() >= last);
    last = *makespan->as_int();
  }
  CHECK(last > 0);
}

// Every drawing of the line fits, so that none is left behind; what took next to nothing has no spread of 1900 %.
TEST_CASE("FirstHour, ProgressFitsNarrowTerminals", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy();
  CommandOptions options;
  options.environment = {"COLUMNS=60", "TERM=xterm"};
  const CommandResult result =
      RunTool("pt-profile", {model, "--db", place.path() + "/p.db", "--budget", "2s", "--progress", "tty"}, options);
  size_t drawn = 0;
  for (size_t at = 0; (at = result.err.find('\r', at)) != std::string::npos; ++at) {
    const size_t end = result.err.find("\033[K", at);
    REQUIRE(end != std::string::npos);
    const std::string line = result.err.substr(at + 1, end - at - 1);
    INFO(line);
    CHECK(line.size() < 60);
    const size_t spread = line.find("+-");
    if (spread != std::string::npos) CHECK(line.find('%', spread) <= spread + 2 + std::string("99.9 ").size());
    ++drawn;
  }
  CHECK(drawn > 0);
}

TEST_CASE("FirstHour, InterruptedMeasuringPrintsTheRunsSoFar", "[cli]") {
  const Workplace place;
  const std::string model = place.ReluPlusOne("relu");
  CommandOptions options;
  options.environment = {"TERM=xterm"};
  options.signal = SIGINT;
  options.signal_after = "measuring: ";
  for (const std::vector<std::string>& mode : std::vector<std::vector<std::string>>{{}, {"--aa"}}) {
    const CommandResult result = RunTool(
        "pt-run", Joined({model, "--db", "none", "--duration", "10m", "--progress", "tty", "--format", "json"}, mode),
        options);
    INFO(result.err);
    CHECK(result.exit_code == 130);
    const Json json = Parsed(result.out);
    REQUIRE(json.find("interrupted") != nullptr);
    for (const Json& row : *json.find("measured")->as_array()) CHECK(*row.find("runs")->as_int() > 0);
  }
}

}  // namespace
}  // namespace pt::testing::first_hour_test
