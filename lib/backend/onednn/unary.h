// The operators of one input that oneDNN has, or that occur in activations spelled out in several nodes: one row each.
#pragma once

#include <optional>
#include <vector>

#include "lib/backend/onednn/formula.h"
#include "lib/backend/onednn/pointwise.h"

namespace pt::onednn {

struct UnaryOperator {
  std::string_view op;
  // As operations of oneDNN; nullopt when it cannot say this node. Null: it has none.
  std::optional<std::vector<Pointwise>> (*ops)(const Graph&, const Node&);
  // Of a formula; null where the operator is part of no activation.
  MaybeFormula (*formula)(const Graph&, const Node&, const Formula& x);
  // At one number, as ONNX defines it; null with `formula`.
  double (*value)(const Graph&, const Node&, double x);
};

// Null for every other operator.
const UnaryOperator* FindUnary(const Node& node);

// The number in input `i` of the node when it is a float32 constant of one element; `otherwise` when the input is
// absent; nullopt for anything else.
std::optional<float> ScalarInput(const Graph& graph, const Node& node, size_t i, float otherwise);

}  // namespace pt::onednn
