// Help, man pages, completions and the file of --config: all from the rows of the flags.
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "test/cli/tools.h"

namespace pt::testing::flag_table_test {
namespace {

constexpr const char* kTools[] = {"pt-profile", "pt-plan", "pt-run"};

// The long flags at the beginnings of the lines of --help-all.
std::vector<std::string> FlagsOf(const char* tool) {
  std::vector<std::string> flags;
  std::istringstream lines(RunTool(tool, {"--help-all"}).out);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find("--");
    if (!line.starts_with("  -") || at > 6) continue;
    flags.push_back(line.substr(at, line.find_first_of(" \n", at) - at));
  }
  return flags;
}

TEST_CASE("FlagTable, HelpIsAtMostAHundredColumnsWide", "[cli]") {
  for (const char* tool : kTools) {
    for (const char* flag : {"--help", "--help-all"}) {
      std::istringstream lines(RunTool(tool, {flag}).out);
      for (std::string line; std::getline(lines, line);) {
        INFO(tool << ": " << line);
        CHECK(line.size() <= 100);
      }
    }
  }
}

TEST_CASE("FlagTable, ManPagesAndCompletionsHaveEveryFlagOfHelpAll", "[cli]") {
  for (const char* tool : kTools) {
    const std::vector<std::string> flags = FlagsOf(tool);
    REQUIRE(flags.size() > 30);
    for (const char* form : {"man", "bash", "zsh", "fish"}) {
      const CommandResult result = RunTool(tool, {"--describe", form});
      REQUIRE(result.exit_code == 0);
      for (std::string flag : flags) {
        INFO(tool << " " << form << " " << flag);
        if (std::string(form) == "fish") flag = "-l " + flag.substr(2);
        for (size_t at = 0; std::string(form) == "man" && (at = flag.find('-', at)) != std::string::npos; at += 2) {
          flag.insert(at, "\\");
        }
        CHECK(result.out.find(flag) != std::string::npos);
      }
    }
  }
}

TEST_CASE("FlagTable, BashCompletesFlagsAndWords", "[cli]") {
  const Workplace place;
  const std::string script = place.Write("pt-run", RunTool("pt-run", {"--describe", "bash"}).out);
  const auto complete = [&](const std::string& words, const std::string& at) {
    return RunCommand({"/bin/bash", "-c",
                       ". " + script + "; COMP_WORDS=(" + words + "); COMP_CWORD=" + at +
                           "; _pt_run; echo \"${COMPREPLY[@]}\""})
        .out;
  };
  CHECK(complete("pt-run --iter", "1") == "--iterations\n");
  CHECK(complete("pt-run --nan k", "2") == "keep\n");
  CHECK(complete("pt-run --duration 2", "2") == "\n");
}

TEST_CASE("FlagTable, ConfigIsReadAfterFlagsAndEnvironment", "[cli]") {
  const Workplace place;
  const std::string model = place.ReluPlusOne("relu");
  const std::string config = place.Write("pt.toml",
                                         "db = \"none\"\nformat = \"json\"\n\n[pt-run]\niterations = 3\n\n"
                                         "[pt-plan]\nplanner = \"heft\"\n");
  const CommandResult from_file = RunTool("pt-run", {model, "--config", config});
  INFO(from_file.err);
  REQUIRE(from_file.exit_code == 0);
  CHECK(ParseJson(from_file.out, "run").ok());
  CHECK(!ParseJson(RunTool("pt-run", {model, "--config", config, "--format", "table"}).out, "run").ok());
  CommandOptions options;
  options.environment = {"PARTITIONTUNER_FORMAT=table", "PARTITIONTUNER_CONFIG=" + config};
  CHECK(!ParseJson(RunTool("pt-run", {model}, options).out, "run").ok());
}

TEST_CASE("FlagTable, ConfigsWithMistakesAreRefused", "[cli]") {
  const Workplace place;
  const auto refused = [&](const std::string& text, const std::string& with) {
    const CommandResult result = RunTool("pt-run", {"m.onnx", "--config", place.Write("pt.toml", text)});
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find(with) != std::string::npos);
    CHECK(result.err.find("pt.toml") != std::string::npos);
  };
  refused("threds = 2\n", "did you mean \"threads\"");
  refused("threads = 0\n", "--threads");
  refused("[pt-rum]\nthreads = 2\n", "pt-run");
  refused("help = true\n", "has no option");
  const std::string both = place.Write("both.toml", "plan = \"p\"\nplanner = \"search\"\n");
  CHECK(RunTool("pt-run", {"m.onnx", "--config", both}).err.find("cannot be combined") != std::string::npos);
  CHECK(RunTool("pt-run", {"m.onnx", "--config", place.path() + "/none.toml"}).exit_code == 3);
}

}  // namespace
}  // namespace pt::testing::flag_table_test
