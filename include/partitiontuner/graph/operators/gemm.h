// What a Gemm says: alpha * A * B + beta * C.
#pragma once

#include "partitiontuner/graph/graph.h"

namespace pt {

// The attributes of Gemm, read and checked.
struct GemmNode {
  bool transpose_a = false, transpose_b = false;
  float alpha = 1, beta = 1;

  bool is_scaled() const { return alpha != 1.0F || beta != 1.0F; }
  friend bool operator==(const GemmNode&, const GemmNode&) = default;
};

GemmNode ReadGemm(const Node& node);

}  // namespace pt
