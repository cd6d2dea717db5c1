#include <algorithm>
#include <map>

#include "lib/backend/host_kernels/clip_bounds.h"
#include "lib/backend/host_kernels/elementwise/expression.h"
#include "lib/backend/host_kernels/products/product.h"
#include "lib/backend/host_kernels/products/thin_products.h"
#include "partitiontuner/backend/elementwise_groups.h"
#include "partitiontuner/backend/window_parameters.h"
#include "partitiontuner/graph/operators/gemm.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/graph/uses.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

// Of a matrix: smaller ones stay in the inner caches from run to run.
constexpr size_t kLeastStreamedBytes = size_t{1} << 20;
// Sizes of groups offered for each pointwise convolution: with its activation, its residual, the activation behind.
constexpr std::ptrdiff_t kStepsOfPointwise = 3;

bool IsMatrix(const std::optional<Tensor>& constant, int64_t rank) {
  return constant && constant->type() == DataType::kFloat32 && constant->rank() == rank &&
         constant->element_count() > 0;
}

bool IsSmall(const Tensor& matrix) { return matrix.bytes().size() <= kMostPackedBytes; }

bool HasFewRows(const Graph& graph, ValueId result) {
  const auto dims = graph.value(result).type.static_dims();
  if (!dims || dims->empty()) return false;
  const auto rows = CheckedProduct(std::span(*dims).first(dims->size() - 1));
  return rows && *rows <= kMostThinRows;
}

// One number for each column, or for all of a single one.
bool IsRow(const std::optional<Tensor>& constant, int64_t columns) {
  return constant && constant->type() == DataType::kFloat32 && constant->rank() > 0 &&
         constant->dims().back() == columns && constant->element_count() == columns;
}

// Spatial dims of an image.
std::optional<std::vector<int64_t>> ImageDims(const Graph& graph, ValueId value) {
  auto dims = graph.value(value).type.static_dims();
  if (!dims || dims->size() != 4) return std::nullopt;
  dims->erase(dims->begin(), dims->begin() + 2);
  return dims;
}

// A convolution whose windows are one pixel each, inside the image.
std::optional<ConstantProduct> ReadPointwise(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Value& filters = graph.value(node.inputs[1]);
  const auto in = ImageDims(graph, node.inputs[0]), out = ImageDims(graph, node.outputs[0]);
  if (!IsMatrix(filters.constant, 4) || !IsSmall(*filters.constant) || ReadConvolutionGroups(node) != 1 || !in || !out)
    return std::nullopt;
  if (graph.value(node.inputs[0]).is_constant()) return std::nullopt;
  const std::vector<int64_t>& kernel = filters.constant->dims();
  const auto window = WindowOf(node, std::span(kernel).subspan(2), *in, *out);
  if (!window || kernel[2] != 1 || kernel[3] != 1) return std::nullopt;
  for (size_t d = 0; d < 2; ++d) {
    if (window->pads_begin[d] != 0 || ((*out)[d] - 1) * window->strides[d] >= (*in)[d]) return std::nullopt;
  }
  ConstantProduct product{node.inputs[0], node.outputs[0], *filters.constant};
  product.transposed = product.pointwise = true;
  product.row_step = window->strides[0];
  product.column_step = window->strides[1];
  product.nodes = {id};
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return product;
  product.bias = graph.value(node.inputs[2]).constant;
  return IsRow(product.bias, product.columns()) ? std::optional(std::move(product)) : std::nullopt;
}

std::optional<ConstantProduct> ReadProduct(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.domain.empty() && node.op == "Conv") return ReadPointwise(graph, id);
  const bool gemm = node.op == "Gemm";
  if (!node.domain.empty() || (!gemm && node.op != "MatMul")) return std::nullopt;
  const auto& matrix = graph.value(node.inputs[1]).constant;
  auto packed = PackedMatrixOf(graph, node);
  if (!packed && (!IsMatrix(matrix, 2) || graph.value(node.inputs[0]).is_constant())) return std::nullopt;
  ConstantProduct product{node.inputs[0], node.outputs[0], packed ? packed->elements : *matrix};
  product.nodes = {id};
  if (packed) {
    product.nodes.insert(product.nodes.begin(), packed->node);
    product.packed = std::move(packed);
  } else if (!IsSmall(product.matrix) && !IsThin(graph, product)) {
    return std::nullopt;
  }
  if (!gemm) return product;
  const GemmNode said = ReadGemm(node);
  if (said.transpose_a || said.is_scaled()) return std::nullopt;
  product.transposed = said.transpose_b;
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return product;
  product.bias = graph.value(node.inputs[2]).constant;
  return IsRow(product.bias, product.columns()) ? std::optional(std::move(product)) : std::nullopt;
}

// Takes the constant row that the only reader of the product adds, if it does so.
bool TakeBias(const Graph& graph, ConstantProduct& product) {
  const NodeId reader = product.bias || product.pointwise ? NodeId() : OnlyReader(graph, product.result);
  if (!reader.valid()) return false;
  const Node& add = graph.node(reader);
  if (!add.domain.empty() || add.op != "Add") return false;
  const ValueId other = add.inputs[add.inputs[0] == product.result ? 1 : 0];
  const auto& row = graph.value(other).constant;
  // A row of more dims than the product would add dims to the sum.
  if (!IsRow(row, product.columns()) ||
      graph.value(add.outputs[0]).type.dims != graph.value(product.result).type.dims) {
    return false;
  }
  product.bias = row;
  product.result = add.outputs[0];
  product.nodes.push_back(reader);
  return true;
}

