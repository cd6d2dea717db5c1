// What an Attention, RotaryEmbedding or LinearAttention says.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// The attributes of Attention, read and checked.
struct AttentionNode {
  int64_t q_heads = 0, kv_heads = 0;  // of inputs of three dims; 0: not given
  std::optional<float> scale;         // not given: that of the head's size
  float softcap = 0;                  // 0: none
  bool is_causal = false;
  int64_t left = -1, right = -1;  // of the window, keys before and behind the query's place; negative: no limit
  int64_t scores_mode = 0;        // what the fourth result holds
  DataType softmax_type = DataType::kFloat32;

  double ScaleOf(int64_t head_size) const {
    return scale ? static_cast<double>(*scale) : 1 / std::sqrt(static_cast<double>(head_size));
  }
  friend bool operator==(const AttentionNode&, const AttentionNode&) = default;
};
AttentionNode ReadAttentionNode(const Node& node);

// The attributes of RotaryEmbedding, read and checked.
struct RotaryEmbeddingNode {
  int64_t heads = 0;   // of inputs of three dims; 0: not given
  int64_t turned = 0;  // elements of a head that are turned; 0: all
  bool interleaved = false;

  int64_t TurnedOf(int64_t head_size) const { return turned == 0 ? head_size : turned; }
  friend bool operator==(const RotaryEmbeddingNode&, const RotaryEmbeddingNode&) = default;
};
RotaryEmbeddingNode ReadRotaryEmbedding(const Node& node);

// The attributes of LinearAttention, read and checked.
struct LinearAttentionNode {
  int64_t q_heads = 1, kv_heads = 1;  // the first is a multiple of the second
  std::string update_rule = "gated_delta";
  bool is_gated = true;  // the state decays from token to token
  bool corrects = true;  // a token writes the part of its value that the state does not say yet
  float scale = 0;       // 0: that of the key's size

  double ScaleOf(int64_t key_size) const {
    return scale != 0 ? static_cast<double>(scale) : 1 / std::sqrt(static_cast<double>(key_size));
  }
};
// Errors: kInvalidInput for numbers of heads that do not fit each other, and for an unknown rule.
Result<LinearAttentionNode> ReadLinearAttention(const Node& node);

}  // namespace pt
