// pt-run --verify by what a model has inside: float16, quantised numbers.
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "partitiontuner/support/random.h"
#include "test/cli/tools.h"

namespace pt::testing::verify_test {
namespace {

std::string RandomBytes(size_t count, uint64_t seed) {
  Random random(seed);
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(random.Below(255)));
  return bytes;
}
std::vector<float> RandomFloats(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.Uniform(-1, 1)));
  return values;
}

// Quantised as ONNX Runtime's tools do it: x float32[1,3,16,16], two convolutions between integers, y float32[1,5].
std::string QuantisedNetwork(const Workplace& place) {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"1", "3", "16", "16"})};
  graph.outputs = {ValueInfo("y", 1, {"1", "5"})};
  const auto quantise = [&](const std::string& name, const std::string& scale) {
    graph.nodes.push_back(NodeBytes("QuantizeLinear", {name, scale, "zero"}, {name + "_q"}));
    graph.nodes.push_back(NodeBytes("DequantizeLinear", {name + "_q", scale, "zero"}, {name + "_d"}));
  };
  const auto convolve = [&](const std::string& from, const std::string& to, int64_t channels, uint64_t seed) {
    const std::string weights = to + "_w";
    graph.initializers.push_back(
        RawTensor(weights, 3, {8, channels, 3, 3}, RandomBytes(static_cast<size_t>(72 * channels), seed)));
    graph.nodes.push_back(NodeBytes("DequantizeLinear", {weights, "of_weights", "zero_of_weights"}, {weights + "_d"}));
    graph.nodes.push_back(
        NodeBytes("Conv", {from, weights + "_d"}, {to + "_c"}, {IntsAttribute("pads", {1, 1, 1, 1})}));
    graph.nodes.push_back(NodeBytes("Relu", {to + "_c"}, {to}));
  };
  graph.initializers = {FloatTensor("of_x", {}, {0.0157F}),
                        FloatTensor("of_a", {}, {0.0223F}),
                        FloatTensor("of_b", {}, {0.0319F}),
                        FloatTensor("of_weights", {}, {0.00391F}),
                        RawTensor("zero", 2, {}, std::string(1, 64)),
                        RawTensor("zero_of_weights", 3, {}, std::string(1, 0)),
                        FloatTensor("fc", {2048, 5}, RandomFloats(2048 * 5, 3))};
  quantise("x", "of_x");
  convolve("x_d", "a", 3, 1);
  quantise("a", "of_a");
  convolve("a_d", "b", 8, 2);
  quantise("b", "of_b");
  graph.nodes.push_back(NodeBytes("Flatten", {"b_d"}, {"flat"}));
  graph.nodes.push_back(NodeBytes("MatMul", {"flat", "fc"}, {"y"}));
  return place.Write("quantised/model.onnx", ModelBytes(graph));
}

CommandResult Verified(const Workplace& place, const std::string& model, const std::string& lie,
                       const std::vector<std::string>& more = {}) {
  return RunLying(place, model, lie, Joined({"--verify", "reference"}, more));
}

TEST_CASE("Verify, StopsPlausibleFaultsInQuantisedNetworks", "[cli]") {
  const Workplace place;
  const std::string model = QuantisedNetwork(place);
  for (const char* lie : {"channel", "zero-point"}) {
    const CommandResult result = Verified(place, model, lie);
    INFO(lie << "\n" << result.out << result.err);
    CHECK(result.exit_code == 8);
    CHECK(result.out.find("quantised inside: roundings alone change it by") != std::string::npos);
    CHECK(result.out.find("times the tolerance; --rtol and --atol set another") != std::string::npos);
  }
}

// Inputs of several draws: in some of them the other rounding moves a number to the next integer.
TEST_CASE("Verify, LetsRoundingsPassInQuantisedNetworks", "[cli]") {
  const Workplace place;
  const std::string model = QuantisedNetwork(place);
  bool needed = false;
  for (const char* seed : {"1", "2", "3", "4", "5", "6"}) {
    const CommandResult result = Verified(place, model, "rounding", {"--seed", seed});
    INFO("--seed " << seed << "\n" << result.out << result.err);
    CHECK(result.exit_code == 0);
    needed = needed || result.out.find("quantised inside") != std::string::npos;
    CHECK(RunLying(place, model, "rounding", {"--bisect", "--seed", seed}).exit_code == 0);  // nor any value within
  }
  CHECK(needed);
}

TEST_CASE("Verify, HoldsFloatingPointNetworksToTheirOwnTolerance", "[cli]") {
  const Workplace place;
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"1", "3", "8", "8"})};
  graph.outputs = {ValueInfo("y", 1, {"1", "4", "8", "8"})};
  graph.initializers = {FloatTensor("w", {4, 3, 3, 3}, RandomFloats(108, 5))};
  graph.nodes = {NodeBytes("Conv", {"x", "w"}, {"y"}, {IntsAttribute("pads", {1, 1, 1, 1})})};
  const std::string model = place.Write("plain/model.onnx", ModelBytes(graph));
  CHECK(Verified(place, model, "rounding").exit_code == 0);
  const CommandResult wrong = Verified(place, model, "channel");
  INFO(wrong.out << wrong.err);
  CHECK(wrong.exit_code == 8);
  CHECK(wrong.out.find("(fp32 math: 0.0001 of the largest magnitude)") != std::string::npos);
}

// float16 between, float32 at the border: expected values that were rounded to float16 on the way are right.
TEST_CASE("Verify, AllowsFloat16InsideWhatFloat16Is", "[cli]") {
  const Workplace place;
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"2"})};
  graph.outputs = {ValueInfo("y", 1, {"2"})};
  graph.nodes = {NodeBytes("Cast", {"x"}, {"h"}, {IntAttribute("to", 10)}), NodeBytes("Mul", {"h", "h"}, {"hh"}),
                 NodeBytes("Cast", {"hh"}, {"y"}, {IntAttribute("to", 1)})};
  const std::string model = place.Write("half/model.onnx", ModelBytes(graph));
  const std::string data = place.path() + "/half/test_data_set_0";
  place.Write("half/test_data_set_0/input_0.pb", FloatFile({2}, {1.1F, 3}));
  for (const auto& [off, exit_code] : std::map<float, int>{{0.002F, 0}, {0.2F, 8}}) {
    place.Write("half/test_data_set_0/output_0.pb", FloatFile({2}, {1.21F + off, 9}));
    const CommandResult result = RunTool("pt-run", {model, "--db", "none", "--verify", data});
    INFO(result.out << result.err);
    CHECK(result.exit_code == exit_code);
    CHECK(result.out.find("(float16 inside: 0.01 of the largest magnitude)") != std::string::npos);
    CHECK((result.out.find("2.2 times the tolerance; --rtol and --atol set another") != std::string::npos) ==
          (exit_code == 8));
  }
}

TEST_CASE("Verify, JsonSaysWhyAndByHowMuch", "[cli]") {
  const Workplace place;
  const std::string model = place.ReluPlusOne("bad", 0.01F);
  const CommandResult result =
      RunTool("pt-run", {model, "--db", "none", "--format", "json", "--verify", place.path() + "/bad"});
  CHECK(result.exit_code == 8);
  const Json row = (*(*Parsed(result.out).find("data_sets")->as_array())[0].find("outputs")->as_array())[0];
  CHECK(*row.find("tolerance")->as_string() == "fp32 math");
  CHECK(*row.find("of_tolerance")->as_number() > 24);
  CHECK(*row.find("of_tolerance")->as_number() < 25);
}

}  // namespace
}  // namespace pt::testing::verify_test
