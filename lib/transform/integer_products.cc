#include "lib/transform/integer_products.h"

#include "lib/transform/edit.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/gemm.h"
#include "partitiontuner/graph/operators/windows.h"

namespace pt {
namespace {

constexpr int kMostMoves = 4;

bool IsMove(const Node& node) { return (IsReshaping(node) || IsOp(node, "Transpose")) && !node.inputs.empty(); }

// The axis of the product's second operand that runs along the output's channels.
int64_t ChannelAxis(const Graph& graph, const Node& product) {
  if (IsOp(product, "Conv")) return 0;
  if (IsOp(product, "ConvTranspose")) return ReadConvolutionGroups(product) == 1 ? 1 : LinearQuantisation::kWholeTensor;
  if (IsOp(product, "Gemm")) return ReadGemm(product).transpose_b ? 0 : 1;
  return static_cast<int64_t>(graph.value(product.inputs[1]).type.dims.size()) - 1;
}

bool SuitsProduct(const Graph& graph, const LinearQuantisation& quantisation, const Node& product) {
  const bool window = IsOp(product, "Conv") || IsOp(product, "ConvTranspose");
  if (!quantisation.has_centred_zeros() && (window || !quantisation.is_whole())) return false;
  return quantisation.is_whole() || quantisation.axis == ChannelAxis(graph, product);
}

}  // namespace

bool ComesFromBytes(const Graph& graph, ValueId value) {
  for (int i = 0; i <= kMostMoves && value.valid(); ++i) {
    const NodeId producer = graph.value(value).producer;
    if (!producer.valid() || graph.node(producer).inputs.empty()) return false;
    const Node& node = graph.node(producer);
    if (IsDequantisation(node)) {
      const Value& integers = graph.value(node.inputs[0]);
      return IsByte(integers.type.type) && !integers.is_constant();
    }
    if (!IsMove(node) && !IsOp(node, "MaxPool")) return false;
    value = node.inputs[0];
  }
  return false;
}

bool IsReadByIntegerProduct(const Graph& graph, const Node& dequantisation, Use use) {
  const auto quantisation = LinearQuantisationOf(graph, dequantisation);
  if (!quantisation || !IsByte(quantisation->type)) return false;
  bool moved = false;
  for (int i = 0; i <= kMostMoves; ++i) {
    const Node& reader = graph.node(use.node);
    const bool product =
        IsOp(reader, "Conv") || IsOp(reader, "ConvTranspose") || IsOp(reader, "MatMul") || IsOp(reader, "Gemm");
    if (product) {
      // Behind a move the axis is another one: what it is shows when the DequantizeLinear has been moved, too.
      return use.input == 1 && ComesFromBytes(graph, reader.inputs[0]) &&
             (moved || SuitsProduct(graph, *quantisation, reader));
    }
    if (!IsMove(reader) || use.input != 0 || !quantisation->is_whole()) return false;
    const Value& result = graph.value(reader.outputs[0]);
    if (result.uses.size() != 1 || result.is_graph_output) return false;
    use = result.uses[0];
    moved = true;
  }
  return false;
}

}  // namespace pt
