// Drawn graphs as ONNX models whose parts are functions: what the loader makes of them computes what the graph did.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/evaluate_graph.h"
#include "test/testing/generated/draw_graph.h"
#include "test/testing/generated/wrap_in_functions.h"
#include "test/testing/loading.h"
#include "test/testing/rounds.h"
#include "test/testing/seeds.h"

namespace pt::testing::functions_test {
namespace {

std::string Difference(const std::vector<Tensor>& is, const std::vector<Tensor>& expected) {
  if (is.size() != expected.size()) return "another number of outputs";
  for (size_t i = 0; i < is.size(); ++i) {
    if (is[i].content_hash() != expected[i].content_hash()) return "output " + std::to_string(i) + " differs";
  }
  return {};
}

struct Tally {
  size_t functions = 0, defaults = 0, branches = 0;
};

std::string WhyWrong(const DrawnCase& drawn, uint64_t seed, Tally& tally) {
  const FunctionModel model = WrapInFunctions(drawn, seed);
  tally.functions += model.functions.size();
  for (const ModelFunction& function : model.functions) tally.defaults += function.defaults.size();
  const Result<std::vector<Tensor>> values = EvaluateGraph(drawn.graph, drawn.inputs);
  if (!values.ok()) return "the drawn graph: " + ToString(values.error());
  const std::vector<Tensor> expected = OutputsOf(drawn.graph, *values);
  // The interpreter agrees, or the test itself is wrong.
  const Result<std::vector<Tensor>> interpreted = Interpret(model);
  if (!interpreted.ok()) return "the interpreter: " + ToString(interpreted.error());
  if (const std::string why = Difference(*interpreted, expected); !why.empty()) return "the interpreter: " + why;
  const Result<Graph> loaded = Load(BytesOf(model));
  if (!loaded.ok()) return "the loader: " + ToString(loaded.error());
  for (const Node& node : loaded->nodes()) tally.branches += node.op == "If";
  const Result<std::vector<Tensor>> made = Interpret(ModelOf(*loaded, drawn.inputs));
  if (!made.ok()) return "what was loaded: " + ToString(made.error());
  return Difference(*made, expected);
}

Tally CheckModels(Seeds seeds) {
  Tally tally;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const DrawnGraph drawn = DrawGraph(seed);
    if (!drawn.refused.empty()) continue;  // reported by the test of drawn graphs
    const Result<DrawnCase> read = ReadCase(drawn.text);
    INFO("seed " << seed << "; repeat: PT_SEEDS=" << seed << ":1 test_generated \"*FunctionsByThousands\"\n"
                 << drawn.text);
    REQUIRE(read.ok());
    CHECK(WhyWrong(*read, seed, tally) == "");
  }
  return tally;
}

}  // namespace

TEST_CASE("Drawn graphs, AsFunctionsTheyLoadAsWhatTheyWere", "[generated]") {
  const Seeds seeds{1, Rounds(200)};
  const Tally tally = CheckModels(seeds);
  CAPTURE(tally.functions, tally.defaults, tally.branches);
  CHECK(tally.functions > seeds.count);
  CHECK(tally.defaults > seeds.count / 2);
  CHECK(tally.branches > seeds.count / 4);
}

TEST_CASE("Drawn graphs, TheSameOfThemAsFunctionsByThousands", "[.nightly]") {
  const Seeds seeds = SeedsOfNight({1, 5000});
  const Tally tally = CheckModels(seeds);
  WARN("seeds from " << seeds.first << ": " << seeds.count << " graphs, " << tally.functions << " functions with "
                     << tally.defaults << " defaults");
}

}  // namespace pt::testing::functions_test
