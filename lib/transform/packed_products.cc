#include "lib/transform/packed_products.h"

#include <algorithm>

#include "lib/transform/edit.h"
#include "partitiontuner/graph/experts.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/packed_matrix.h"

namespace pt {
namespace {

constexpr int64_t kLeastElements = 16384;

bool ComesFromIntegers(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  return producer.valid() && IsDequantisation(graph.node(producer));
}

bool IsSizedProduct(const Graph& graph, const Node& product) {
  return graph.value(product.inputs[0]).type.is_static() && graph.value(product.outputs[0]).type.is_static();
}

struct ReadBy {
  Use product;
  bool turned = false;  // by a Transpose before it
};

// The use itself, or that of the Transpose that it is one of; nullopt where that has others.
std::optional<ReadBy> BehindTranspose(const Graph& graph, Use use) {
  const Node& reader = graph.node(use.node);
  if (!TurnsMatrix(graph, reader)) return ReadBy{use};
  const Value& result = graph.value(reader.outputs[0]);
  if (result.uses.size() != 1 || result.is_graph_output) return std::nullopt;
  return ReadBy{result.uses[0], true};
}

}  // namespace

bool TurnsMatrix(const Graph& graph, const Node& node) {
  if (!IsOp(node, "Transpose") || graph.value(node.inputs[0]).type.dims.size() != 2) return false;
  const Result<std::vector<size_t>> perm = ReadPermutation(node, 2);
  return perm.ok() && perm->front() == 1;
}

bool IsReadByPackedProduct(const Graph& graph, NodeId dequantisation, Use use) {
  const auto read = BehindTranspose(graph, use);
  if (!read || read->product.input != 1) return false;
  const Node& product = graph.node(read->product.node);
  const auto transposed = HasTransposedMatrix(product);
  if (!transposed || !product.inputs[0].valid()) return false;
  if (graph.value(product.inputs[0]).is_constant() || ComesFromIntegers(graph, product.inputs[0])) return false;
  const auto matrix = ReadPackedMatrix(graph, dequantisation, *transposed != read->turned);
  return matrix && matrix->elements.element_count() >= kLeastElements;
}

bool FeedsPackedProducts(const Graph& graph, NodeId dequantisation) {
  const Node& node = graph.node(dequantisation);
  if (!IsDequantisation(node) || node.outputs.size() != 1) return false;
  if (FeedsExperts(graph, dequantisation)) return true;
  const Value& real = graph.value(node.outputs[0]);
  return !real.is_graph_output && !real.uses.empty() &&
         std::ranges::all_of(real.uses, [&](Use use) { return IsReadByPackedProduct(graph, dequantisation, use); });
}

bool FeedsUnsizedProducts(const Graph& graph, NodeId dequantisation) {
  const auto is_unsized = [&](Use use) {
    const auto read = BehindTranspose(graph, use);
    return read && !IsSizedProduct(graph, graph.node(read->product.node));
  };
  return FeedsPackedProducts(graph, dequantisation) && !FeedsExperts(graph, dequantisation) &&
         std::ranges::any_of(graph.value(graph.node(dequantisation).outputs[0]).uses, is_unsized);
}

}  // namespace pt
