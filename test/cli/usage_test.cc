// What all tools promise before any model is loaded: help, versions, refusals, exit codes.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/support/json.h"
#include "test/cli/tools.h"

namespace pt::testing::usage_test {
namespace {

TEST_CASE("Tools, HelpFitsAScreenAndHelpAllShowsExitCodes", "[cli]") {
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    const CommandResult help = RunTool(tool, {"--help"});
    CHECK(help.exit_code == 0);
    CHECK(help.err.empty());
    CHECK(help.out.find("--libraries") != std::string::npos);
    CHECK(std::count(help.out.begin(), help.out.end(), '\n') <= 60);
    const CommandResult all = RunTool(tool, {"--help-all"});
    CHECK(all.exit_code == 0);
    CHECK(all.out.find("130, 143") != std::string::npos);
    CHECK(all.out.size() > help.out.size());
  }
}

TEST_CASE("Tools, VersionNamesLibrariesAndDependencies", "[cli]") {
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    const CommandResult text = RunTool(tool, {"--version"});
    CHECK(text.exit_code == 0);
    for (const LibraryRow& row : BuiltInLibraries()) {
      CHECK(text.out.find(std::string(row.name) + " ") != std::string::npos);
    }
    const CommandResult json = RunTool(tool, {"--version", "--format", "json"});
    const auto parsed = ParseJson(json.out, "version");
    REQUIRE(parsed.ok());
    CHECK(text.out.find("\ndependencies: ONNX 1.") != std::string::npos);
    REQUIRE(parsed->find("dependencies") != nullptr);
    for (const char* name : {"ONNX", "Protocol Buffers", "SQLite", "hwloc", "CLI11"}) {
      INFO(name);
      const Json* const version = parsed->find("dependencies")->find(name);
      REQUIRE(version != nullptr);
      CHECK(version->as_string()->find('.') != std::string::npos);
    }
    REQUIRE(parsed->find("libraries") != nullptr);
    for (const LibraryRow& row : BuiltInLibraries()) CHECK(parsed->find("libraries")->find(row.name) != nullptr);
  }
}

TEST_CASE("Tools, UnknownFlagsAndBadValuesAreRefused", "[cli]") {
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"--no-such-flag"},
                                               {"m.onnx", "extra"},
                                               {"--format", "xml"},
                                               {"m.onnx", "--dim", "batch"},
                                               {"m.onnx", "--dim", "batch=two"},
                                               {"m.onnx", "--shape", "x=1x-3"},
                                               {"m.onnx", "--threads", "-1"},
                                               {}}) {
      const CommandResult result = RunTool(tool, arguments);
      INFO(tool << " " << (arguments.empty() ? "" : arguments.back()) << ": " << result.err);
      CHECK(result.exit_code == 2);
      CHECK(result.out.empty());
      CHECK(!result.err.empty());
    }
  }
  const CommandResult clock = RunTool("pt-run", {"m.onnx", "--sim-clock", "fast"});
  CHECK(clock.exit_code == 2);
  CHECK(clock.err.find("unknown value \"fast\"; expected virtual or real") != std::string::npos);
  CHECK(RunTool("pt-run", {"m.onnx", "--duration", "fast"}).exit_code == 2);
  CHECK(RunTool("pt-run", {"m.onnx", "--duration", "1s", "--iterations", "3"}).exit_code == 2);
  CHECK(RunTool("pt-run", {"m.onnx", "--plan", "p", "--planner", "search"}).exit_code == 2);
  CHECK(RunTool("pt-profile", {"m.onnx", "--budget", "-5s"}).exit_code == 2);
  CHECK(RunTool("pt-profile", {"m.onnx", "--max-noise", "quiet"}).exit_code == 2);
}

TEST_CASE("Tools, ErrorsAreObjectsOnStandardErrorWithFormatJson", "[cli]") {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--no-such-flag", "--format", "json"}, {"/nonexistent/model.onnx", "--format=json"}}) {
    const CommandResult result = RunTool("pt-run", arguments);
    CHECK(result.out.empty());
    const auto parsed = ParseJson(result.err, "error");
    INFO(result.err);
    REQUIRE(parsed.ok());
    REQUIRE(parsed->find("code") != nullptr);
    CHECK(*parsed->find("code")->as_int() == result.exit_code);
    for (const char* key : {"id", "message", "hint", "file", "node", "device"}) CHECK(parsed->find(key) != nullptr);
  }
}

