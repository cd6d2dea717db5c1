// pt-run --bisect: which value goes wrong first.
#include <catch2/catch_test_macros.hpp>

#include "test/cli/tools.h"

namespace pt::testing::bisect_test {
namespace {

// x float32[1,2,4,4]: (Conv, Add of a bias, Relu) twice, y. `bias` is of the last.
std::string TwoConvolutions(const Workplace& place, float bias) {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"1", "2", "4", "4"})};
  graph.outputs = {ValueInfo("y", 1, {"1", "2", "4", "4"})};
  graph.initializers = {FloatTensor("w", {2, 2, 1, 1}, {0.5F, -0.25F, 0.75F, 0.5F}), FloatTensor("half", {}, {0.5F}),
                        FloatTensor("bias", {}, {bias})};
  graph.nodes = {NodeBytes("Conv", {"x", "w"}, {"a"}),   NodeBytes("Sin", {"a"}, {"b"}),
                 NodeBytes("Add", {"b", "half"}, {"c"}), NodeBytes("Conv", {"c", "w"}, {"d"}),
                 NodeBytes("Sin", {"d"}, {"e"}),         NodeBytes("Add", {"e", "bias"}, {"f"}),
                 NodeBytes("Relu", {"f"}, {"y"})};
  return place.Write("two/model.onnx", ModelBytes(graph));
}

TEST_CASE("Bisect, NamesTheStepThatWentWrongAndWhatItReads", "[cli]") {
  const Workplace place;
  const std::string model = TwoConvolutions(place, 1);
  const CommandResult text = RunLying(place, model, "channel", {"--bisect"});
  INFO(text.out << text.err);
  CHECK(text.exit_code == 8);
  CHECK(text.out.starts_with("first value beyond tolerance: \"d\"\n"));
  CHECK(text.out.find(", by test-plugin") != std::string::npos);
  CHECK(text.out.find("times the tolerance; --rtol and --atol set another") != std::string::npos);
  CHECK(text.out.find("  reads    \"c\", 0 of its tolerance\n") != std::string::npos);
  CHECK(text.out.find("FAIL  7 of 7 values compared\n") != std::string::npos);

  const CommandResult result = RunLying(place, model, "channel", {"--bisect", "--format", "json"});
  CHECK(result.exit_code == 8);
  const Json json = Parsed(result.out);
  CHECK_FALSE(*json.find("pass")->as_bool());
  const Json& first = *json.find("first");
  CHECK(*first.find("value")->as_string() == "d");
  CHECK(*first.find("seen")->as_string() == "made");
  CHECK(*first.find("maker")->find("library")->as_string() == "test-plugin");
  CHECK(*first.find("maker")->find("unit")->as_string() == "cpu[0]");
  const auto nodes = *first.find("maker")->find("nodes")->as_array();
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0] == *first.find("node"));
  CHECK(*first.find("tolerance")->as_string() == "fp32 math");
  CHECK(*first.find("of_tolerance")->as_number() > 1);
  CHECK(*first.find("max_abs")->as_number() > 0);
  const auto inputs = *first.find("inputs")->as_array();
  REQUIRE(inputs.size() == 1);
  CHECK(*inputs[0].find("value")->as_string() == "c");
  CHECK(*inputs[0].find("pass")->as_bool());
}

TEST_CASE("Bisect, FindsAFaultThatFadesBeforeTheOutputs", "[cli]") {
  const Workplace place;
  const std::string model = TwoConvolutions(place, -2);  // Relu makes 0 of all
  CHECK(RunLying(place, model, "channel", {"--verify", "reference"}).exit_code == 0);
  const CommandResult result = RunLying(place, model, "channel", {"--bisect"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 8);
  CHECK(result.out.starts_with("first value beyond tolerance: \"d\"\n"));
}

TEST_CASE("Bisect, PassesWhatIsRight", "[cli]") {
  const Workplace place;
  const std::string model = TwoConvolutions(place, 1);
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{}, {"--seed", "7"}, {"--sequential"}, {"--input", "random[0,1]"}}) {
    const CommandResult result = RunLying(place, model, "rounding", Joined({"--bisect"}, more));
    INFO(result.out << result.err);
    CHECK(result.exit_code == 0);
    CHECK(result.out.starts_with("PASS  7 of 7 values and all outputs compared; nearest to its tolerance: \""));
  }
}

// The fault is the same whether all is looked at together or piece by piece.
TEST_CASE("Bisect, GoesThroughThePlanInPartsWhereMemoryIsShort", "[cli]") {
  const Workplace place;
  const std::string model = TwoConvolutions(place, 1);
  const CommandResult whole = RunLying(place, model, "channel", {"--bisect", "--format", "json"});
  const CommandResult parts =
      RunLying(place, model, "channel", {"--bisect", "--format", "json", "--run-memory", "600B"});
  INFO(parts.out << parts.err);
  CHECK(parts.exit_code == 8);
  CHECK(*Parsed(parts.out).find("first") == *Parsed(whole.out).find("first"));
  CHECK(*Parsed(parts.out).find("compared")->as_int() < *Parsed(whole.out).find("compared")->as_int());
}

TEST_CASE("Bisect, NamesAGroupAsOne", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy();
  // Right libraries differ in the last bits, which no tolerance forgives here.
  const CommandResult result =
      RunTool("pt-run", {model, "--db", "none", "--bisect", "--rtol", "0", "--atol", "0", "--format", "json"});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 8);
  const Json first = *Parsed(result.out).find("first");
  const auto nodes = *first.find("maker")->find("nodes")->as_array();
  if (nodes.size() < 2) SKIP("no library of this build fuses groups");
  CHECK(nodes.back() == *first.find("node"));
  const CommandResult text = RunTool("pt-run", {model, "--db", "none", "--bisect", "--rtol", "0", "--atol", "0"});
  CHECK(text.out.find("one kernel for these nodes") != std::string::npos);
}

TEST_CASE("Bisect, TakesAPlanFileAndSaysWhatDevicesKeep", "[cli]") {
  const Workplace place;
  const std::string model = place.Branchy(), plan = place.path() + "/plan.json", db = place.path() + "/p.db";
  const std::string sim = std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json";
  const std::vector<std::string> machine = {"--platform", sim, "--db", db, "-q"};
  REQUIRE(RunTool("pt-profile", Joined({model, "--max-time", "1ms"}, machine)).exit_code == 0);
  REQUIRE(RunTool("pt-plan", Joined({model, "-o", plan, "--planner", "random:5"}, machine)).exit_code == 0);
  const CommandResult result =
      RunTool("pt-run", Joined({model, "--plan", plan, "--bisect", "--format", "json"}, machine));
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  const Json json = Parsed(result.out);
  CHECK(*json.find("compared")->as_int() > 0);
  CHECK(*json.find("compared")->as_int() < *json.find("values")->as_int());
}

TEST_CASE("Bisect, GoesWithNoOtherReport", "[cli]") {
  const Workplace place;
  const std::string model = TwoConvolutions(place, 1);
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {"--verify", "reference"}, {"--twin"}, {"--compare", "search"}, {"--aa"}}) {
    CHECK(RunTool("pt-run", Joined({model, "--db", "none", "--bisect"}, flags)).exit_code == 2);
  }
}

}  // namespace
}  // namespace pt::testing::bisect_test
