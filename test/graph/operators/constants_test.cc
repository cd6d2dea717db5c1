#include "partitiontuner/graph/operators/constants.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/operators/attention.h"
#include "partitiontuner/graph/operators/attribute_lists.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/elementwise.h"
#include "partitiontuner/graph/operators/images.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/random.h"
#include "partitiontuner/graph/operators/signals.h"
#include "partitiontuner/graph/operators/training.h"
#include "partitiontuner/graph/operators/windows.h"
#include "test/graph/operators/made_node.h"

namespace pt::constants_test {
namespace {

using testing::Attributes;
using testing::Made;

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

TEST_CASE("ReadConstant, TakesNumbersFromWhicheverAttributeHoldsThem", "[graph]") {
  CHECK(ReadConstant(Made("Constant", {{"value", Tensor::Int64({2}, {3, 4})}}))->ToInts() == Ints{3, 4});
  CHECK(ReadConstant(Made("Constant", {{"value_int", int64_t{5}}}))->dims().empty());
  CHECK(ReadConstant(Made("Constant", {{"value_float", 0.5F}}))->values<float>()[0] == 0.5F);
  CHECK(ReadConstant(Made("Constant", {{"value_ints", Ints{1, 2, 3}}}))->dims() == Ints{3});
  CHECK(ReadConstant(Made("Constant", {{"value_floats", Floats{1, 2}}}))->type() == DataType::kFloat32);
  CHECK_FALSE(ReadConstant(Made("Constant", {{"value_string", std::string("a")}})));
}

TEST_CASE("ReadFillValue, IsOneElementAndZeroUnlessGiven", "[graph]") {
  CHECK(ReadFillValue(Made("ConstantOfShape"))->values<float>()[0] == 0);
  CHECK(ReadFillValue(Made("ConstantOfShape", {{"value", Tensor::Int64({1}, {7})}}))->ToInts() == Ints{7});
  CHECK_FALSE(ReadFillValue(Made("ConstantOfShape", {{"value", Tensor::Int64({2}, {7, 8})}})).ok());
}

TEST_CASE("ReadInts, TakesAListOrOneNumber", "[graph]") {
  CHECK_FALSE(ReadInts(Made("Squeeze"), "axes")->has_value());
  CHECK(**ReadInts(Made("Squeeze", {{"axes", Ints{1, 2}}}), "axes") == Ints{1, 2});
  CHECK(**ReadInts(Made("Squeeze", {{"axes", int64_t{1}}}), "axes") == Ints{1});
  CHECK_FALSE(ReadInts(Made("Squeeze", {{"axes", 1.0F}}), "axes").ok());
}

TEST_CASE("ReadAxes, DefaultsDifferByOperatorAndNegativeOnesCountFromTheBack", "[graph]") {
  using Axes = std::vector<size_t>;
  CHECK(*ReadAxes(Made("CenterCropPad"), 3) == Axes{0, 1, 2});
  CHECK(*ReadAxes(Made("MeanVarianceNormalization"), 4) == Axes{0, 2, 3});
  CHECK(*ReadAxes(Made("CenterCropPad", {{"axes", Ints{-1, 0}}}), 3) == Axes{2, 0});
  CHECK(ReadAxes(Made("CenterCropPad", {{"axes", Ints{}}}), 3)->empty());
  CHECK_FALSE(ReadAxes(Made("MeanVarianceNormalization"), 3).ok());
  CHECK_FALSE(ReadAxes(Made("CenterCropPad", {{"axes", Ints{3}}}), 3).ok());
}

TEST_CASE("ReadSeed, KeepsTheLow32Bits", "[graph]") {
  CHECK_FALSE(ReadSeed(Made("RandomNormal"))->has_value());
  CHECK(*ReadSeed(Made("RandomNormal", {{"seed", 3.9F}})) == 3U);
  CHECK(*ReadSeed(Made("RandomNormal", {{"seed", (int64_t{1} << 32) + 5}})) == 5U);
  CHECK(*ReadSeed(Made("RandomNormal", {{"seed", -1.0F}})) == 0xFFFFFFFFU);
  CHECK_FALSE(ReadSeed(Made("RandomNormal", {{"seed", 0x1p63F}})).ok());
  CHECK_FALSE(ReadSeed(Made("RandomNormal", {{"seed", std::string("a")}})).ok());
}

TEST_CASE("Random, DefaultsAndEachAttribute", "[graph]") {
  CHECK(ReadUniformRange(Made("RandomUniform")).high == 1);
  CHECK(ReadUniformRange(Made("RandomUniform", {{"low", -2.0F}})).low == -2);
  CHECK(ReadNormalMoments(Made("RandomNormal")).deviation == 1);
  CHECK(ReadNormalMoments(Made("RandomNormal", {{"mean", 3.0F}, {"scale", 0.5F}})).mean == 3);
  CHECK(*ReadSampleCount(Made("Multinomial")) == 1);
  CHECK_FALSE(ReadSampleCount(Made("Multinomial", {{"sample_size", int64_t{0}}})).ok());
}

TEST_CASE("Signals, DefaultsAndEachAttribute", "[graph]") {
  CHECK(ReadDft(Made("DFT")) == DftNode{});
  const Node all = Made("DFT", {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}, {"axis", int64_t{-2}}});
  CHECK(ReadDft(all) == DftNode{true, true, -2});
  CHECK(IsOnesidedStft(Made("STFT")));
  CHECK_FALSE(IsOnesidedStft(Made("STFT", {{"onesided", int64_t{0}}})));
  CHECK(IsPeriodic(Made("HannWindow")));
  CHECK_FALSE(IsPeriodic(Made("HannWindow", {{"periodic", int64_t{0}}})));
}

TEST_CASE("Movements, RefuseWordsAndAxesThatDoNotExist", "[graph]") {
  CHECK(ReadSlice(Made("Slice", {{"starts", Ints{1}}, {"ends", Ints{2}}}))->axes.empty());
  CHECK_FALSE(ReadSlice(Made("Slice", {{"starts", Ints{1}}, {"ends", Ints{2, 3}}})).ok());
  CHECK_FALSE(ReadSlice(Made("Slice", {{"starts", Ints{1}}, {"ends", Ints{2}}, {"axes", Ints{0, 1}}})).ok());
  CHECK_FALSE(ReadPartCount(Made("Split")));
  CHECK(ReadPartCount(Made("Split", {{"num_outputs", int64_t{3}}})) == 3);
  CHECK(ReadReverseSequence(Made("ReverseSequence"))->batch_axis == 1);
  const auto reversed = [](int64_t batch, int64_t time) {
    return ReadReverseSequence(Made("ReverseSequence", {{"batch_axis", batch}, {"time_axis", time}}));
  };
  CHECK(reversed(0, 1)->time_axis == 1);
  CHECK_FALSE(reversed(0, 0).ok());
  CHECK_FALSE(reversed(1, 2).ok());
  CHECK_FALSE(reversed(-1, 0).ok());
  CHECK_FALSE(*IsCircular(Made("TensorScatter")));
  CHECK_FALSE(IsCircular(Made("TensorScatter", {{"mode", std::string("ring")}})).ok());
}

TEST_CASE("ReadLinearAttention, SaysWhatTheRuleDoes", "[graph]") {
  const auto read = [](const char* rule, int64_t q_heads, int64_t kv_heads) {
    return ReadLinearAttention(Made(
        "LinearAttention", {{"update_rule", std::string(rule)}, {"q_num_heads", q_heads}, {"kv_num_heads", kv_heads}}));
  };
  CHECK_FALSE(read("linear", 2, 1)->is_gated);
  CHECK(read("gated", 2, 1)->is_gated);
  CHECK_FALSE(read("gated", 2, 1)->corrects);
  CHECK(read("gated_delta", 2, 1)->corrects);
  CHECK(read("delta", 4, 2)->ScaleOf(16) == 0.25);
  CHECK_FALSE(read("square", 2, 1).ok());
  CHECK_FALSE(read("linear", 3, 2).ok());
  CHECK_FALSE(read("linear", 0, 1).ok());
}

TEST_CASE("Training, DefaultsAndWhatMustBeGiven", "[graph]") {
  CHECK(ReadAdagrad(Made("Adagrad")).epsilon == 1e-6F);
  CHECK(ReadAdam(Made("Adam")).beta == 0.999F);
  Attributes momentum = {
      {"alpha", 0.5F}, {"beta", 0.25F}, {"norm_coefficient", 1.0F}, {"mode", std::string("nesterov")}};
  CHECK(ReadMomentum(Made("Momentum", momentum))->nesterov);
  for (const char* name : {"alpha", "beta", "norm_coefficient", "mode"}) {
    Attributes without = momentum;
    without.erase(name);
    INFO(name);
    CHECK_FALSE(ReadMomentum(Made("Momentum", without)).ok());
  }
  CHECK(ReadLoss(Made("NegativeLogLikelihoodLoss"))->reduction == LossReduction::kMean);
  CHECK_FALSE(ReadLoss(Made("NegativeLogLikelihoodLoss"))->ignored);
  CHECK(ReadLoss(Made("NegativeLogLikelihoodLoss", {{"ignore_index", int64_t{0}}}))->ignored == 0);
  CHECK_FALSE(ReadLoss(Made("NegativeLogLikelihoodLoss", {{"reduction", std::string("max")}})).ok());
}

TEST_CASE("Words, OfImagesShiftsAndActivations", "[graph]") {
  CHECK(*ReadPixelFormat(Made("ImageDecoder")) == PixelFormat::kRgb);
  CHECK(*ReadPixelFormat(Made("ImageDecoder", {{"pixel_format", std::string("BGR")}})) == PixelFormat::kBgr);
  CHECK_FALSE(ReadPixelFormat(Made("ImageDecoder", {{"pixel_format", std::string("YUV")}})).ok());
  CHECK(*ShiftsLeft(Made("BitShift", {{"direction", std::string("LEFT")}})));
  CHECK_FALSE(ShiftsLeft(Made("BitShift")).ok());
  CHECK_FALSE(*HasSilu(Made("CausalConvWithState")));
  CHECK(*HasSilu(Made("CausalConvWithState", {{"activation", std::string("swish")}})));
  CHECK_FALSE(HasSilu(Made("CausalConvWithState", {{"activation", std::string("relu")}})).ok());
  CHECK(ReadIsInf(Made("IsInf")).negative);
  CHECK_FALSE(ReadIsInf(Made("IsInf", {{"detect_positive", int64_t{0}}})).positive);
}

}  // namespace
}  // namespace pt::constants_test