TEST_CASE("Tools, NamedDevicesAndLibrariesThatCannotBeUsedAreErrors", "[cli]") {
  const Workplace place;
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
             {"--devices", "cpu,cuda:0"}, {"--libraries", "reference,nosuchlibrary"}}) {
      const CommandResult result = RunTool(tool, Joined({place.Branchy()}, flags));
      INFO(result.err);
      CHECK(result.exit_code == 5);
      CHECK(result.err.find(flags[1] == "cpu,cuda:0" ? "cuda:0" : "nosuchlibrary") != std::string::npos);
    }
  }
  CHECK(RunTool("pt-profile", {"--list-devices", "--devices", "sim:/nonexistent.json"}).exit_code != 0);
}

TEST_CASE("Tools, ListDevicesShowsTheHost", "[cli]") {
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    const CommandResult json = RunTool(tool, {"--list-devices", "--format", "json"});
    CHECK(json.exit_code == 0);
    const auto parsed = ParseJson(json.out, "devices");
    REQUIRE(parsed.ok());
    const Json& host = (*parsed->find("devices")->as_array())[0];
    CHECK(*host.find("name")->as_string() == "cpu");
    CHECK(!host.find("units")->as_array()->empty());
  }
}

TEST_CASE("Tools, OptionsComeFromTheEnvironmentAndFlagsWin", "[cli]") {
  CommandOptions options;
  options.environment = {"PARTITIONTUNER_FORMAT=json"};
  CHECK(ParseJson(RunTool("pt-run", {"--version"}, options).out, "version").ok());
  CHECK(!ParseJson(RunTool("pt-run", {"--version", "--format", "table"}, options).out, "version").ok());
}

TEST_CASE("Tools, MoreCoresThanThereAreAreRefusedWhoeverAsks", "[cli]") {
  CommandOptions options;
  options.environment = {"PARTITIONTUNER_THREADS=30000"};
  for (const char* question : {"--list-devices", "--print-platform", "--doctor"}) {
    const CommandResult by_environment = RunTool("pt-plan", {question}, options);
    CHECK(by_environment.exit_code == 2);
    CHECK(by_environment.err.find("PARTITIONTUNER_THREADS=30000, but") != std::string::npos);
    CHECK(RunTool("pt-plan", {question, "--threads", "30000"}).err.find("--threads 30000, but") != std::string::npos);
  }
}

TEST_CASE("Tools, MisspelledLibrariesAreAskedBack", "[cli]") {
  const CommandResult result = RunTool("pt-plan", {"--list-devices", "--libraries", "refrence"});
  CHECK(result.exit_code == 5);
  CHECK(result.err.find("did you mean 'reference'?") != std::string::npos);
}

TEST_CASE("Tools, UnreadableModelsAreExitThree", "[cli]") {
  const Workplace place;
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    const CommandResult missing = RunTool(tool, {"/nonexistent/model.onnx"});
    CHECK(missing.exit_code == 3);
    CHECK(missing.err.find("/nonexistent/model.onnx") != std::string::npos);
    CHECK(RunTool(tool, {place.Write("garbage.onnx", "<html>not a model</html>")}).exit_code == 3);
    CHECK(RunTool(tool, {place.Write("empty.onnx", "")}).exit_code == 3);
  }
}

TEST_CASE("Tools, UnsupportedOperatorsAreExitFourAndNamed", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("custom.onnx", OneNodeModel("Frobnicate", {"4"}, "my.domain"));
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    const CommandResult result = RunTool(tool, {model, "--db", "none"});
    INFO(result.err);
    CHECK(result.exit_code == 4);
    CHECK(result.err.find("Frobnicate") != std::string::npos);
  }
}

TEST_CASE("Tools, MissingDimsAreExitTwoWithTheFlagToGive", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("dynamic.onnx", OneNodeModel("Relu", {"batch", "4"}));
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    const CommandResult result = RunTool(tool, {model, "--db", "none"});
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("--dim batch=") != std::string::npos);
  }
  CHECK(RunTool("pt-run", {model, "--db", "none", "--dim", "batch=3", "--iterations", "1"}).exit_code == 0);
  CHECK(RunTool("pt-run", {model, "--db", "none", "--shape", "x=3x4", "--iterations", "1"}).exit_code == 0);
  CHECK(RunTool("pt-run", {model, "--db", "none", "--shape", "x=3x5", "--iterations", "1"}).exit_code != 0);
}

}  // namespace
}  // namespace pt::testing::usage_test
