// Which flags go together: what contradicts itself is refused before anything is loaded.
#include <catch2/catch_test_macros.hpp>

#include "test/cli/tools.h"

namespace pt::testing::flag_rules_test {
namespace {

using Words = std::vector<std::string>;

// Each flag with a value, as the first of the pair is typed.
struct Pairs {
  const char* tool;
  Words flag;
  std::vector<Words> excluded;
};

TEST_CASE("FlagRules, FlagsThatExcludeEachOtherAreBothNamed", "[cli]") {
  const std::vector<Words> not_with_requests = {{"--concurrency", "2"}, {"--compare", "search"},    {"--aa"},
                                                {"--carry", "a=b"},     {"--shape-set", "batch=4"}, {"--verify", "d"},
                                                {"--bisect"},           {"--suite", "s"},           {"--trace", "t"},
                                                {"--residuals"},        {"--save-outputs", "d"},    {"--html", "h"}};
  const std::vector<Pairs> pairs = {
      {"pt-run", {"--plan", "p"}, {{"--planner", "search"}}},
      {"pt-run",
       {"--dispatch", "path"},
       {{"--plan", "p"},
        {"--planner", "search"},
        {"--compare", "search"},
        {"--sequential"},
        {"--twin"},
        {"--trace", "t"},
        {"--residuals"},
        {"--suite", "s"}}},
      {"pt-run",
       {"--shape-set", "batch=4"},
       {{"--plan", "p"},
        {"--dispatch", "path"},
        {"--compare", "search"},
        {"--aa"},
        {"--concurrency", "2"},
        {"--carry", "a=b"},
        {"--memory", "cpu=1MiB"},
        {"--trace", "t"},
        {"--residuals"},
        {"--save-outputs", "d"},
        {"--verify", "reference"},
        {"--suite", "s"},
        {"--precision", "auto"}}},
      {"pt-run", {"--carry", "a=b"}, {{"--concurrency", "2"}, {"--suite", "s"}}},
      {"pt-run",
       {"--aa"},
       {{"--compare", "search"},
        {"--concurrency", "2"},
        {"--verify", "d"},
        {"--suite", "s"},
        {"--trace", "t"},
        {"--residuals"},
        {"--save-outputs", "d"}}},
      {"pt-run",
       {"--concurrency", "2"},
       {{"--compare", "search"}, {"--verify", "d"}, {"--suite", "s"}, {"--trace", "t"}, {"--save-outputs", "d"}}},
      {"pt-run", {"--rate", "5"}, not_with_requests},
      {"pt-run", {"--find-rate", "p99<1s"}, not_with_requests},
      {"pt-run", {"--find-rate", "p99<1s"}, {{"--rate", "5"}, {"--iterations", "5"}, {"--assert", "p99<1s"}}},
      {"pt-run", {"--residuals"}, {{"--compare", "search"}, {"--verify", "d"}, {"--suite", "s"}}},
      {"pt-run", {"--duration", "1s"}, {{"--iterations", "3"}}},
      {"pt-plan", {"--precision", "auto"}, {{"--baselines"}, {"--explain", "0"}}},
      {"pt-plan", {"--finalists", "2"}, {{"--precision", "auto"}, {"--baselines"}, {"--explain", "0"}}},
      {"pt-plan", {"--refine", "2"}, {{"--precision", "auto"}, {"--baselines"}, {"--explain", "0"}}},
      {"pt-plan",
       {"--split-critical", "2"},
       {{"--precision", "auto"},
        {"--finalists", "2"},
        {"--refine", "2"},
        {"--baselines"},
        {"--pareto"},
        {"--explain", "0"}}},
      {"pt-plan", {"--pareto"}, {{"--finalists", "2"}, {"--refine", "1"}, {"--baselines"}, {"--explain", "0"}}},
      {"pt-plan", {"--profile", "p"}, {{"--db", "d"}}},
      {"pt-plan", {"--export", "f.svg"}, {{"--pareto"}, {"--explain", "0"}, {"--check", "p"}}},
      {"pt-plan", {"--export-group", "0", "-o", "f"}, {{"--baselines"}, {"--export", "f.svg"}, {"--explain", "0"}}},
      {"pt-profile", {"--import", "p"}, {{"--db", "none"}}},
  };
  const Workplace place;
  const std::string model = place.ReluPlusOne("relu");
  for (const Pairs& pair : pairs) {
    for (const Words& excluded : pair.excluded) {
      const CommandResult result = RunTool(pair.tool, Joined(Joined({model}, pair.flag), excluded));
      INFO(pair.tool << " " << pair.flag[0] << " " << excluded[0] << ": " << result.err);
      CHECK(result.exit_code == 2);
      CHECK(result.err.find("cannot be combined with") != std::string::npos);
      CHECK(result.err.find(pair.flag[0]) != std::string::npos);
      CHECK(result.err.find(excluded[0]) != std::string::npos);
    }
  }
}

TEST_CASE("FlagRules, WhatWorksWithoutAModelIsNotGivenOne", "[cli]") {
  for (const Words& flag : std::vector<Words>{{"--diff", "a", "b"}, {"--workload", "w"}}) {
    const CommandResult result = RunTool("pt-plan", Joined({"m.onnx"}, flag));
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find(flag[0] + " cannot be combined with a model") != std::string::npos);
  }
  const CommandResult validate = RunTool("pt-profile", {"m.onnx", "--validate"});
  CHECK(validate.exit_code == 2);
  CHECK(validate.err.find("--validate cannot be combined with a model") != std::string::npos);
}

TEST_CASE("FlagRules, WhatNeedsAnotherFlagSaysWhich", "[cli]") {
  const CommandResult group = RunTool("pt-plan", {"m.onnx", "--export-group", "0"});
  CHECK(group.exit_code == 2);
  CHECK(group.err.find("--export-group needs -o") != std::string::npos);
  CHECK(group.err.find("pt-plan m.onnx --export-group 0 -o part.onnx") != std::string::npos);
  const CommandResult data = RunTool("pt-plan", {"m.onnx", "--calibrate", "d"});
  CHECK(data.exit_code == 2);
  CHECK(data.err.find("--calibrate needs --precision auto") != std::string::npos);
}

TEST_CASE("FlagRules, HintsAreFilledWithWhatWasGiven", "[cli]") {
  const CommandResult result = RunTool("pt-run", {"m.onnx", "--dispatch", "path", "--compare", "heft,search"});
  CHECK(result.err.find("--compare dispatch:path,heft,search") != std::string::npos);
}

// A number of 0 and an empty text are as good as none; a node or a step of that number is not.
TEST_CASE("FlagRules, ZeroAndNothingAreNotGiven", "[cli]") {
  const Workplace place;
  const std::string model = place.ReluPlusOne("relu");
  CHECK(RunTool("pt-plan", {model, "--baselines", "--finalists", "0"}).err.find("combined") == std::string::npos);
  CHECK(RunTool("pt-plan", {model, "--baselines", "--explain", "0", "--finalists", "2"}).exit_code == 2);
  CHECK(RunTool("pt-run", {model, "--db", "none", "--duration", "", "--iterations", "1"}).exit_code == 0);
  CommandOptions options;
  options.environment = {"PARTITIONTUNER_AA=false"};
  CHECK(RunTool("pt-run", {model, "--db", "none", "--verify", "reference"}, options).exit_code == 0);
}

}  // namespace
}  // namespace pt::testing::flag_rules_test
