// MoE: each token's router chooses some experts, whose results count by its weights. As products of all tokens with all
// experts; what a token has not chosen counts nothing.
#include <limits>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

enum Input { kTokens, kRouter, kUp, kUpBias, kDown, kDownBias, kGate, kGateBias };

Status CheckNode(const Rewrite& r) {
  if (r.Int("use_sparse_mixer", 0) != 0) return Rewrite::Unsupported("use_sparse_mixer is not supported");
  if (r.Int("swiglu_limit_after_activation", 0) != 0)
    return Rewrite::Unsupported("swiglu_limit_after_activation is not supported");
  if (r.has(kGate) || r.has(kGateBias)) return Rewrite::Unsupported("fc3_experts_weights are not supported");
  const int64_t chosen = r.Int("k", 1);
  const auto experts = r.dim(r.in(kRouter), 1);
  if (chosen < 1 || (experts && chosen > *experts)) {
    return Rewrite::Invalid("k is " + std::to_string(chosen) + (experts ? " of " + std::to_string(*experts) : "") +
                            " experts");
  }
  for (const Input input : {kUp, kDown}) {
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

// x [experts or 1, tokens, in] by the rows of [experts, out, in], with the bias [experts, out].
std::string ByExperts(Rewrite& r, const std::string& x, Input weights, Input bias) {
  const std::string product =
      r.Add("MatMul", {x, r.Add("Transpose", {r.in(weights)}, {IntsAttribute("perm", {0, 2, 1})})});
  if (!r.has(bias)) return product;
  return r.Add("Add", {product, r.Add("Unsqueeze", {r.in(bias), r.AddInts({1})})});
}

// How much each expert's result counts for each token, [experts, tokens, 1]; 0 for those that are not chosen.
std::string Weights(Rewrite& r, int32_t type) {
  const Attributes by_token = {IntAttribute("axis", 1)};
  const std::string shares = r.Add("Softmax", {r.in(kRouter)}, by_token);
  std::vector<std::string> chosen = r.AddMany("TopK", {shares, r.AddInts({r.Int("k", 1)})}, 2, by_token);
  if (r.Int("normalize_routing_weights", 0) != 0)
    chosen[0] = r.Add("Div", {chosen[0], r.Add("ReduceSum", {chosen[0], r.AddInts({1})})});
  const std::string none = r.Add("Expand", {r.AddZero(type), r.Add("Shape", {r.in(kRouter)})});
  const std::string all = r.Add("ScatterElements", {none, chosen[1], chosen[0]}, by_token);
  return r.Add("Unsqueeze", {r.Add("Transpose", {all}, {IntsAttribute("perm", {1, 0})}), r.AddInts({2})});
}

Status MoE(Rewrite& r) {
  PT_CHECK_OK(CheckNode(r));
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kTokens), "input"));
  const std::string hidden = r.Add("Shape", {r.in(kTokens)}, {IntAttribute("start", -1)});
  const std::string dims = r.Add("Concat", {r.AddInts({1, -1}), hidden}, {IntAttribute("axis", 0)});
  const std::string tokens = r.Add("Reshape", {r.in(kTokens), dims});
  PT_ASSIGN(const std::string inner, Activated(r, ByExperts(r, tokens, kUp, kUpBias), type));
  const std::string results = ByExperts(r, inner, kDown, kDownBias), weights = Weights(r, type);
  // A result that is not finite counts nothing either where it is not chosen.
  const std::string unchosen = r.Add("Equal", {weights, r.AddZero(type)});
  const std::string counted = r.Add("Where", {unchosen, r.AddZero(type), r.Add("Mul", {results, weights})});
  const std::string sum = r.Add("ReduceSum", {counted, r.AddInts({0})}, {IntAttribute("keepdims", 0)});
  r.Finish(0, "Reshape", {sum, r.Add("Shape", {r.in(kTokens)})});
  return {};
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
  };
}

}  // namespace pt::contrib
