// MoE, and QMoE of a few bits an element: each token's router chooses some experts, whose results count by its weights.
// As products of all tokens with all experts; what a token has not chosen counts nothing.
#include <limits>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/packed_parts.h"
#include "partitiontuner/support/checked.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

// Of both operators; the others' places are their own.
constexpr int kTokens = 0, kRouter = 1, kUp = 2;

// What CheckNode looks at beside the attributes.
struct Places {
  int down;
  std::initializer_list<int> third;  // the third matrices and what belongs to them
};

Status CheckNode(const Rewrite& r, const Places& at) {
  if (r.Int("use_sparse_mixer", 0) != 0) return Rewrite::Unsupported("use_sparse_mixer is not supported");
  if (r.Int("swiglu_limit_after_activation", 0) != 0)
    return Rewrite::Unsupported("swiglu_limit_after_activation is not supported");
  for (const int input : at.third) {
    if (r.has(input)) return Rewrite::Unsupported("fc3_experts_weights are not supported");
  }
  const int64_t chosen = r.Int("k", 1);
  const auto experts = r.dim(r.in(kRouter), 1);
  if (chosen < 1 || (experts && chosen > *experts)) {
    return Rewrite::Invalid("k is " + std::to_string(chosen) + (experts ? " of " + std::to_string(*experts) : "") +
                            " experts");
  }
  for (const int input : {kUp, at.down}) {
    PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(input), "input " + std::to_string(input)));
    if (rank != 3) return Rewrite::Invalid("input " + std::to_string(input) + " needs three dims");
  }
  return {};
}

// The columns begin, begin + step, …
std::string Columns(Rewrite& r, const std::string& x, int64_t begin, int64_t step) {
  return r.Add("Slice", {x, r.AddInts({begin}), r.AddInts({std::numeric_limits<int64_t>::max()}), r.AddInts({-1}),
                         r.AddInts({step})});
}

// Gates and what they let through alternate; both are bounded by the limit, gates from above alone.
std::string SwiGlu(Rewrite& r, const std::string& x, int32_t type) {
  std::string gate = Columns(r, x, 0, 2), linear = Columns(r, x, 1, 2);
  if (const float limit = r.Float("swiglu_limit", std::numeric_limits<float>::infinity());
      limit < std::numeric_limits<float>::infinity()) {
    const std::string most = r.AddScalar(type, limit);
    gate = r.Add("Clip", {gate, "", most});
    linear = r.Add("Clip", {linear, r.AddScalar(type, -limit), most});
  }
  const std::string open = r.Add("Sigmoid", {r.Add("Mul", {r.AddScalar(type, r.Float("activation_alpha", 1)), gate})});
  const std::string shifted = r.Add("Add", {linear, r.AddScalar(type, r.Float("activation_beta", 0))});
  return r.Add("Mul", {r.Add("Mul", {gate, open}), shifted});
}

Result<std::string> Activated(Rewrite& r, const std::string& x, int32_t type) {
  const std::string kind = r.Text("activation_type", "relu");
  if (kind == "relu") return r.Add("Relu", {x});
  if (kind == "gelu") return r.Add("Gelu", {x}, {TextAttribute("approximate", "tanh")});
  if (kind == "silu") return r.Add("Mul", {x, r.Add("Sigmoid", {x})});
  if (kind == "identity") return x;
  if (kind == "swiglu") {
    if (r.Int("swiglu_fusion", 0) == 1) return SwiGlu(r, x, type);
    return Rewrite::Unsupported(
        "swiglu is supported with swiglu_fusion 1 alone, as in ONNX Runtime's kernel for processors");
  }
  return Rewrite::Unsupported("activation_type \"" + kind +
                              "\" is not supported: relu, gelu, silu, swiglu and identity are");
}

// Rows of weights [experts, out, in], and the number of the input that holds a bias [experts, out].
struct Layer {
  std::string weights;
  int bias;
};

// x [experts or 1, tokens, in] through the layer.
std::string Through(Rewrite& r, const std::string& x, const Layer& layer) {
  const std::string product =
      r.Add("MatMul", {x, r.Add("Transpose", {layer.weights}, {IntsAttribute("perm", {0, 2, 1})})});
  if (!r.has(layer.bias)) return product;
  return r.Add("Add", {product, r.Add("Unsqueeze", {r.in(layer.bias), r.AddInts({1})})});
}

