// Nodes of com.microsoft that make no sense: the loader must say so, whatever they are made of.
#include <catch2/catch_get_random_seed.hpp>
#include <iterator>
#include <random>

#include "test/onnx/contrib_lab.h"

namespace pt::testing::contrib_random_test {
namespace {

struct Operator {
  std::string op;
  size_t inputs;  // at most
  // Name and kind: i and f are numbers, I and F several, s text.
  std::vector<std::pair<std::string, char>> attributes = {};
};

const std::vector<Operator> kOperators = {
    {"Affine", 1, {{"alpha", 'f'}, {"beta", 'f'}}},
    {"Attention",
     7,
     {{"num_heads", 'i'},
      {"qkv_hidden_sizes", 'I'},
      {"scale", 'f'},
      {"unidirectional", 'i'},
      {"mask_filter_value", 'f'}}},
    {"BiasGelu", 2},
    {"CDist", 2, {{"metric", 's'}}},
    {"Crop", 1, {{"border", 'I'}, {"scale", 'I'}}},
    {"CropAndResize", 4, {{"extrapolation_value", 'f'}, {"mode", 's'}}},
    {"DequantizeLinear", 3, {{"axis", 'i'}, {"block_size", 'i'}}},
    {"DynamicQuantizeMatMul", 5},
    {"DynamicQuantizeLSTM", 12, {{"clip", 'f'}, {"direction", 's'}, {"hidden_size", 'i'}}},
    {"DynamicSlice", 4},
    {"EmbedLayerNormalization", 9, {{"epsilon", 'f'}, {"mask_index_type", 'i'}}},
    {"ExpandDims", 2},
    {"FastGelu", 2},
    {"FusedConv",
     4,
     {{"activation", 's'}, {"activation_params", 'F'}, {"auto_pad", 's'}, {"group", 'i'}, {"pads", 'I'}}},
    {"FusedGemm", 3, {{"activation", 's'}, {"activation_alpha", 'f'}, {"alpha", 'f'}, {"transA", 'i'}}},
    {"FusedMatMul", 2, {{"alpha", 'f'}, {"transA", 'i'}, {"transB", 'i'}, {"transBatchA", 'i'}, {"transBatchB", 'i'}}},
    {"Gelu", 1},
    {"GatherND", 2},
    {"GridSample", 2, {{"align_corners", 'i'}, {"mode", 's'}, {"padding_mode", 's'}}},
    {"GatherBlockQuantized", 4, {{"bits", 'i'}, {"block_size", 'i'}, {"gather_axis", 'i'}, {"quantize_axis", 'i'}}},
    {"GroupQueryAttention",
     17,
     {{"causal", 'i'},
      {"do_rotary", 'i'},
      {"kv_num_heads", 'i'},
      {"local_window_size", 'i'},
      {"num_heads", 'i'},
      {"rotary_interleaved", 'i'},
      {"scale", 'f'},
      {"smooth_softmax", 'i'},
      {"softcap", 'f'}}},
    {"ImageScaler", 1, {{"bias", 'F'}, {"scale", 'f'}}},
    {"Inverse", 1},
    {"LayerNormalization", 3, {{"axis", 'i'}, {"epsilon", 'f'}, {"stash_type", 'i'}}},
    {"MatMulBnb4", 3, {{"K", 'i'}, {"N", 'i'}, {"block_size", 'i'}, {"quant_type", 'i'}}},
    {"MatMulIntegerToFloat", 7},
    {"MatMulNBits", 6, {{"K", 'i'}, {"N", 'i'}, {"bits", 'i'}, {"block_size", 'i'}}},
    {"MoE", 8, {{"activation_type", 's'}, {"k", 'i'}, {"swiglu_fusion", 'i'}, {"use_sparse_mixer", 'i'}}},
    {"MultiHeadAttention", 8, {{"num_heads", 'i'}, {"unidirectional", 'i'}, {"scale", 'f'}}},
    {"NhwcMaxPool", 1, {{"ceil_mode", 'i'}, {"kernel_shape", 'I'}, {"pads", 'I'}, {"strides", 'I'}}},
    {"Pad", 3, {{"mode", 's'}}},
    {"ParametricSoftplus", 1, {{"alpha", 'f'}, {"beta", 'f'}}},
    {"QAttention", 9, {{"num_heads", 'i'}, {"unidirectional", 'i'}, {"scale", 'f'}}},
    {"QGemm", 9, {{"alpha", 'f'}, {"transA", 'i'}, {"transB", 'i'}}},
    {"QLinearAdd", 8},
    {"QLinearAveragePool", 5, {{"kernel_shape", 'I'}, {"pads", 'I'}, {"ceil_mode", 'i'}, {"channels_last", 'i'}}},
    {"QLinearConcat", 8, {{"axis", 'i'}}},
    {"QLinearConv", 9, {{"channels_last", 'i'}, {"group", 'i'}, {"pads", 'I'}, {"strides", 'I'}}},
    {"QLinearGlobalAveragePool", 5, {{"channels_last", 'i'}}},
    {"QLinearLeakyRelu", 5, {{"alpha", 'f'}}},
    {"QLinearMul", 8},
    {"QLinearSigmoid", 5},
    {"QLinearSoftmax", 5, {{"axis", 'i'}, {"opset", 'i'}}},
    {"QLinearWhere", 9},
    {"QMoE", 21, {{"block_size", 'i'}, {"expert_weight_bits", 'i'}, {"fc2_expert_weight_bits", 'i'}, {"k", 'i'}}},
    {"QuantizeLinear", 3, {{"axis", 'i'}}},
    {"QuickGelu", 1, {{"alpha", 'f'}}},
    {"Range", 3},
    {"RotaryEmbedding", 4, {{"interleaved", 'i'}, {"num_heads", 'i'}, {"rotary_embedding_dim", 'i'}}},
    {"Scale", 1, {{"scale", 'f'}}},
    {"ScaledTanh", 1, {{"alpha", 'f'}, {"beta", 'f'}}},
    {"SimplifiedLayerNormalization", 2, {{"axis", 'i'}, {"epsilon", 'f'}}},
    {"SkipLayerNormalization", 5, {{"epsilon", 'f'}}},
    {"SkipSimplifiedLayerNormalization", 4, {{"epsilon", 'f'}}},
    {"TransposeMatMul", 2, {{"alpha", 'f'}, {"transA", 'i'}, {"transB", 'i'}}},
    {"Trilu", 2, {{"upper", 'i'}}},
    {"Unique", 1},
};

// Any inputs and attributes, and as many outputs: loaded or refused, with the node named where the reason lies in it.
TEST_CASE("Contrib, RandomNodesAreLoadedOrRefused", "[onnx]") {
  const uint32_t seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const auto number = [&]() -> int64_t {
    const int64_t numbers[] = {-1, 0, 1, 2, 3, 4, 8, 13, 16, 32, INT64_MIN, INT64_MAX};
    return numbers[below(std::size(numbers))];
  };
  const auto operand = [&]() -> GivenInput {
    if (below(12) == 0) return {};
    std::vector<int64_t> dims;
    for (size_t d = below(5); d > 0; --d) dims.push_back(below(4) == 0 ? static_cast<int64_t>(below(4)) : 2);
    const DataType types[] = {DataType::kFloat32, DataType::kInt8, DataType::kUint8, DataType::kInt32,
                              DataType::kInt64};
    const DataType type = types[below(std::size(types))];
    const auto bytes = static_cast<size_t>(TensorByteCount(type, dims).value());
    return {Tensor::FromBytes(type, dims, std::string(bytes, '\1')).value(), below(2) == 0, below(8) != 0};
  };
  size_t loaded = 0;
  for (const auto& [op, inputs, attributes] : kOperators) {
    for (int i = 0; i < 200; ++i) {
      Single single = {op, {}, {}, {}, "com.microsoft", 17};
      for (size_t n = inputs + 1 - below(3); n > 0; --n) single.inputs.push_back(operand());
      for (size_t n = below(4) == 0 ? 3 : 1; n > 0; --n) single.outputs.push_back("y" + std::to_string(n));
      for (const auto& [name, type] : attributes) {
        if (below(3) == 0) continue;
        if (type == 'i') single.attributes.push_back(IntAttribute(name, number()));
        if (type == 'f') single.attributes.push_back(FloatAttribute(name, static_cast<float>(number())));
        if (type == 's') single.attributes.push_back(StringAttribute(name, below(2) == 0 ? "Relu" : "VALID"));
        if (type == 'I') single.attributes.push_back(IntsAttribute(name, {number(), number(), number()}));
        if (type == 'F') single.attributes.push_back(FloatsAttribute(name, {1, 2}));
      }
      const std::string fault = FaultOf(single);
      INFO(fault);
      CHECK_FALSE(Mentions(fault, "onnx.internal"));
      if (Mentions(fault, "onnx.contrib")) CHECK(Mentions(fault, "[com.microsoft." + op + " y"));
      loaded += fault.empty() ? 1 : 0;
    }
  }
  CHECK(loaded > 300);  // of 6,000
}

}  // namespace
}  // namespace pt::testing::contrib_random_test
