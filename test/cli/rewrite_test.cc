// --rewrite: other graphs that compute the same, in all three tools.
#include <catch2/catch_test_macros.hpp>

#include "test/cli/tools.h"

namespace pt::testing {
namespace {

TEST_CASE("Tools, PlansOfRewrittenGraphsRunAndVerifyAsTheModel", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), db = place.path() + "/profile.db", plan = place.path() + "/plan.json";
  const std::string data = place.path() + "/branchy/test_data_set_0";
  for (const std::string rewrite : {"split=*:2", "requests=2", "split=*:3, requests=3"}) {
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
}  // namespace pt::testing
