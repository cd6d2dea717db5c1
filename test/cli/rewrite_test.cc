// --rewrite: other graphs that compute the same, in all three tools.
#include <catch2/catch_test_macros.hpp>

#include "test/cli/tools.h"

namespace pt::testing::rewrite_test {
namespace {

TEST_CASE("Tools, PlansOfRewrittenGraphsRunAndVerifyAsTheModel", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/profile.db", plan = place.path() + "/plan.json";
  const std::string data = place.path() + "/branchy/test_data_set_0";
  for (const std::string rewrite : {"split=*:2", "split-rows=*:2", "requests=2", "split=*:3, requests=3"}) {
    CAPTURE(rewrite);
    const std::vector<std::string> common = {model, "--db", db, "--rewrite", rewrite, "-q"};
    REQUIRE(RunTool("pt-profile", Joined(common, {"--max-time", "1ms"})).exit_code == 0);
    const CommandResult planned = RunTool("pt-plan", Joined(common, {"-o", plan, "--effort", "200"}));
    INFO(planned.err);
    REQUIRE(planned.exit_code == 0);
    // pt-run takes the rewrites from the plan.
    for (const std::string& against : {std::string("reference"), data}) {
      const CommandResult verified = RunTool("pt-run", {model, "--plan", plan, "--verify", against, "--db", "none"});
      INFO(against << ": " << verified.out << verified.err);
      CHECK(verified.exit_code == 0);
      CHECK(verified.out.find("PASS") != std::string::npos);
    }
    const CommandResult measured =
        RunTool("pt-run", {model, "--plan", plan, "--input", data, "--iterations", "3", "--format", "json", "-q"});
    INFO(measured.err);
    REQUIRE(measured.exit_code == 0);
    const Json json = Parsed(measured.out);
    const bool several = rewrite.find("requests") != std::string::npos;
    CHECK((json.find("requests_per_s") != nullptr) == several);
    if (several) CHECK(*json.find("requests")->as_int() == (rewrite.back() - '0'));
    // Made for another graph than the model's.
    const CommandResult other = RunTool("pt-plan", {model, "--check", plan, "--db", "none"});
    CHECK(other.exit_code == 7);
  }
}

TEST_CASE("PtPlan, TriesToSplitWhatIsOnTheCriticalPath", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/profile.db", plan = place.path() + "/plan.json";
  REQUIRE(RunTool("pt-profile", {model, "--db", db, "-q", "--max-time", "1ms"}).exit_code == 0);
  const CommandResult planned = RunTool(
      "pt-plan", {model, "--db", db, "--split-critical", "2", "--effort", "200", "-o", plan, "--format", "json", "-q"});
  INFO(planned.err);
  REQUIRE(planned.exit_code == 0);
  const Json json = Parsed(planned.out);
  const Json::Array* trials = json.find("splits")->as_array();
  REQUIRE(trials != nullptr);
  REQUIRE(trials->size() == 2);
  for (const Json& trial : *trials) {
    CHECK(trial.find("rewrite")->as_string()->starts_with("split"));
    CHECK(*trial.find("before_ns")->as_int() > 0);
    CHECK(*trial.find("makespan_ns")->as_int() > 0);
  }
  const CommandResult verified = RunTool("pt-run", {model, "--plan", plan, "--verify", "reference", "--db", "none"});
  INFO(verified.out << verified.err);
  CHECK(verified.exit_code == 0);
  for (const std::vector<std::string>& with :
       {std::vector<std::string>{"--finalists", "2"}, {"--baselines"}, {"--pareto"}, {"--forbid", "0=cpu/1"}}) {
    CAPTURE(with[0]);
    const CommandResult refused = RunTool("pt-plan", Joined({model, "--db", db, "--split-critical", "2"}, with));
    CHECK(refused.exit_code == 2);
  }
}

TEST_CASE("Tools, RewritesThatCannotBeAreRefused", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy();
  for (const std::string rewrite : {"slices=2", "time-slices=2", "requests=0", "split=nothing:2", "split=*:2000"}) {
    CAPTURE(rewrite);
    const CommandResult result = RunTool("pt-plan", {model, "--db", "none", "--rewrite", rewrite});
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("try:") != std::string::npos);
  }
}

}  // namespace
}  // namespace pt::testing::rewrite_test
