#include "partitiontuner/engine/tolerance.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/support/result.h"

namespace pt::tolerance_test {
namespace {

// By name of the output.
std::map<std::string, ReasonedTolerance> TolerancesOf(const std::string& text, MathMode math = MathMode::kFp32) {
  const Result<Graph> graph = ParseGraph(text);
  INFO((graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  std::map<std::string, ReasonedTolerance> tolerances;
  for (const ValueId output : graph->outputs()) {
    tolerances.emplace(graph->value(output).name, ToleranceOf(*graph, output, math));
  }
  return tolerances;
}

TEST_CASE("Tolerance, ComesFromTypeAndLastQuantisation", "[engine]") {
  const auto of = TolerancesOf(R"(
input x float32[2]
const s1 float32[] value 0.5
const s2 float32[] value 0.25
const zero uint8[] value 0
q = QuantizeLinear(x, s1, zero) : uint8[2]
d = DequantizeLinear(q, s1, zero) : float32[2]
r = Relu(d) : float32[2]
q2 = QuantizeLinear(r, s2, zero) : uint8[2]
y = DequantizeLinear(q2, s2, zero) : float32[2]
plain = Relu(x) : float32[2]
half = Cast(x) to=10 : float16[2]
const w int8[2,2] zeros
const s3 float32[] value 0.125
m = QLinearMatMul(q2, s2, zero, w, s1, s1, s3, zero) : uint8[2]
e = DequantizeLinear(m, s3, zero) : float32[2]
output y
output plain
output half
output q2
output m
output e
output r
)");
  CHECK(of.at("y").tolerance.absolute == Catch::Approx(0.25).epsilon(1e-4));
  CHECK(of.at("y").tolerance.relative == 1e-4);
  CHECK(of.at("y").tolerance.integer_steps == 0);
  CHECK(of.at("y").reason == "fp32 math, one step of the last quantisation");
  CHECK(of.at("plain").tolerance.absolute == 0);
  CHECK(of.at("plain").tolerance.relative == 1e-4);
  CHECK(of.at("plain").reason == "fp32 math");
  CHECK(of.at("half").tolerance.relative == 1e-2);
  CHECK(of.at("half").reason == "float16");
  CHECK(of.at("q2").tolerance.integer_steps == 1);
  CHECK(of.at("q2").reason == "one step of the quantisation");
  CHECK(of.at("m").tolerance.integer_steps == 1);
  CHECK(of.at("e").tolerance.absolute == Catch::Approx(0.125).epsilon(1e-4));
  CHECK(of.at("r").tolerance.absolute == Catch::Approx(0.5).epsilon(1e-4));  // Relu moves no number further
}

// Of DequantizeLinear, Softmax say: what a step of 8 is worth behind it nobody knows without a run.
TEST_CASE("Tolerance, HasNoStepBehindWhatComputesWithTheNumbers", "[engine]") {
  const auto of = TolerancesOf(R"(
input x float32[2]
const s float32[] value 8
const zero uint8[] value 0
q = QuantizeLinear(x, s, zero) : uint8[2]
d = DequantizeLinear(q, s, zero) : float32[2]
soft = Softmax(d) : float32[2]
sum = Add(d, x) : float32[2]
big = ArgMax(d) axis=0 : int64[1]
output soft
output sum
output big
)");
  CHECK(of.at("sum").tolerance.absolute == 0);
  CHECK(of.at("sum").quantised);
  CHECK(of.at("soft").tolerance.absolute < 1e-6);
  CHECK(of.at("soft").quantised);
  CHECK(of.at("big").tolerance.integer_steps == 0);
  CHECK(of.at("big").reason == "exact");
}

TEST_CASE("Tolerance, IsOfTheCoarsestTypeOnTheWay", "[engine]") {
  const auto of = TolerancesOf(R"(
input x float32[2]
input h float16[2]
const w float16[2] zeros
wide = Cast(w) to=1 : float32[2]
weights = Mul(x, wide) : float32[2]
given = Cast(h) to=1 : float32[2]
half = Cast(x) to=10 : float16[2]
twice = Add(half, half) : float16[2]
back = Cast(twice) to=1 : float32[2]
brain = Cast(back) to=16 : bfloat16[2]
both = Cast(brain) to=1 : float32[2]
integer = Cast(back) to=7 : int64[2]
beside = Relu(x) : float32[2]
output weights
output given
output back
output both
output integer
output beside
)");
  CHECK(of.at("weights").tolerance.relative == 1e-4);  // constants are the same for everybody
  CHECK(of.at("given").tolerance.relative == 1e-4);    // and so is what is given
  CHECK(of.at("back").tolerance.relative == 1e-2);
  CHECK(of.at("back").reason == "float16 inside");
  CHECK(of.at("both").tolerance.relative == 4e-2);
  CHECK(of.at("both").reason == "bfloat16 inside");
  CHECK(of.at("integer").tolerance.relative == 0);
  CHECK(of.at("beside").tolerance.relative == 1e-4);
  for (const auto& [name, tolerance] : of) CHECK_FALSE(tolerance.quantised);
}

TEST_CASE("Tolerance, SaysWhenThePlanIsTheCoarsest", "[engine]") {
  const char* const text = R"(
input x float32[2]
half = Cast(x) to=10 : float16[2]
y = Cast(half) to=1 : float32[2]
z = Relu(x) : float32[2]
output y
output z
)";
  const auto bf16 = TolerancesOf(text, MathMode::kBf16);
  CHECK(bf16.at("y").tolerance.relative == 4e-2);
  CHECK(bf16.at("y").reason == "the plan computes in bf16");
  const auto fp16 = TolerancesOf(text, MathMode::kFp16);
  CHECK(fp16.at("y").reason == "float16 inside");
  CHECK(fp16.at("z").reason == "the plan computes in fp16");
}

TEST_CASE("Tolerance, TakesDynamicStepsAndSmallFloatsForQuantised", "[engine]") {
  const auto of = TolerancesOf(R"(
input x float32[2]
dynamic, scale, zero = DynamicQuantizeLinear(x) : uint8[2], float32[], uint8[]
d = DequantizeLinear(dynamic, scale, zero) : float32[2]
eight = Cast(x) to=17 : float8e4m3fn[2]
wide = Cast(eight) to=1 : float32[2]
output d
output dynamic
output wide
)");
  CHECK(of.at("d").quantised);
  CHECK(of.at("dynamic").quantised);
  CHECK(of.at("wide").quantised);
}

// What a network says of something with certainty 0.001 stands beside one that says 0.999.
TEST_CASE("Tolerance, KnowsOperatorsWhoseResultsLieWithinOne", "[engine]") {
  const auto of = TolerancesOf(R"(
input x float32[1,2]
s = Sigmoid(x) : float32[1,2]
t = Tanh(x) : float32[1,2]
shape = Flatten(s) : float32[1,2]
joined = Concat(s, t) axis=0 : float32[2,2]
mixed = Concat(s, x) axis=0 : float32[2,2]
large = Mul(s, x) : float32[1,2]
output s
output shape
output joined
output mixed
output large
)");
  for (const char* name : {"s", "shape", "joined"}) {
    CHECK(of.at(name).tolerance.absolute == 0x1p-22);
    CHECK(of.at(name).tolerance.relative == 1e-4);
  }
  CHECK(of.at("large").tolerance.absolute == 0);
  CHECK(of.at("mixed").tolerance.absolute == 0);
}

}  // namespace
}  // namespace pt::tolerance_test
