// A constant matrix times a vector, as recurrent language models write it, is the vector times the matrix turned
// around:
//   MatMul(M [rows, columns], x [columns]) -> MatMul(x, Mᵀ)
// All that makes products with a constant matrix fast looks for it on the right.
#include <algorithm>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"

namespace pt {
namespace {

// Rows become columns.
Tensor TurnedMatrix(const Tensor& matrix) {
  const auto rows = static_cast<size_t>(matrix.dims()[0]), columns = static_cast<size_t>(matrix.dims()[1]);
  const auto from = matrix.values<float>();
  std::vector<float> to(from.size());
  constexpr size_t kBlock = 16;  // columns that are written while their cache lines are near
  for (size_t first = 0; first < columns; first += kBlock) {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = first; c < std::min(columns, first + kBlock); ++c) to[c * rows + r] = from[r * columns + c];
    }
  }
  return Tensor::Float32({matrix.dims()[1], matrix.dims()[0]}, to);
}

bool IsMatrixByVector(const Graph& graph, const Node& node) {
  if (!IsOp(node, "MatMul")) return false;
  const std::optional<Tensor>& matrix = graph.value(node.inputs[0]).constant;
  const Value& vector = graph.value(node.inputs[1]);
  return matrix && matrix->type() == DataType::kFloat32 && matrix->rank() == 2 && vector.type.ranked &&
         vector.type.dims.size() == 1 && !vector.is_constant();
}

}  // namespace

Result<std::optional<Graph>> TurnLeftMatrices(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  bool changed = false;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (!IsMatrixByVector(graph, node)) continue;
    const ValueId matrix = builder.AddConstant("", TurnedMatrix(*graph.value(node.inputs[0]).constant));
    builder.node(NodeId(i)).inputs = {node.inputs[1], matrix};
    changed = true;
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
