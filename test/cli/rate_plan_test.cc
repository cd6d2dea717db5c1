// pt-plan --rate: the plan for requests that come at a rate, and pt-run by it.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/support/file.h"
#include "test/cli/tools.h"

namespace pt::testing::rate_plan_test {
namespace {

// A model with a profile of few samples: enough to plan by.
struct Profiled {
  Profiled() {
    const CommandResult result = RunTool("pt-profile", {model, "--db", db, "--max-time", "2ms", "-q"});
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
  }
  CommandResult Plan(const std::vector<std::string>& flags) const {
    return RunTool("pt-plan", Joined({model, "--db", db}, flags));
  }
  Json PlanJson(const std::vector<std::string>& flags, int exit_code) const {
    const CommandResult result = Plan(Joined({"--format", "json"}, flags));
    INFO(result.err);
    REQUIRE(result.exit_code == exit_code);
    return Parsed(result.out);
  }

  Workplace place;
  std::string model = place.Branchy(), db = place.path() + "/profile.db";
};

const Json& KeptOf(const Json& json) {
  const Json::Array& plans = *json.find("plans")->as_array();
  const auto kept = std::ranges::find_if(plans, [](const Json& row) { return *row.find("kept")->as_bool(); });
  REQUIRE(kept != plans.end());
  return *kept;
}

}  // namespace

TEST_CASE("PtPlanRate, RunsDecideAndThePlanRunsAsItWasChosen", "[cli]") {
  const Profiled profiled;
  const std::string plan = profiled.place.path() + "/rate.ptplan.json";
  const Json json = profiled.PlanJson({"--rate", "100", "--p99", "1h", "--duration", "50ms", "-o", plan}, 0);
  CHECK(*json.find("rate")->as_number() == 100);
  CHECK(*json.find("met")->as_bool());
  CHECK(*json.find("confirmed")->as_bool());
  CHECK(*json.find("highest_rate")->as_number() == 100);
  const Json& kept = KeptOf(json);
  for (const char* way : {"predicted", "measured"}) {
    CHECK(*kept.find(way)->find("latency_ns")->find("p50")->as_int() > 0);
    CHECK(*kept.find(way)->find("latency_ns")->find("p99")->as_int() > 0);
  }
  const Json saved = Parsed(*ReadFile(plan, 0));
  const Json* const settings = saved.find("made_for")->find("settings");
  CHECK(*settings->find("objective")->as_string() == "rate");
  CHECK(*settings->find("rate")->as_string() == "100");
  CHECK(*settings->find("alone")->as_string() == *kept.find("alone")->as_string());
  const std::vector<std::string> run = {profiled.model, "--plan",       plan, "--rate",  "500", "--format",
                                        "json",         "--iterations", "40", "--queue", "100"};
  const Json by_plan = Parsed(RunTool("pt-run", run).out);
  CHECK(*by_plan.find("in_flight")->as_int() == *kept.find("in_flight")->as_int());
  const bool alone = *kept.find("alone")->as_string() != "never";
  CHECK(*by_plan.find("rates")->as_array()->at(0).find("alone_runs")->as_int() == (alone ? 40 : 0));
  const Json otherwise = Parsed(RunTool("pt-run", Joined(run, {"--inflight", "1", "--alone", "never"})).out);
  CHECK(*otherwise.find("in_flight")->as_int() == 1);
  CHECK(*otherwise.find("rates")->as_array()->at(0).find("alone_runs")->as_int() == 0);
}

TEST_CASE("PtPlanRate, WhatCannotBeMetEndsWithTenAndTheHighestRate", "[cli]") {
  const Profiled profiled;
  const Json none = profiled.PlanJson({"--rate", "100", "--p99", "1ns", "--no-confirm"}, 10);
  CHECK_FALSE(*none.find("met")->as_bool());
  CHECK_FALSE(*none.find("confirmed")->as_bool());
  CHECK(*none.find("highest_rate")->as_number() == 0);
  const std::vector<std::string> far = {"--rate", "9000000", "--no-confirm", "--arrivals", "fixed"};
  const Json some = profiled.PlanJson(far, 10);
  CHECK(*some.find("highest_rate")->as_number() > 0);
  CHECK(*some.find("highest_rate")->as_number() == *KeptOf(some).find("predicted_rate")->as_number());
  const CommandResult text = profiled.Plan(far);
  CHECK(text.exit_code == 10);
  CHECK(text.out.find("not met; up to ") != std::string::npos);
  CHECK(text.out.find("(predicted)") != std::string::npos);
}

TEST_CASE("PtPlanRate, OnASimulatedDevicePredictionsDecide", "[cli]") {
  const Workplace place;
  const CommandResult result = RunTool("pt-plan", {place.Branchy(), "--db", "none", "--platform",
                                                   std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json",
                                                   "--planner", "single:sim:0", "--rate", "10", "--p99", "1h"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("met by \"single:sim:0, by all units in turns\" (predicted)") != std::string::npos);
  CHECK(result.err.find("nothing ran") != std::string::npos);
}

TEST_CASE("PtPlanRate, WhatIsNoGoalOrBelongsToOneIsRefused", "[cli]") {
  const Workplace place;
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--rate", "0", "--no-confirm"},
                                             {"--rate", "-1", "--no-confirm"},
                                             {"--rate", "1e9", "--no-confirm"},
                                             {"--rate", "x"},
                                             {"--rate", "nan", "--no-confirm"},
                                             {"--rate", "5", "--p99", "soon"},
                                             {"--rate", "5", "--p99", "0s", "--no-confirm"},
                                             {"--rate", "5", "--arrivals", "late"},
                                             {"--rate", "5", "--queue", "-1"},
                                             {"--rate", "5", "--duration", "1s", "--no-confirm"},
                                             {"--rate", "5", "--baselines"},
                                             {"--rate", "5", "--finalists", "3"},
                                             {"--p99", "5ms"},
                                             {"--no-confirm"},
                                             {"--arrivals", "fixed"},
                                             {"--queue", "3"},
                                             {"--duration", "1s"}}) {
    CAPTURE(flags);
    CHECK(RunTool("pt-plan", Joined({place.Branchy(), "--db", "none"}, flags)).exit_code == 2);
  }
}

}  // namespace pt::testing::rate_plan_test
