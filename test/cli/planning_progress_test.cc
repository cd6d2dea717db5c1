// pt-plan while it searches: progress, and what a signal leaves.
#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "partitiontuner/support/file.h"
#include "test/cli/tools.h"

namespace pt::testing::planning_progress_test {
namespace {

// A model with a profile, and a search that ends long after the signal.
struct LongSearch {
  explicit LongSearch(const std::vector<std::string>& profile_flags = {})
      : model(place.Branchy()), db(place.path() + "/p.db"), plan(place.path() + "/p.json") {
    REQUIRE(RunTool("pt-profile", Joined({model, "--db", db, "--max-time", "2ms", "-q"}, profile_flags)).exit_code ==
            0);
  }
  CommandResult Run(int signal, std::vector<std::string> more) const {
    CommandOptions options;
    options.environment = {"TERM=xterm"};
    options.signal = signal;
    options.signal_after = "best plan so far";
    return RunTool("pt-plan", Joined({model, "--db", db, "-o", plan, "--effort", "1000000000"}, more), options);
  }

  Workplace place;
  std::string model, db, plan;
};

TEST_CASE("PlanningProgress, ASignalLeavesTheBestPlanSoFar", "[cli]") {
  const LongSearch search;
  for (const auto& [signal, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    const CommandResult result = search.Run(signal, {"--progress", "tty", "--format", "json"});
    INFO(result.err);
    CHECK(result.exit_code == code);
    CHECK(result.err.find("interrupted: this is the best plan so far") != std::string::npos);
    CHECK(*Parsed(result.out).find("interrupted")->as_bool());
    const std::string text = *ReadFile(search.plan, 0);
    CHECK(*Parsed(text).find("report")->find("stopped_by")->as_string() == "interrupted");
    // As whole as any.
    CHECK(RunTool("pt-plan", {search.model, "--db", search.db, "--check", search.plan}).exit_code == 0);
    CHECK(RunTool("pt-run", {search.model, "--db", search.db, "--plan", search.plan, "--iterations", "2"}).exit_code ==
          0);
  }
}

TEST_CASE("PlanningProgress, WhatTriesSeveralPlansKeepsTheFirst", "[cli]") {
  const LongSearch search;
  for (const std::vector<std::string>& mode :
       std::vector<std::vector<std::string>>{{"--finalists", "2"}, {"--refine", "1"}, {"--split-critical", "1"}}) {
    const CommandResult result = search.Run(SIGINT, Joined({"--progress", "tty"}, mode));
    INFO(result.err << result.out);
    CHECK(result.exit_code == 130);
    CHECK(result.out.find("interrupted: the best plan so far") != std::string::npos);
    CHECK(result.out.find("nothing on the critical path") == std::string::npos);
    CHECK(RunTool("pt-plan", {search.model, "--db", search.db, "--check", search.plan}).exit_code == 0);
  }
}

TEST_CASE("PlanningProgress, WhatMakesSeveralPlansKeepsThoseSoFar", "[cli]") {
  const LongSearch search;
  CommandOptions options;
  options.environment = {"TERM=xterm"};
  options.signal = SIGINT;
  options.signal_after = "best plan so far";
  const std::vector<std::string> long_search = {search.model, "--db",       search.db, "--effort",
                                                "1000000000", "--progress", "tty"};
  const CommandResult compared = RunTool("pt-plan", Joined(long_search, {"--baselines", "--format", "json"}), options);
  INFO(compared.err << compared.out);
  CHECK(compared.exit_code == 130);
  CHECK(compared.err.find("interrupted: these are the plans so far") != std::string::npos);
  const Json json = Parsed(compared.out);
  CHECK(*json.find("interrupted")->as_bool());
  const auto& rows = *json.find("planners")->as_array();  // those that made a plan first
  REQUIRE(rows.size() > 2);
  CHECK(*rows.front().find("interrupted")->as_bool());
  CHECK(rows.front().find("makespan_ns") != nullptr);
  CHECK(*rows.back().find("not_run")->as_string() == "interrupted before it began");
  const CommandResult front = RunTool(
      "pt-plan", Joined(long_search, {"--pareto", "--format", "json", "-o", search.place.path() + "/%.json"}), options);
  INFO(front.err << front.out);
  CHECK(front.exit_code == 130);
  CHECK(*Parsed(front.out).find("interrupted")->as_bool());
  CHECK(front.err.find("interrupted: these are the plans so far") != std::string::npos);
  CHECK(RunTool("pt-plan", {search.model, "--db", search.db, "--check", search.place.path() + "/1.json"}).exit_code ==
        0);
}

TEST_CASE("PlanningProgress, ASignalLeavesAPlanWithinTheErrorBudget", "[cli]") {
  const LongSearch search({"--precision", "auto"});
  for (const auto& [signal, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    const CommandResult result = search.Run(signal, {"--precision", "auto", "--progress", "tty", "--format", "json"});
    INFO(result.err);
    CHECK(result.exit_code == code);
    CHECK(result.err.find("interrupted: this is the best plan so far") != std::string::npos);
    CHECK(*Parsed(result.out).find("interrupted")->as_bool());
    const Json report = *Parsed(*ReadFile(search.plan, 0)).find("report");
    CHECK(*report.find("stopped_by")->as_string() == "interrupted");
    CHECK(*report.find("error_budget")->find("confirmation_error")->as_number() <= 0.01);
    CHECK(RunTool("pt-run", {search.model, "--db", search.db, "--plan", search.plan, "--precision", "auto",
                             "--max-error", "0.01", "--iterations", "2"})
              .exit_code == 0);
  }
}

TEST_CASE("PlanningProgress, ASignalLeavesTheBestPlanSoFarExplained", "[cli]") {
  const LongSearch search;
  const CommandResult result = search.Run(SIGINT, {"--explain", "*", "--progress", "tty", "--format", "json"});
  INFO(result.err);
  CHECK(result.exit_code == 130);
  CHECK(result.err.find("interrupted: this is the best plan so far") != std::string::npos);
  const auto rows = *Parsed(result.out).as_array();
  REQUIRE_FALSE(rows.empty());
  for (const Json& row : rows) {
    CHECK(*row.find("interrupted")->as_bool());
    CHECK_FALSE(row.find("reasons")->as_array()->empty());
  }
  // The plan that was explained.
  const auto steps = *Parsed(*ReadFile(search.plan, 0)).find("steps")->as_array();
  for (const Json& row : rows) CHECK(static_cast<size_t>(*row.find("step")->as_int()) < steps.size());
  CHECK(RunTool("pt-plan", {search.model, "--db", search.db, "--check", search.plan}).exit_code == 0);
}

TEST_CASE("PlanningProgress, QuietAndFinishedSearchesLeaveNoLine", "[cli]") {
  const LongSearch search;
  CommandOptions options;
  options.environment = {"TERM=xterm"};
  const CommandResult quiet =
      RunTool("pt-plan", {search.model, "--db", search.db, "-o", search.plan, "--progress", "tty", "-q"}, options);
  CHECK(quiet.exit_code == 0);
  CHECK(quiet.err.find("searching") == std::string::npos);
  const CommandResult loud =
      RunTool("pt-plan", {search.model, "--db", search.db, "-o", search.plan, "--progress", "tty"}, options);
  CHECK(loud.exit_code == 0);
  const size_t last = loud.err.rfind("searching");
  if (last != std::string::npos) CHECK(loud.err.find("\r\033[K", last) != std::string::npos);
}

}  // namespace
}  // namespace pt::testing::planning_progress_test
