#include "partitiontuner/graph/operators/windows.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/operators/attention.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/named_types.h"
#include "partitiontuner/graph/operators/recurrence.h"
#include "partitiontuner/graph/operators/sampling.h"
#include "partitiontuner/graph/operators/selections.h"
#include "partitiontuner/graph/operators/views.h"
#include "test/graph/operators/made_node.h"

namespace pt::windows_test {
namespace {

using Ints = std::vector<int64_t>;
using testing::Made;

Attribute Word(const char* word) { return std::string(word); }

TEST_CASE("ReadWindowNode, WithoutAttributesItIsDenseAndUnpadded", "[graph]") {
  WindowNode expected;
  expected.strides = expected.dilations = {1, 1};
  expected.pads = {0, 0, 0, 0};
  expected.output_padding = {0, 0};
  CHECK(*ReadWindowNode(Made("Conv"), 2) == expected);
  CHECK_FALSE(ReadKernelShape(Made("Conv")).has_value());
  CHECK(ReadConvolutionGroups(Made("Conv")) == 1);
}

TEST_CASE("ReadWindowNode, TakesEachAttributeToItsOwnField", "[graph]") {
  const Node node = Made("ConvTranspose", {{"strides", Ints{2, 3}},
                                           {"dilations", Ints{4, 5}},
                                           {"pads", Ints{1, 2, 3, 4}},
                                           {"ceil_mode", int64_t{1}},
                                           {"output_padding", Ints{1, 0}},
                                           {"output_shape", Ints{9, 9}},
                                           {"kernel_shape", Ints{7, 8}},
                                           {"group", int64_t{6}}});
  const WindowNode window = *ReadWindowNode(node, 2);
  CHECK(window == WindowNode{{2, 3}, {4, 5}, {1, 2, 3, 4}, AutoPad::kNotSet, true, {1, 0}, {9, 9}});
  CHECK(ReadKernelShape(node) == Ints{7, 8});
  CHECK(ReadConvolutionGroups(node) == 6);
}

TEST_CASE("ReadWindowNode, KnowsFourPaddingsAndTheEmptyWord", "[graph]") {
  const auto padding = [](const char* word) { return ReadWindowNode(Made("Conv", {{"auto_pad", Word(word)}}), 1); };
  CHECK(padding("")->auto_pad == AutoPad::kNotSet);
  CHECK(padding("NOTSET")->auto_pad == AutoPad::kNotSet);
  CHECK(padding("VALID")->auto_pad == AutoPad::kValid);
  CHECK(padding("SAME_UPPER")->Before(5) == 2);
  CHECK(padding("SAME_LOWER")->Before(5) == 3);
  CHECK(padding("SAME_LOWER")->is_same());
  CHECK_FALSE(padding("SAME").ok());
}

TEST_CASE("ReadWindowNode, RefusesAttributesOfOtherRanks", "[graph]") {
  for (const char* name : {"strides", "dilations", "pads", "output_padding"}) {
    INFO(name);
    CHECK_FALSE(ReadWindowNode(Made("Conv", {{name, Ints{1, 1, 1}}}), 2).ok());
  }
}

TEST_CASE("ReadPoolingNode, DefaultsAndEachAttribute", "[graph]") {
  CHECK(ReadPoolingNode(Made("AveragePool")) == PoolingNode{false, false, 2});
  CHECK(ReadPoolingNode(Made("AveragePool", {{"count_include_pad", int64_t{1}}})) == PoolingNode{true, false, 2});
  CHECK(ReadPoolingNode(Made("MaxPool", {{"storage_order", int64_t{1}}})) == PoolingNode{false, true, 2});
  CHECK(ReadPoolingNode(Made("LpPool", {{"p", int64_t{3}}})) == PoolingNode{false, false, 3});
}

TEST_CASE("ReadPadMode, IsConstantUnlessTheNodeNamesAnother", "[graph]") {
  CHECK(*ReadPadMode(Made("Pad")) == PadMode::kConstant);
  CHECK(*ReadPadMode(Made("Pad", {{"mode", Word("reflect")}})) == PadMode::kReflect);
  CHECK(*ReadPadMode(Made("Pad", {{"mode", Word("edge")}})) == PadMode::kEdge);
  CHECK(*ReadPadMode(Made("Pad", {{"mode", Word("wrap")}})) == PadMode::kWrap);
  CHECK_FALSE(ReadPadMode(Made("Pad", {{"mode", Word("mirror")}})).ok());
  CHECK(ReadPadValue(Made("Pad")) == 0);
  CHECK(ReadPadValue(Made("Pad", {{"value", 2.0F}})) == 2);
}

TEST_CASE("ReadScatterReduction, ReplacesUnlessTheNodeNamesAnother", "[graph]") {
  CHECK(*ReadScatterReduction(Made("ScatterND")) == ScatterReduction::kNone);
  CHECK(*ReadScatterReduction(Made("ScatterND", {{"reduction", Word("add")}})) == ScatterReduction::kAdd);
  CHECK(*ReadScatterReduction(Made("ScatterND", {{"reduction", Word("mul")}})) == ScatterReduction::kMul);
  CHECK(*ReadScatterReduction(Made("ScatterND", {{"reduction", Word("max")}})) == ScatterReduction::kMax);
  CHECK(*ReadScatterReduction(Made("ScatterND", {{"reduction", Word("min")}})) == ScatterReduction::kMin);
  CHECK_FALSE(ReadScatterReduction(Made("ScatterND", {{"reduction", Word("mean")}})).ok());
}

TEST_CASE("Movements, SingleNumbersHaveTheirDefaults", "[graph]") {
  CHECK(ReadBatchDims(Made("GatherND")) == 0);
  CHECK(ReadBatchDims(Made("GatherND", {{"batch_dims", int64_t{2}}})) == 2);
  CHECK(KeepsUpperTriangle(Made("Trilu")));
  CHECK_FALSE(KeepsUpperTriangle(Made("Trilu", {{"upper", int64_t{0}}})));
  CHECK(ReadBlockSize(Made("QuantizeLinear")) == 0);
  CHECK(ReadBlockSize(Made("QuantizeLinear", {{"block_size", int64_t{32}}})) == 32);
}

TEST_CASE("ReadGridSample, KnowsTheNamesOfBothOperatorSets", "[graph]") {
  CHECK(*ReadGridSample(Made("GridSample")) == GridSampleNode{});
  for (const char* word : {"linear", "bilinear"})
    CHECK(ReadGridSample(Made("GridSample", {{"mode", Word(word)}}))->mode == SampleMode::kLinear);
  for (const char* word : {"cubic", "bicubic"})
    CHECK(ReadGridSample(Made("GridSample", {{"mode", Word(word)}}))->mode == SampleMode::kCubic);
  const Node node = Made(
      "GridSample", {{"mode", Word("nearest")}, {"padding_mode", Word("reflection")}, {"align_corners", int64_t{1}}});
  CHECK(*ReadGridSample(node) == GridSampleNode{SampleMode::kNearest, SamplePadding::kReflection, true});
  CHECK_FALSE(ReadGridSample(Made("GridSample", {{"mode", Word("box")}})).ok());
  CHECK_FALSE(ReadGridSample(Made("GridSample", {{"padding_mode", Word("wrap")}})).ok());
}

TEST_CASE("ReadRoiAlign, HalfPixelsCameWithOperatorSet16", "[graph]") {
  CHECK(*ReadRoiAlign(Made("RoiAlign"), 16) == RoiAlignNode{1, 1, 0, 1, true, true});
  CHECK_FALSE(ReadRoiAlign(Made("RoiAlign"), 15)->half_pixel);
  const Node node = Made("RoiAlign", {{"output_height", int64_t{2}},
                                      {"output_width", int64_t{3}},
                                      {"sampling_ratio", int64_t{4}},
                                      {"spatial_scale", 0.5F},
                                      {"mode", Word("max")},
                                      {"coordinate_transformation_mode", Word("output_half_pixel")}});
  CHECK(*ReadRoiAlign(node, 22) == RoiAlignNode{2, 3, 4, 0.5F, false, false});
  CHECK_FALSE(ReadRoiAlign(Made("RoiAlign", {{"mode", Word("min")}}), 22).ok());
  CHECK_FALSE(ReadRoiAlign(Made("RoiAlign", {{"output_width", int64_t{0}}}), 22).ok());
  CHECK_FALSE(ReadRoiAlign(Made("RoiAlign", {{"sampling_ratio", int64_t{4097}}}), 22).ok());
}

TEST_CASE("ReadAttentionNode, DefaultsAndEachAttribute", "[graph]") {
  CHECK(ReadAttentionNode(Made("Attention")) == AttentionNode{});
  CHECK(ReadAttentionNode(Made("Attention")).ScaleOf(16) == 0.25);
  const Node node = Made("Attention", {{"q_num_heads", int64_t{8}},
                                       {"kv_num_heads", int64_t{2}},
                                       {"scale", 0.0F},
                                       {"softcap", 3.0F},
                                       {"is_causal", int64_t{1}},
                                       {"left_window_size", int64_t{4}},
                                       {"right_window_size", int64_t{5}},
                                       {"qk_matmul_output_mode", int64_t{2}},
                                       {"softmax_precision", int64_t{11}}});
  CHECK(ReadAttentionNode(node) == AttentionNode{8, 2, 0.0F, 3, true, 4, 5, 2, DataType::kFloat64});
  CHECK(ReadAttentionNode(node).ScaleOf(16) == 0);
}

TEST_CASE("ReadRecurrence, DefaultsAndEachAttribute", "[graph]") {
  CHECK(*ReadRecurrence(Made("LSTM")) == RecurrenceNode{});
  const Node node = Made("GRU", {{"direction", Word("bidirectional")},
                                 {"layout", int64_t{1}},
                                 {"linear_before_reset", int64_t{1}},
                                 {"input_forget", int64_t{1}},
                                 {"clip", 2.0F},
                                 {"hidden_size", int64_t{7}},
                                 {"activations", std::vector<std::string>{"Elu", "tanh"}},
                                 {"activation_alpha", std::vector<float>{0.5F}},
                                 {"activation_beta", std::vector<float>{3, 4}}});
  CHECK(*ReadRecurrence(node) ==
        RecurrenceNode{RecurrenceDirection::kBidirectional, true, true, true, 2, 7, {"Elu", "tanh"}, {0.5F}, {3, 4}});
  CHECK(ReadRecurrence(node)->directions() == 2);
  const Node reverse = Made("RNN", {{"direction", Word("reverse")}});
  CHECK(ReadRecurrence(reverse)->direction == RecurrenceDirection::kReverse);
  CHECK_FALSE(ReadRecurrence(Made("RNN", {{"direction", Word("backward")}})).ok());
  CHECK_FALSE(ReadRecurrence(Made("RNN", {{"activations", Word("Tanh")}})).ok());
  CHECK_FALSE(ReadRecurrence(Made("RNN", {{"activation_alpha", Ints{1}}})).ok());
}

TEST_CASE("ActivationsOf, NamesInAnyCaseWithParametersInTheirOrder", "[graph]") {
  using F = RecurrentFunction;
  using Activations = std::vector<RecurrentActivation>;
  RecurrenceNode node;
  CHECK(*ActivationsOf(node, RecurrentCell::kLstm) == Activations{{F::kSigmoid}, {F::kTanh}, {F::kTanh}});
  CHECK(*ActivationsOf(node, RecurrentCell::kGru) == Activations{{F::kSigmoid}, {F::kTanh}});
  node.direction = RecurrenceDirection::kBidirectional;
  CHECK(*ActivationsOf(node, RecurrentCell::kRnn) == Activations{{F::kTanh}, {F::kTanh}});
  // Parameters are those of the functions that take any; what is not named is usual.
  node.activations = {"hardsigmoid", "RELU", "Elu", "LeakyRelu", "SoftPlus", "Affine"};
  node.alphas = {0.25F, 2};
  node.betas = {0.75F};
  CHECK(*ActivationsOf(node, RecurrentCell::kLstm) == Activations{{F::kHardSigmoid, 0.25F, 0.75F},
                                                                  {F::kRelu},
                                                                  {F::kElu, 2},
                                                                  {F::kLeakyRelu, 0.01F},
                                                                  {F::kSoftplus},
                                                                  {F::kAffine, 1, 0}});
  node.activations = {"HardSigmoid", "ThresholdedRelu", "ScaledTanh"};
  node.alphas = node.betas = {};
  CHECK(*ActivationsOf(node, RecurrentCell::kLstm) == Activations{{F::kHardSigmoid, 0.2F, 0.5F},
                                                                  {F::kThresholdedRelu, 1},
                                                                  {F::kScaledTanh, 1, 1},
                                                                  {F::kSigmoid},
                                                                  {F::kTanh},
                                                                  {F::kTanh}});
  node.activations = {"Softsign"};
  CHECK(ActivationsOf(node, RecurrentCell::kLstm).error().code == ErrorCode::kInvalidInput);
  node.activations = {"Tanh", "Tanh", "Tanh"};
  CHECK(ActivationsOf(node, RecurrentCell::kRnn).error().code == ErrorCode::kInvalidInput);
  node.activations = {"Tanh", "Gelu"};
  CHECK(ActivationsOf(node, RecurrentCell::kRnn).error().code == ErrorCode::kUnsupported);
}

TEST_CASE("ReadNamedType, IsTheNumberOrTheDefaultAndNeverAnotherOne", "[graph]") {
  const auto cast = [](int64_t to) { return Made("Cast", {{"to", to}}); };
  CHECK(ReadNamedType(cast(7), "to").value() == DataType::kInt64);
  CHECK(ReadNamedType(cast(26), "to", DataType::kFloat32).value() == DataType::kInt2);
  CHECK(ReadNamedType(Made("EyeLike"), "dtype", DataType::kBool).value() == DataType::kBool);
  CHECK(ReadNamedType(cast(0), "to", DataType::kUint8).value() == DataType::kUint8);  // as output_dtype has it
  for (const Node& wrong : {Made("Cast"), cast(0), cast(-1), cast(27)}) {
    const Result<DataType> read = ReadNamedType(wrong, "to");
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::kInvalidInput);
  }
  CHECK_FALSE(ReadNamedType(cast(27), "to", DataType::kFloat32).ok());
}

TEST_CASE("ReadShapeRange, CutsOffWhatLiesOutside", "[graph]") {
  CHECK(ReadShapeRange(Made("Shape"), 4) == DimRange{0, 4});
  CHECK(ReadShapeRange(Made("Shape", {{"start", int64_t{1}}, {"end", int64_t{-1}}}), 4) == DimRange{1, 3});
  CHECK(ReadShapeRange(Made("Shape", {{"start", int64_t{-9}}, {"end", int64_t{9}}}), 4) == DimRange{0, 4});
  CHECK(ReadShapeRange(Made("Shape", {{"start", int64_t{3}}, {"end", int64_t{1}}}), 4) == DimRange{3, 3});
  CHECK(ReadShapeRange(Made("Shape"), 0) == DimRange{0, 0});
}

TEST_CASE("Selections, SingleNumbersHaveTheirDefaults", "[graph]") {
  CHECK(SortsDistinctElements(Made("Unique")));
  CHECK_FALSE(SortsDistinctElements(Made("Unique", {{"sorted", int64_t{0}}})));
  CHECK_FALSE(HasCentredBoxes(Made("NonMaxSuppression")));
  CHECK(HasCentredBoxes(Made("NonMaxSuppression", {{"center_point_box", int64_t{1}}})));
}

TEST_CASE("ReadRotaryEmbedding, TurnsWholeHeadsUnlessTheNodeSaysHowMuch", "[graph]") {
  CHECK(ReadRotaryEmbedding(Made("RotaryEmbedding")).TurnedOf(64) == 64);
  const Node node =
      Made("RotaryEmbedding",
           {{"num_heads", int64_t{4}}, {"rotary_embedding_dim", int64_t{32}}, {"interleaved", int64_t{1}}});
  CHECK(ReadRotaryEmbedding(node) == RotaryEmbeddingNode{4, 32, true});
  CHECK(ReadRotaryEmbedding(node).TurnedOf(64) == 32);
}

}  // namespace
}  // namespace pt::windows_test
