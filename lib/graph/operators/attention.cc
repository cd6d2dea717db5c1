#include "partitiontuner/graph/operators/attention.h"

namespace pt {

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

}  // namespace pt
