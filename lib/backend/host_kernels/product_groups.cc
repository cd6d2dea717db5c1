#include <algorithm>
#include <map>

#include "lib/backend/host_kernels/expression.h"
#include "lib/backend/host_kernels/product.h"
#include "partitiontuner/graph/uses.h"

namespace pt::host {
namespace {

// Larger matrices are read from memory, where the library with blocked products is at home.
constexpr size_t kMostBytes = size_t{4} << 20;

bool IsMatrix(const std::optional<Tensor>& constant) {
  return constant && constant->type() == DataType::kFloat32 && constant->rank() == 2 && constant->element_count() > 0 &&
         constant->bytes().size() <= kMostBytes;
}

// One number for each column, or for all of a single one.
bool IsRow(const std::optional<Tensor>& constant, int64_t columns) {
  return constant && constant->type() == DataType::kFloat32 && constant->rank() > 0 &&
         constant->dims().back() == columns && constant->element_count() == columns;
}

std::optional<ConstantProduct> ReadProduct(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool gemm = node.op == "Gemm";
  if (!node.domain.empty() || (!gemm && node.op != "MatMul")) return std::nullopt;
  const Value& matrix = graph.value(node.inputs[1]);
  if (!IsMatrix(matrix.constant) || graph.value(node.inputs[0]).is_constant()) return std::nullopt;
  ConstantProduct product{node.inputs[0], node.outputs[0], *matrix.constant, false, std::nullopt, {id}};
  if (!gemm) return product;
  if (node.int_or("transA", 0) != 0 || node.float_or("alpha", 1) != 1 || node.float_or("beta", 1) != 1) {
    return std::nullopt;
  }
  product.transposed = node.int_or("transB", 0) != 0;
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return product;
  product.bias = graph.value(node.inputs[2]).constant;
  return IsRow(product.bias, product.columns()) ? std::optional(std::move(product)) : std::nullopt;
}

// Takes the constant row that the only reader of the product adds, if it does so.
bool TakeBias(const Graph& graph, ConstantProduct& product) {
  const NodeId reader = product.bias ? NodeId() : OnlyReader(graph, product.result);
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

}  // namespace

std::optional<ProductGroup> ReadProducts(const Graph& graph, std::span<const NodeId> nodes) {
  ProductGroup group;
  std::vector<NodeId> taken;
  for (NodeId id : nodes) {
    auto product = ReadProduct(graph, id);
    if (!product) continue;
    const NodeId reader = OnlyReader(graph, product->result);
    if (std::ranges::find(nodes, reader) != nodes.end()) TakeBias(graph, *product);
    taken.insert(taken.end(), product->nodes.begin(), product->nodes.end());
    group.products.push_back(*std::move(product));
  }
  if (group.products.empty() || group.products.size() > kMostProducts) return std::nullopt;
  for (const ConstantProduct& product : group.products) {
    if (product.input != group.products[0].input) return std::nullopt;
  }
  for (NodeId id : nodes) {
    if (std::ranges::find(taken, id) == taken.end()) group.rest.push_back(id);
  }
  if (group.products.size() > 1 && !group.rest.empty()) return std::nullopt;
  return group;
}

std::vector<std::vector<NodeId>> ProductGroups(const Graph& graph, const std::vector<bool>& able) {
  std::vector<std::vector<NodeId>> groups;
  std::map<ValueId, std::vector<NodeId>> together;  // the products of each input
  std::map<ValueId, size_t> counts;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    auto product = ReadProduct(graph, NodeId(n));
    if (!product) continue;
    const auto grown = GrowElementwise(graph, able, NodeId(n));
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
