#include "partitiontuner/graph/operators/attention.h"

#include "partitiontuner/support/text.h"

namespace pt {
namespace {

Error InvalidAttention(std::string why) {
  return MakeError(ErrorCode::kInvalidInput, "graph.attention", std::move(why));
}

}  // namespace

AttentionNode ReadAttentionNode(const Node& node) {
  AttentionNode attention;
  attention.q_heads = node.int_or("q_num_heads", 0);
  attention.kv_heads = node.int_or("kv_num_heads", 0);
  if (node.find("scale") != nullptr) attention.scale = node.float_or("scale", 1);
  attention.softcap = node.float_or("softcap", 0.0F);
  attention.is_causal = node.int_or("is_causal", 0) != 0;
  attention.left = node.int_or("left_window_size", -1);
  attention.right = node.int_or("right_window_size", -1);
  attention.scores_mode = node.int_or("qk_matmul_output_mode", 0);
  constexpr auto kFloat32 = static_cast<int64_t>(DataType::kFloat32);
  attention.softmax_type = static_cast<DataType>(node.int_or("softmax_precision", kFloat32));
  return attention;
}

RotaryEmbeddingNode ReadRotaryEmbedding(const Node& node) {
  return {node.int_or("num_heads", 0), node.int_or("rotary_embedding_dim", 0), node.int_or("interleaved", 0) != 0};
}

Result<LinearAttentionNode> ReadLinearAttention(const Node& node) {
  LinearAttentionNode attention{node.int_or("q_num_heads", 0), node.int_or("kv_num_heads", 0)};
  if (attention.kv_heads < 1 || attention.q_heads < 1 || attention.q_heads % attention.kv_heads != 0) {
    return InvalidAttention("q_num_heads is " + std::to_string(attention.q_heads) + " and kv_num_heads " +
                            std::to_string(attention.kv_heads) +
                            "; the first must be a positive multiple of the second");
  }
  const std::string& rule = attention.update_rule = node.string_or("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return InvalidAttention(UnknownWord("update_rule", rule, {"linear", "gated", "delta", "gated_delta"}));
  attention.is_gated = rule.starts_with("gated");
  attention.corrects = rule.ends_with("delta");
  attention.scale = node.float_or("scale", 0.0F);
  return attention;
}

}  // namespace pt
