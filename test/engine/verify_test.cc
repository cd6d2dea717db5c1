#include "partitiontuner/engine/verify.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "partitiontuner/graph/graph_text.h"

namespace pt {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const Tolerance kMaximum{Tolerance::Kind::kOfMaximum, 1e-4, 0, 0};

ExpectedTensor Expect(Tensor tensor) {
  ExpectedTensor expected;
  expected.dims = tensor.dims();
  expected.tensor = std::move(tensor);
  return expected;
}
Comparison Compare(const std::vector<float>& want, const std::vector<float>& got, const Tolerance& tolerance) {
  return CompareTensors(Expect(Tensor::Float32({static_cast<int64_t>(want.size())}, want)),
                        Tensor::Float32({static_cast<int64_t>(got.size())}, got), tolerance);
}

TEST_CASE("Verify, OfMaximumScalesWithTheLargestElement", "[engine]") {
  CHECK(Compare({1000, 0}, {1000, 0.099f}, kMaximum).equal);
  const Comparison off = Compare({1000, 0, 1}, {1000, 0.101f, 1}, kMaximum);
  CHECK(!off.equal);
  CHECK(off.max_abs == Catch::Approx(0.101));
  CHECK(off.max_rel == Catch::Approx(0.000101));
  CHECK(off.reason.find("element 1 is 0.101") != std::string::npos);
  CHECK(Compare({0, 0}, {0, 0}, kMaximum).equal);
  CHECK(!Compare({0, 0}, {0, 1e-30f}, kMaximum).equal);
}

TEST_CASE("Verify, ElementwiseHoldsEachElementByItself", "[engine]") {
  const Tolerance tests = OperatorTestTolerance();
  CHECK(Compare({1000, 1}, {1000.9f, 1.0009f}, tests).equal);
  CHECK(!Compare({1000, 1}, {1000, 1.0011f}, tests).equal);
  CHECK(Compare({0}, {0.9e-7f}, tests).equal);
  CHECK(!Compare({0}, {1.1e-7f}, tests).equal);
}

TEST_CASE("Verify, NanAndInfinityMustAgreeInPlaceAndSign", "[engine]") {
  const Comparison same = Compare({kNan, kInfinity, -kInfinity, 1}, {kNan, kInfinity, -kInfinity, 1}, kMaximum);
  CHECK(same.equal);
  CHECK(same.nan_count == 1);
  CHECK(!Compare({kNan, 1}, {1, 1}, kMaximum).equal);
  CHECK(!Compare({1, 1}, {1, kNan}, kMaximum).equal);
  CHECK(!Compare({kInfinity, 1}, {-kInfinity, 1}, kMaximum).equal);
  CHECK(!Compare({kInfinity, 1}, {3e38f, 1}, kMaximum).equal);
  CHECK(!Compare({3e38f, 1}, {kInfinity, 1}, kMaximum).equal);
}

TEST_CASE("Verify, TypeAndDimsMustAgree", "[engine]") {
  const ExpectedTensor want = Expect(Tensor::Float32({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Comparison dims = CompareTensors(want, Tensor::Float32({3, 2}, {1, 2, 3, 4, 5, 6}), kMaximum);
  CHECK(!dims.equal);
  CHECK(dims.reason == "dims are [3,2], expected [2,3]");
  const Comparison type = CompareTensors(Expect(Tensor::Int64({1}, {1})), Tensor::Float32({1}, {1}), kMaximum);
  CHECK(!type.equal);
  CHECK(type.reason == "type is float32, expected int64");
}

TEST_CASE("Verify, IntegersAndStringsAreExact", "[engine]") {
  CHECK(CompareTensors(Expect(Tensor::Int64({2}, {1, 2})), Tensor::Int64({2}, {1, 2}), kMaximum).equal);
  CHECK(!CompareTensors(Expect(Tensor::Int64({1}, {int64_t{1} << 60})), Tensor::Int64({1}, {(int64_t{1} << 60) + 1}),
                        kMaximum)
             .equal);
  const auto strings = [](const char* text) { return Tensor::FromStrings({1}, {text}).value(); };
  CHECK(CompareTensors(Expect(strings("a")), strings("a"), kMaximum).equal);
  CHECK(CompareTensors(Expect(strings("a")), strings("b"), kMaximum).reason == "element 0 is \"b\", expected \"a\"");
}

TEST_CASE("Verify, HalfTypesAreDecoded", "[engine]") {
  const auto half = [](DataType type, std::vector<uint16_t> bits) {
    return Tensor::Of<uint16_t>(type, {static_cast<int64_t>(bits.size())}, bits);
  };
  // 1, -2, the smallest denormal, 65504, infinity, NaN.
  const std::vector<uint16_t> bits = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x7e00};
  ExpectedTensor sample;
  sample.dims = {6};
  sample.sample = {1, -2, std::ldexp(1.0, -24), 65504, HUGE_VAL, std::nan("")};
  CHECK(CompareTensors(sample, half(DataType::kFloat16, bits), Tolerance{}).equal);
  sample.dims = {2};
  sample.sample = {1, -2.5};
  CHECK(CompareTensors(sample, half(DataType::kBfloat16, {0x3f80, 0xc020}), Tolerance{}).equal);
}

TEST_CASE("Verify, EightBitFloatsAreExactButForTheirManyNan", "[engine]") {
  const auto compare = [](DataType type, const std::string& want, const std::string& got) {
    const std::vector<int64_t> dims = {static_cast<int64_t>(want.size())};
    return CompareTensors(Expect(Tensor::FromBytes(type, dims, want).value()),
                          Tensor::FromBytes(type, dims, got).value(), Tolerance{});
  };
  const Comparison nan = compare(DataType::kFloat8E5M2, "\x7d\x3c", "\xff\x3c");
  CHECK(nan.equal);
  CHECK(nan.nan_count == 1);
  CHECK(!compare(DataType::kFloat8E5M2, "\x7c\x3c", "\x7d\x3c").equal);  // infinity is no NaN
  CHECK(!compare(DataType::kFloat8E5M2, "\x7c", "\xfc").equal);
  CHECK(compare(DataType::kFloat8E4M3FN, "\x7f", "\xff").equal);
  CHECK(!compare(DataType::kFloat8E4M3FN, "\x7e", "\x7f").equal);
  CHECK(!compare(DataType::kFloat8E4M3FNUZ, "\x7f", "\xff").equal);
}

TEST_CASE("Verify, SampleLooksAtEveryStrideThValue", "[engine]") {
  ExpectedTensor want;
  want.dims = {2, 5};
  want.stride = 3;
  want.sample = {0, 3, 6, 9};
  std::vector<float> values(10);
  for (size_t i = 0; i < 10; ++i) values[i] = static_cast<float>(i);
  CHECK(CompareTensors(want, Tensor::Float32({2, 5}, values), kMaximum).equal);
  values[6] = 7;
  CHECK(CompareTensors(want, Tensor::Float32({2, 5}, values), kMaximum).reason.find("element 6 is 7, expected 6") == 0);
  CHECK(!CompareTensors(want, Tensor::Float32({5, 2}, values), kMaximum).equal);
  want.sample.pop_back();  // a truncated sample proves less than it seems to
  CHECK(!CompareTensors(want, Tensor::Float32({2, 5}, values), kMaximum).equal);
}

TEST_CASE("RelativeError, IsTheLargestOfAnyOutputByItsOwnMaximum", "[engine]") {
  const Tensor large = Tensor::Float32({2}, {-1000, 1}), small = Tensor::Float32({2}, {0.5F, 0.25F});
  const auto error = [](const std::vector<Tensor>& expected, const std::vector<Tensor>& actual) {
    return RelativeError(expected, actual);
  };
  CHECK(error({large, small}, {large, small}) == 0);
  CHECK(error({large, small}, {Tensor::Float32({2}, {-1000, 11}), small}) == 0.01);
  CHECK(error({large, small}, {Tensor::Float32({2}, {-1000, 11}), Tensor::Float32({2}, {0.5F, 0.5F})}) == 0.5);
  CHECK(error({}, {}) == 0);
  CHECK(error({Tensor::Float32({0}, {})}, {Tensor::Float32({0}, {})}) == 0);
}

TEST_CASE("RelativeError, IsInfiniteWhereMoreThanRealNumbersDiffers", "[engine]") {
  const auto error = [](const Tensor& expected, const Tensor& actual) {
    return RelativeError({&expected, 1}, {&actual, 1});
  };
  const auto floats = [](const std::vector<float>& values) {
    return Tensor::Float32({static_cast<int64_t>(values.size())}, values);
  };
  CHECK(error(floats({1, kNan, kInfinity}), floats({1, kNan, kInfinity})) == 0);
  CHECK(error(floats({2, kNan, kInfinity}), floats({1, kNan, kInfinity})) == 0.5);
  for (const std::vector<float>& wrong : {std::vector<float>{1, 0, kInfinity},
                                          {kNan, kNan, kInfinity},
                                          {1, kNan, -kInfinity},
                                          {1, kNan, 3},
                                          {kInfinity, kNan, kInfinity}}) {
    CHECK(error(floats({1, kNan, kInfinity}), floats(wrong)) == HUGE_VAL);
  }
  CHECK(error(floats({0, 0}), floats({0, 0})) == 0);
  CHECK(error(floats({0, 0}), floats({0, 1e-30F})) == HUGE_VAL);
  CHECK(error(floats({1}), Tensor::Float32({1, 1}, {1})) == HUGE_VAL);
  CHECK(error(floats({1}), Tensor::Int64({1}, {1})) == HUGE_VAL);
  CHECK(error(Tensor::Int64({2}, {5, 6}), Tensor::Int64({2}, {5, 6})) == 0);
  CHECK(error(Tensor::Int64({2}, {5, 6}), Tensor::Int64({2}, {5, 7})) == HUGE_VAL);
  CHECK(RelativeError(std::vector<Tensor>{floats({1})}, {}) == HUGE_VAL);
}

TEST_CASE("Verify, DefaultsComeFromTypeAndLastQuantisation", "[engine]") {
  const auto parsed = ParseGraph(R"(
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
)");
  REQUIRE(parsed.ok());
  const Graph& graph = *parsed;
  const Tolerance quantised = DefaultTolerance(graph, graph.outputs()[0]);
  CHECK(quantised.absolute == Catch::Approx(0.25).epsilon(1e-4));
  CHECK(quantised.relative == 1e-4);
  CHECK(quantised.integer_steps == 0);
  const Tolerance plain = DefaultTolerance(graph, graph.outputs()[1]);
  CHECK(plain.absolute == 0);
  CHECK(plain.relative == 1e-4);
  CHECK(DefaultTolerance(graph, graph.outputs()[2]).relative == 1e-2);
  CHECK(DefaultTolerance(graph, graph.outputs()[3]).integer_steps == 1);
  CHECK(DefaultTolerance(graph, graph.outputs()[4]).integer_steps == 1);
  CHECK(DefaultTolerance(graph, graph.outputs()[5]).absolute == Catch::Approx(0.125).epsilon(1e-4));
}

// Three elements of 4 bits lie in a byte and a half.
TEST_CASE("Verify, LooksAtNothingBehindThePackedElements", "[engine]") {
  const auto packed = [](const char* bytes) {
    return Tensor::FromBytes(DataType::kFloat4E2M1, {3}, std::string(bytes, 2)).value();
  };
  ExpectedTensor expected;
  expected.tensor = packed("\x21\x03");
  CHECK(CompareTensors(expected, packed("\x21\xf3"), {}).equal);
  CHECK_FALSE(CompareTensors(expected, packed("\x21\x04"), {}).equal);
  CHECK_FALSE(CompareTensors(expected, packed("\x11\x03"), {}).equal);
}

}  // namespace
}  // namespace pt