// How much each expert's result counts for each token, [experts, tokens, 1]; 0 for those that are not chosen.
std::string Weights(Rewrite& r, int32_t type, bool normalised) {
  const Attributes by_token = {IntAttribute("axis", 1)};
  const std::string shares = r.Add("Softmax", {r.in(kRouter)}, by_token);
  std::vector<std::string> chosen = r.AddMany("TopK", {shares, r.AddInts({r.Int("k", 1)})}, 2, by_token);
  if (normalised) chosen[0] = r.Add("Div", {chosen[0], r.Add("ReduceSum", {chosen[0], r.AddInts({1})})});
  const std::string none = r.Add("Expand", {r.AddZero(type), r.Add("Shape", {r.in(kRouter)})});
  const std::string all = r.Add("ScatterElements", {none, chosen[1], chosen[0]}, by_token);
  return r.Add("Unsqueeze", {r.Add("Transpose", {all}, {IntsAttribute("perm", {1, 0})}), r.AddInts({2})});
}

// normalised: whether the weights of those that a token has chosen sum up to 1.
Status FinishExperts(Rewrite& r, const Layer& up, const Layer& down, bool normalised) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kTokens), "input"));
  const std::string hidden = r.Add("Shape", {r.in(kTokens)}, {IntAttribute("start", -1)});
  const std::string dims = r.Add("Concat", {r.AddInts({1, -1}), hidden}, {IntAttribute("axis", 0)});
  const std::string tokens = r.Add("Reshape", {r.in(kTokens), dims});
  PT_ASSIGN(const std::string inner, Activated(r, Through(r, tokens, up), type));
  const std::string results = Through(r, inner, down), weights = Weights(r, type, normalised);
  // A result that is not finite counts nothing either where it is not chosen.
  const std::string unchosen = r.Add("Equal", {weights, r.AddZero(type)});
  const std::string counted = r.Add("Where", {unchosen, r.AddZero(type), r.Add("Mul", {results, weights})});
  const std::string sum = r.Add("ReduceSum", {counted, r.AddInts({0})}, {IntAttribute("keepdims", 0)});
  r.Finish(0, "Reshape", {sum, r.Add("Shape", {r.in(kTokens)})});
  return {};
}

Status MoE(Rewrite& r) {
  enum Input { kUpBias = 3, kDown, kDownBias, kThird, kThirdBias };
  PT_CHECK_OK(CheckNode(r, {kDown, {kThird, kThirdBias}}));
  return FinishExperts(r, {r.in(kUp), kUpBias}, {r.in(kDown), kDownBias}, r.Int("normalize_routing_weights", 0) != 0);
}

// ---- of a few bits an element ----

struct PackedLayer {
  int weights, scales, zero_points;
  const char* bits;  // the attribute that may say how many it has
};

Result<std::vector<int64_t>> ThreeDims(const Rewrite& r, int input) {
  std::vector<int64_t> dims;
  for (int64_t axis = 0; axis < 3; ++axis) {
    const auto dim = r.dim(r.in(input), axis);
    if (!dim)
      return Rewrite::Unsupported("the dims of input " + std::to_string(input) + " are not known when the model loads");
    dims.push_back(*dim);
  }
  return dims;
}

// One zero point for each of `dims`, whose last dim is packed into whole bytes.
Result<std::string> ZeroPoints(Rewrite& r, int input, const Packing& packing, std::vector<int64_t> dims) {
  if (!r.has(input)) return MiddleZeroPoints(r, packing, std::move(dims));
  const int64_t per_byte = packing.per_byte();
  const int64_t count = dims.back(), axis = static_cast<int64_t>(dims.size()) - 1;
  dims.back() = (count + per_byte - 1) / per_byte * per_byte;
  const bool padded = dims.back() != count;
  PT_ASSIGN(const std::string all, Reinterpret(r, input, "input " + std::to_string(input), packing, std::move(dims)));
  return padded ? r.Add("Slice", {all, r.AddInts({0}), r.AddInts({count}), r.AddInts({axis})}) : all;
}

// [experts, out, in] as real numbers.
Result<std::string> Unpacked(Rewrite& r, const PackedLayer& layer) {
  const int64_t bits = r.Int(layer.bits, r.Int("expert_weight_bits", 4));
  PT_ASSIGN(const Packing packing, PackingOf(r, bits, {layer.weights, layer.zero_points}));
  PT_ASSIGN(std::vector<int64_t> dims, ThreeDims(r, layer.weights));
  const auto columns = CheckedMul(dims[2], packing.per_byte());
  if (!columns || *columns < 1)
    return Rewrite::Invalid("input " + std::to_string(layer.weights) + " has no columns, or too many");
  dims[2] = *columns;
  const std::string label = "input " + std::to_string(layer.weights);
  PT_ASSIGN(const std::string elements, Reinterpret(r, layer.weights, label, packing, dims));
  if (!r.has(layer.scales)) return Rewrite::Invalid("its input " + std::to_string(layer.scales) + " is missing");
  // Without blocks a row has one scale.
  const int64_t given = r.Int("block_size", 0), block = given > 0 ? given : *columns;
  if (given > 0) PT_CHECK_OK(CheckBlock(given));
  if (*columns % block != 0)
    return Rewrite::Invalid(label + " has " + std::to_string(*columns) + " columns, no multiple of block_size");
  std::string scales = r.in(layer.scales);
  std::vector<int64_t> points = {dims[0], dims[1]};
  if (given > 0) points.push_back(*columns / block);
  PT_ASSIGN(std::string zeros, ZeroPoints(r, layer.zero_points, packing, points));
  if (given <= 0) {
    scales = r.Add("Unsqueeze", {scales, r.AddInts({2})});
    zeros = r.Add("Unsqueeze", {zeros, r.AddInts({2})});
  }
  return r.Add("DequantizeLinear", {elements, scales, zeros},
               {IntAttribute("axis", 2), IntAttribute("block_size", block)});
}