// Takes the Add of something known in the run alone that reads the result, if it is one of `nodes`.
void TakeResidual(const Graph& graph, std::span<const NodeId> nodes, ConstantProduct& product) {
  const NodeId reader = OnlyReader(graph, product.result);
  const auto is_inside = [&](NodeId id) { return id.valid() && std::ranges::find(nodes, id) != nodes.end(); };
  // Thin ones are computed in the result's place, which may be the residual's; so are packed ones.
  if (!is_inside(reader) || IsThin(graph, product) || product.packed) return;
  const Node& add = graph.node(reader);
  if (!add.domain.empty() || add.op != "Add" || add.inputs[0] == add.inputs[1]) return;
  const ValueId other = add.inputs[add.inputs[0] == product.result ? 1 : 0];
  const ValueType &residual = graph.value(other).type, &result = graph.value(product.result).type;
  const bool alike = residual.static_dims() == result.static_dims() && residual.type == result.type;
  if (!alike || graph.value(other).is_constant() || is_inside(graph.value(other).producer)) return;
  product.residual = other;
  product.result = add.outputs[0];
  product.nodes.push_back(reader);
}

// Takes the Relu or Clip that reads the result, if it is one of `nodes`.
void TakeBounds(const Graph& graph, std::span<const NodeId> nodes, ConstantProduct& product) {
  const auto activation = ActivationBehind(graph, product.result);
  if (!activation || std::ranges::find(nodes, activation->node) == nodes.end()) return;
  product.bounds = activation->bounds;
  product.result = graph.node(activation->node).outputs[0];
  product.nodes.push_back(activation->node);
}

}  // namespace

bool IsThin(const Graph& graph, const ConstantProduct& product) {
  return !product.pointwise && !product.packed && product.matrix.bytes().size() >= kLeastStreamedBytes &&
         HasFewRows(graph, product.result);
}

std::optional<ProductGroup> ReadProducts(const Graph& graph, std::span<const NodeId> nodes, ResidualPlace residuals) {
  ProductGroup group;
  for (NodeId id : nodes) {
    auto product = ReadProduct(graph, id);
    if (!product) continue;
    // What the product multiplies is there before the group runs.
    const NodeId maker = graph.value(product->input).producer;
    if (maker.valid() && std::ranges::find(nodes, maker) != nodes.end()) return std::nullopt;
    if (product->packed && std::ranges::find(nodes, product->packed->node) == nodes.end()) return std::nullopt;
    group.products.push_back(*std::move(product));
  }
  // Of several products one could be the residual of another.
  if (group.products.size() > 1) residuals = ResidualPlace::kInRest;
  std::vector<NodeId> taken;
  for (ConstantProduct& product : group.products) {
    const NodeId reader = OnlyReader(graph, product.result);
    if (std::ranges::find(nodes, reader) != nodes.end()) TakeBias(graph, product);
    if (residuals == ResidualPlace::kInProducts) TakeResidual(graph, nodes, product);
    TakeBounds(graph, nodes, product);
    taken.insert(taken.end(), product.nodes.begin(), product.nodes.end());
  }
  if (group.products.empty() || group.products.size() > kMostProducts) return std::nullopt;
  for (const ConstantProduct& product : group.products) {
    if (product.input != group.products[0].input || (product.pointwise && group.products.size() > 1)) {
      return std::nullopt;
    }
  }
  for (NodeId id : nodes) {
    if (std::ranges::find(taken, id) == taken.end()) group.rest.push_back(id);
  }
  if (group.products.size() > 1 && !group.rest.empty()) return std::nullopt;
  return group;
}

bool IsPointwise(const Graph& graph, std::span<const NodeId> nodes) {
  const auto group = ReadProducts(graph, nodes);
  return group && group->products[0].pointwise;
}

std::vector<std::vector<NodeId>> ProductGroups(const Graph& graph, const std::vector<bool>& able) {
  std::vector<std::vector<NodeId>> groups;
  std::map<ValueId, std::vector<NodeId>> together;  // the products of each input
  std::map<ValueId, size_t> counts;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    auto product = ReadProduct(graph, NodeId(n));
    if (!product) continue;
    auto grown = GrowElementwise(graph, able, NodeId(n));
    if (product->pointwise) {
      groups.insert(groups.end(), grown.begin(), grown.begin() + std::min(kStepsOfPointwise, std::ssize(grown)));
      continue;
    }
    if (product->packed && !grown.empty())
      grown.back().insert(std::ranges::lower_bound(grown.back(), product->packed->node), product->packed->node);
    if (product->packed) groups.push_back(product->nodes);
    if (TakeBias(graph, *product)) groups.push_back(product->nodes);
    if (!grown.empty() && grown.back() != product->nodes) groups.push_back(grown.back());
    auto& all = together[product->input];
    all.insert(all.end(), product->nodes.begin(), product->nodes.end());
    ++counts[product->input];
  }
  for (auto& [input, nodes] : together) {
    if (counts[input] < 2 || counts[input] > kMostProducts) continue;
    std::sort(nodes.begin(), nodes.end());
    groups.push_back(nodes);
  }
  return groups;
}

}  // namespace pt::host
