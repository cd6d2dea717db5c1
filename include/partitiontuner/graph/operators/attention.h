// What an Attention or RotaryEmbedding says.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "partitiontuner/graph/graph.h"

namespace pt {

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

struct RotaryEmbeddingNode {
  int64_t heads = 0;   // of inputs of three dims; 0: not given
  int64_t turned = 0;  // elements of a head that are turned; 0: all
  bool interleaved = false;

  int64_t TurnedOf(int64_t head_size) const { return turned == 0 ? head_size : turned; }
  friend bool operator==(const RotaryEmbeddingNode&, const RotaryEmbeddingNode&) = default;
};
RotaryEmbeddingNode ReadRotaryEmbedding(const Node& node);

}  // namespace pt
