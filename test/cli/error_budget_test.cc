// --precision auto and --max-error, from the profile to the run.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/support/file.h"
#include "partitiontuner/support/json.h"
#include "test/cli/tools.h"

namespace pt::testing::error_budget_test {
namespace {

struct Scene {
  Scene() : model(place.Branchy()), db(place.path() + "/profile.db"), plan(place.path() + "/plan.json") {
    const CommandResult profiled =
        RunTool("pt-profile", {model, "--db", db, "--precision", "auto", "--max-time", "2ms", "--format", "json"});
    INFO(profiled.err);
    REQUIRE(profiled.exit_code == 0);
  }
  CommandResult Plan(const std::vector<std::string>& arguments) const {
    return RunTool("pt-plan", Joined({model, "--db", db, "--precision", "auto"}, arguments));
  }

  Workplace place;
  std::string model, db, plan;
};

TEST_CASE("PtPlan, PlansWithinAnErrorBudgetAndPtRunTakesThePlan", "[cli]") {
  const Scene scene;
  const CommandResult planned = scene.Plan({"--max-error", "0.05", "--format", "json", "-o", scene.plan});
  INFO(planned.err);
  REQUIRE(planned.exit_code == 0);
  CHECK(planned.err.find("chosen by 8 random data sets, confirmed by 16 random data sets") != std::string::npos);
  const Json summary = Parsed(planned.out);
  const Json& budget = *summary.find("error_budget");
  CHECK(budget.find("max_error")->as_number() == 0.05);
  CHECK(*budget.find("confirmation_error")->as_number() <= 0.05);
  CHECK(*budget.find("lowered_groups")->as_int() <= *budget.find("groups")->as_int());
  CHECK(*Parsed(*ReadFile(scene.plan, 0)).find("report")->find("error_budget") == budget);
  CHECK(RunTool("pt-plan", {scene.model, "--check", scene.plan, "--db", "none"}).exit_code == 0);

  const auto run = [&](const std::vector<std::string>& arguments) {
    return RunTool("pt-run",
                   Joined({scene.model, "--db", "none", "--plan", scene.plan, "--iterations", "3"}, arguments))
        .exit_code;
  };
  const bool lowered = *budget.find("lowered_groups")->as_int() > 0;
  CHECK(run({}) == 0);
  CHECK(run({"--precision", "auto"}) == 0);
  CHECK(run({"--precision", "auto", "--max-error", "0.05"}) == 0);
  CHECK(run({"--precision", "auto", "--max-error", "1e-9"}) == (lowered ? 2 : 0));
  CHECK(run({"--precision", "fp32"}) == (lowered ? 2 : 0));
}

TEST_CASE("PtPlan, ABudgetThatNothingFitsIsFp32", "[cli]") {
  const Scene scene;
  const CommandResult planned = scene.Plan({"--max-error", "1e-12", "-o", scene.plan});
  INFO(planned.err);
  REQUIRE(planned.exit_code == 0);
  CHECK(planned.out.find("error budget 1e-12: all in fp32") != std::string::npos);
  CHECK(
      RunTool("pt-run", {scene.model, "--db", "none", "--plan", scene.plan, "--precision", "fp32", "--iterations", "1"})
          .exit_code == 0);
}

TEST_CASE("PtPlan, WithoutLowerModesAllIsFp32AndSaidToBe", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/profile.db";
  const std::vector<std::string> flags = {model, "--db", db, "--libraries", "reference", "--precision", "auto"};
  REQUIRE(RunTool("pt-profile", Joined(flags, {"--max-time", "1ms"})).exit_code == 0);
  const CommandResult planned = RunTool("pt-plan", flags);
  INFO(planned.err);
  CHECK(planned.exit_code == 0);
  CHECK(planned.err.find("no library offers it for this model on this machine: all is computed in fp32") !=
        std::string::npos);
  CHECK(planned.out.find("error budget 0.01: all in fp32 (1 plan tried)") != std::string::npos);
}

TEST_CASE("PtPlan, GivenDataChoosesAndConfirms", "[cli]") {
  const Scene scene;
  const std::string data = scene.place.path() + "/branchy/test_data_set_0";
  const CommandResult one = scene.Plan({"--calibrate", data});
  INFO(one.err);
  CHECK(one.exit_code == 0);
  CHECK(one.err.find("chosen by 1 given and 8 random data sets, confirmed by 16 random data sets") !=
        std::string::npos);
  const CommandResult two = scene.Plan({"--calibrate", data, "--input", data});
  INFO(two.err);
  CHECK(two.exit_code == 0);
  CHECK(two.err.find("chosen by 1 given data set, confirmed by 1 given data set") != std::string::npos);
  CHECK(scene.Plan({"--calibrate", scene.place.path() + "/nowhere"}).exit_code == 3);
}

TEST_CASE("ErrorBudgets, WhatMakesNoSenseIsExitTwo", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy();
  for (const char* bad : {"0", "-0.1", "nan", "inf", "small"}) {
    INFO(bad);
    for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
      CHECK(RunTool(tool, {model, "--db", "none", "--precision", "auto", "--max-error", bad}).exit_code == 2);
    }
  }
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--max-error", "0.1"},
                                                {"--precision", "bf16", "--max-error", "0.1"},
                                                {"--calibrate", place.path()},
                                                {"--precision", "auto", "--baselines"},
                                                {"--precision", "auto", "--explain", "0"},
                                                {"--precision", "auto,bf16"}}) {
    INFO(flags.back());
    CHECK(RunTool("pt-plan", Joined({model, "--db", "none"}, flags)).exit_code == 2);
  }
  CHECK(RunTool("pt-run", {model, "--db", "none", "--precision", "auto"}).exit_code == 2);
  CHECK(RunTool("pt-run", {"--suite", place.path(), "--precision", "auto"}).exit_code == 2);
}

TEST_CASE("Precision, AModeThatWasNamedAndIsAbsentIsExitFive", "[cli]") {
  const Workplace place;
  const std::vector<std::string> flags = {place.Branchy(), "--db", "none", "--libraries", "reference"};
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    INFO(tool);
    const CommandResult refused = RunTool(tool, Joined(flags, {"--precision", "bf16"}));
    CHECK(refused.exit_code == 5);
    CHECK(refused.err.find("no library computes in bf16 on this machine") != std::string::npos);
  }
  CHECK(RunTool("pt-run", Joined(flags, {"--precision", "fp32", "--iterations", "1"})).exit_code == 0);
}

}  // namespace
}  // namespace pt::testing::error_budget_test
