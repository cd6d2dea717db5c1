#include "partitiontuner/transform/constant_inputs.h"

#include <limits>

#include "test/transform/passes_lab.h"

namespace pt::testing::constant_inputs_test {
namespace {

// The value of an input of that type and dims, or the error.
Result<Tensor> ValueOf(const std::string& type, double number) {
  PT_ASSIGN(const Graph graph, ParseGraph("input x " + type + "\ny = Identity(x)\noutput y\n"));
  PT_ASSIGN(std::vector<std::optional<Tensor>> values, ConstantTensors(graph, {{"x", number}}));
  REQUIRE(values.size() == 1);
  REQUIRE(values[0]);
  return *std::move(values[0]);
}

TEST_CASE("ConstantInputs, EveryElementIsTheNumber", "[transform]") {
  const auto integers = ValueOf("int64[2,3]", -7);
  REQUIRE(integers.ok());
  CHECK(integers->dims() == std::vector<int64_t>{2, 3});
  CHECK(integers->ToInts() == std::vector<int64_t>(6, -7));
  const auto scalar = ValueOf("int64[]", 9007199254740991.0);
  REQUIRE(scalar.ok());
  CHECK(scalar->ToInts() == std::vector<int64_t>{9007199254740991});
  const auto nearest = ValueOf("float32[4]", 0.1);
  REQUIRE(nearest.ok());
  for (float value : nearest->values<float>()) CHECK(value == 0.1F);
  CHECK(ValueOf("float32[0,3]", 1)->element_count() == 0);
  CHECK(ValueOf("int32[2]", 2147483647)->ToInts()[1] == 2147483647);
  CHECK(ValueOf("bool[2]", 1).ok());
  CHECK(ValueOf("uint8[2]", 255).ok());
  CHECK(ValueOf("float16[2]", 0.5).ok());
}

TEST_CASE("ConstantInputs, NumbersThatATypeHasNotAreRefused", "[transform]") {
  const std::pair<const char*, double> cases[] = {
      {"int64[2]", 0.5},     {"int64[2]", 9007199254740992.0},
      {"uint8[2]", 256},     {"uint8[2]", -1},
      {"int8[2]", -129},     {"bool[2]", 2},
      {"float16[2]", 1e6},   {"float32[2]", 1e39},
      {"int32[2]", 3e9},     {"float32[2]", std::numeric_limits<double>::quiet_NaN()},
      {"string[2]", 1},      {"complex64[2]", 1},
      {"float32[batch]", 1},
  };
  for (const auto& [type, number] : cases) {
    CAPTURE(type, number);
    const auto value = ValueOf(type, number);
    REQUIRE_FALSE(value.ok());
    CHECK(value.error().code == ErrorCode::kUsage);
    CHECK(value.error().message.find("\"x\"") != std::string::npos);
  }
  const Graph graph = Parsed("input x float32[2]\ninput rate int64[]\ny = Relu(x)\noutput y\n");
  const auto unknown = ConstantTensors(graph, {{"sr", 1}});
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == ErrorCode::kUsage);
  CHECK(unknown.error().hint == "its inputs: x, rate");
  CHECK(
      ConstantTensors(Parsed("input x float32[2147483647,2147483647,2147483647]\ny = Relu(x)\noutput y\n"), {{"x", 1}})
          .error()
          .code == ErrorCode::kOutOfMemory);
}

TEST_CASE("ConstantInputs, TextsReadBack", "[transform]") {
  CHECK(ConstantText(16000) == "16000");
  CHECK(ConstantText(0.1) == "0.1");
  CHECK(ConstantText(-9007199254740992.0) == "-9007199254740992");
}

TEST_CASE("ConstantInputs, ReadersReadTheValueAndTheInputStays", "[transform]") {
  const Graph graph = Parsed(R"(
input x float32[2,3]
input rate float32[]
double = Add(rate, rate)
y = Mul(x, double)
output y
output rate
)");
  const auto values = ConstantTensors(graph, {{"rate", 1.5}}).value();
  REQUIRE(values.size() == 2);
  CHECK_FALSE(values[0]);
  const Graph made = ReadConstantInputs(graph, values).value();
  REQUIRE(made.inputs().size() == 2);
  CHECK(made.value(made.inputs()[1]).name == "rate");
  CHECK(made.value(made.inputs()[1]).uses.empty());
  CHECK(Operators(Simplify(made, Context()).value()) == Ops{"Mul"});
}

}  // namespace
}  // namespace pt::testing::constant_inputs_test