// ONNX Runtime's kernel for processors normalises weights whatever normalize_routing_weights says.
Status QMoE(Rewrite& r) {
  enum Input {
    kUpScales = 3,
    kUpBias,
    kDown,
    kDownScales,
    kDownBias,
    kThird,
    kThirdScales,
    kThirdBias,
    kUpZeros,
    kDownZeros,
    kThirdZeros,
    kRouterWeights
  };
  PT_CHECK_OK(CheckNode(r, {kDown, {kThird, kThirdScales, kThirdBias, kThirdZeros}}));
  if (r.Text("quant_type", "int") != "int")
    return Rewrite::Unsupported("quant_type \"" + r.Text("quant_type", "int") + "\" is not supported: int is");
  if (r.Int("weights_prepacked", -1) == 1)
    return Rewrite::Unsupported("weights_prepacked 1 is not supported: the weights are in an order of some GPU");
  for (int input = kRouterWeights; input < r.inputs(); ++input) {
    if (r.has(input)) return Rewrite::Unsupported("input " + std::to_string(input) + " is not supported");
  }
  PT_ASSIGN(const std::string up, Unpacked(r, {kUp, kUpScales, kUpZeros, "fc1_expert_weight_bits"}));
  PT_ASSIGN(const std::string down, Unpacked(r, {kDown, kDownScales, kDownZeros, "fc2_expert_weight_bits"}));
  return FinishExperts(r, {up, kUpBias}, {down, kDownBias}, true);
}

}  // namespace

std::vector<Row> ExpertRows() {
  return {
      {"MoE",
       {"input", "router_probs", "fc1_experts_weights", "fc1_experts_bias?", "fc2_experts_weights", "fc2_experts_bias?",
        "fc3_experts_weights?", "fc3_experts_bias?"},
       {"output"},
       {{"activation_alpha", A::FLOAT},
        {"activation_beta", A::FLOAT},
        {"activation_type", A::STRING},
        {"k", A::INT},
        {"normalize_routing_weights", A::INT},
        {"swiglu_fusion", A::INT},
        {"swiglu_limit", A::FLOAT},
        {"swiglu_limit_after_activation", A::INT},
        {"use_sparse_mixer", A::INT}},
       LikeFirst,
       MoE},
      {"QMoE",
       {"input",
        "router_probs",
        "fc1_experts_weights",
        "fc1_scales?",
        "fc1_experts_bias?",
        "fc2_experts_weights",
        "fc2_scales?",
        "fc2_experts_bias?",
        "fc3_experts_weights?",
        "fc3_scales?",
        "fc3_experts_bias?",
        "fc1_zero_points?",
        "fc2_zero_points?",
        "fc3_zero_points?",
        "router_weights?",
        "fc1_global_scale?",
        "fc2_global_scale?",
        "fc1_act_scale?",
        "fc2_act_scale?",
        "fc1_act_block_scale?",
        "fc2_act_block_scale?"},
       {"output"},
       {{"accuracy_level", A::INT},
        {"activation_alpha", A::FLOAT},
        {"activation_beta", A::FLOAT},
        {"activation_type", A::STRING},
        {"block_size", A::INT},
        {"expert_weight_bits", A::INT},
        {"fc1_expert_weight_bits", A::INT},
        {"fc2_expert_weight_bits", A::INT},
        {"fc3_expert_weight_bits", A::INT},
        {"k", A::INT},
        {"normalize_routing_weights", A::INT},
        {"quant_type", A::STRING},
        {"swiglu_fusion", A::INT},
        {"swiglu_limit", A::FLOAT},
        {"swiglu_limit_after_activation", A::INT},
        {"use_sparse_mixer", A::INT},
        {"weights_prepacked", A::INT}},
       LikeFirst,
       QMoE},
  };
}

}  // namespace pt::contrib
