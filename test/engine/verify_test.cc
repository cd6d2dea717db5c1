#include "partitiontuner/engine/verify.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "partitiontuner/graph/graph_text.h"

namespace pt::verify_test {
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

TEST_CASE("Verify, SaysHowManyTimesTheToleranceADifferenceIs", "[engine]") {
  CHECK(Compare({1000, 0}, {1000, 0.05f}, kMaximum).of_tolerance == Catch::Approx(0.5));
  CHECK(Compare({1000, 0}, {1000, 0.11f}, kMaximum).of_tolerance == Catch::Approx(1.1));
  CHECK(Compare({10, 1}, {10, 1.003f}, OperatorTestTolerance()).of_tolerance == Catch::Approx(3).epsilon(1e-3));
  CHECK(Compare({1, 2}, {1, 2}, Tolerance{}).of_tolerance == 0);
  CHECK(Compare({1, 2}, {1, 3}, Tolerance{}).of_tolerance == HUGE_VAL);
  CHECK(Compare({1, kNan}, {1, 3}, kMaximum).of_tolerance == HUGE_VAL);
  CHECK(Compare({-8, 4}, {-8, 4}, kMaximum).largest == 8);
  Tolerance steps;
  steps.integer_steps = 2;
  const auto int64s = [](std::vector<int64_t> values) { return Tensor::Int64({2}, values); };
  CHECK(CompareTensors(Expect(int64s({1, 2})), int64s({1, 5}), steps).of_tolerance == 1.5);
  CHECK(CompareTensors(Expect(int64s({1, 2})), int64s({1, 3}), Tolerance{}).of_tolerance == HUGE_VAL);
}

TEST_CASE("Verify, TellsDifferencesInNanFromAllOthers", "[engine]") {
  const Comparison alone = Compare({1, kNan, 3, kNan}, {1, 0, kNan, kNan}, kMaximum);
  CHECK_FALSE(alone.equal);
  CHECK(alone.nan_differences == 2);
  CHECK(alone.other_differences == 0);
  CHECK(DiffersInNanAlone(alone));
  const Comparison both = Compare({1, kNan, 3}, {2, 0, 3}, kMaximum);
  CHECK(both.nan_differences == 1);
  CHECK(both.other_differences == 1);
  CHECK_FALSE(DiffersInNanAlone(both));
  CHECK_FALSE(DiffersInNanAlone(Compare({1, kInfinity}, {1, 2}, kMaximum)));
  CHECK_FALSE(DiffersInNanAlone(Compare({1, kNan}, {1, kNan}, kMaximum)));
  // NaN in the place of an infinity is a difference in NaN.
  CHECK(DiffersInNanAlone(Compare({1, kInfinity}, {1, kNan}, kMaximum)));
  // What differs as a whole is no difference in NaN, nor beside one in a sequence.
  CHECK_FALSE(
      DiffersInNanAlone(CompareTensors(Expect(Tensor::Float32({1}, {kNan})), Tensor::Float32({2}, {0, 0}), {})));
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
}  // namespace pt::verify_test
