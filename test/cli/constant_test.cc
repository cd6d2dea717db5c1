// --constant: inputs that always have one value, in all three tools.
#include <catch2/catch_test_macros.hpp>

#include "test/cli/tools.h"
#include "test/testing/rate_model.h"

namespace pt::testing::constant_test {
namespace {

TEST_CASE("Tools, ConstantInputsArePlannedAndTakenFromThePlan", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("rate.onnx", RateModel()), db = place.path() + "/profile.db",
                    plan = place.path() + "/plan.json";
  const std::vector<std::string> common = {model, "--db", db, "--constant", "rate=16000", "-q"};
  REQUIRE(RunTool("pt-profile", Joined(common, {"--max-time", "1ms"})).exit_code == 0);
  const CommandResult planned = RunTool("pt-plan", Joined(common, {"-o", plan}));
  INFO(planned.err);
  REQUIRE(planned.exit_code == 0);
  // pt-run takes the constants from the plan, and gives them where it draws the inputs.
  const CommandResult verified = RunTool("pt-run", {model, "--plan", plan, "--verify", "reference", "--db", "none"});
  INFO(verified.out << verified.err);
  CHECK(verified.exit_code == 0);
  CHECK(verified.out.find("PASS") != std::string::npos);
  // A plan of the other branch is one of another graph.
  CHECK(RunTool("pt-run", {model, "--plan", plan, "--constant", "rate=8000", "--db", "none"}).exit_code == 7);
}

TEST_CASE("Tools, ConstantsThatAreNoneAreRefused", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("rate.onnx", RateModel());
  for (const std::string constant : {"rat=1", "rate", "rate=fast", "rate=0.5"}) {
    CAPTURE(constant);
    const CommandResult refused = RunTool("pt-run", {model, "--constant", constant, "--db", "none"});
    CHECK(refused.exit_code == 2);
    CHECK_FALSE(refused.err.empty());
  }
}

}  // namespace
}  // namespace pt::testing::constant_test
