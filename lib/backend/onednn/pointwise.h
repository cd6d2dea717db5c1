// Pointwise: one elementwise operation on a running tensor, as oneDNN's post-ops and its eltwise,
// binary and prelu primitives know it; and how ONNX nodes become lists of them.
#pragma once

#include <optional>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "partitiontuner/graph/graph.h"

namespace pt::onednn {

// The other tensor of a binary operation: a value of the graph or a constant computed here.
struct SecondOperand {
  ValueId value;                   // invalid: `constant` alone
  std::optional<Tensor> constant;  // set for constants, computed or of the graph
  std::vector<int64_t> dims;       // as in the graph, not yet of the running tensor's rank
};

struct Pointwise {
  enum class Kind : uint8_t { kEltwise, kBinary, kPrelu };
  Kind kind = Kind::kEltwise;
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
  SecondOperand operand;
};

Pointwise Eltwise(dnnl::algorithm algorithm, float alpha = 0, float beta = 0);

// Whether oneDNN's kernels for this processor make NaN of +infinity where the function is +infinity.
bool MistakesInfinity(const Pointwise& op);

// Static float32 tensors of at least one element and at most 12 dims.
bool IsStaticFloat(const Graph& graph, ValueId value);
// What the node does to its input `main` (a value of the node's output dims); nullopt when oneDNN
// cannot say it. The operands of the answer broadcast to the output's dims.
std::optional<std::vector<Pointwise>> PointwiseOf(const Graph& graph, const Node& node, ValueId main);
// The input on which PointwiseOf should start; invalid for other operators.
ValueId MainInput(const Graph& graph, const Node& node);
bool IsPointwiseOperator(const Node& node);

// Adds an operation, merging neighbouring scalings (x·a+b)·c+d and dropping those that do nothing.
void Append(std::vector<Pointwise>& ops, Pointwise op);

// Several nodes that together compute one activation of `main`, for instance x·sigmoid(x).
struct Activation {
  std::vector<NodeId> nodes;  // ascending
  Pointwise op;
  ValueId result;
};
// The largest such set that starts at `main`. With `closed`, no use of main lies outside it.
std::optional<Activation> FindActivation(const Graph& graph, ValueId main, bool closed);

}  // namespace pt::onednn
