#include <algorithm>

#include "lib/backend/host_kernels/clip_bounds.h"
#include "lib/backend/host_kernels/products/integer_product.h"
#include "partitiontuner/backend/elementwise_groups.h"
#include "partitiontuner/graph/uses.h"

namespace pt::host {
namespace {

bool IsOp(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

bool IsProduct(const Node& node) { return IsOp(node, "MatMulInteger") || IsOp(node, "ConvInteger"); }

ValueId InputOf(const Node& node, size_t i) { return i < node.inputs.size() ? node.inputs[i] : ValueId(); }

IntegerProduct AnchorOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  IntegerProduct product;
  product.node = id;
  product.convolution = node.op == "ConvInteger";
  product.a = InputOf(node, 0);
  product.b = InputOf(node, 1);
  product.a_zero = InputOf(node, 2);
  product.b_zero = InputOf(node, 3);
  if (product.convolution) {
    std::swap(product.a, product.b);
    std::swap(product.a_zero, product.b_zero);
  }
  product.result = node.outputs[0];
  product.nodes = {id};
  return product;
}

class Reader {
 public:
  Reader(const Graph& graph, std::span<const NodeId> nodes) : graph_(graph), nodes_(nodes) {}

  std::optional<IntegerProduct> Read() {
    const auto anchor = std::ranges::find_if(nodes_, [&](NodeId id) { return IsProduct(graph_.node(id)); });
    if (anchor == nodes_.end()) return std::nullopt;
    product_ = AnchorOf(graph_, *anchor);
    if (TakeScale()) {
      TakeBias();
      TakeBounds();
    }
    for (NodeId id : nodes_) {
      if (IsProduct(graph_.node(id)) && id != product_.node) return std::nullopt;
      if (std::ranges::find(product_.nodes, id) == product_.nodes.end()) product_.rest.push_back(id);
    }
    std::ranges::sort(product_.nodes);
    return std::move(product_);
  }

 private:
  // The one node that reads the value, if it belongs to the group.
  NodeId ReaderInside(ValueId value) const {
    const NodeId reader = OnlyReader(graph_, value);
    return reader.valid() && IsInside(reader) ? reader : NodeId();
  }
  bool IsInside(NodeId id) const { return std::ranges::find(nodes_, id) != nodes_.end(); }

  std::optional<std::vector<int64_t>> ResultDims() const { return graph_.value(product_.result).type.static_dims(); }

  std::optional<Spread> SpreadOf(ValueId value) const {
    const auto dims = graph_.value(value).type.static_dims(), result = ResultDims();
    if (!dims || !result || graph_.value(value).type.type != DataType::kFloat32 || dims->size() > result->size()) {
      return std::nullopt;
    }
    const size_t lead = result->size() - dims->size();
    std::optional<size_t> along;
    for (size_t d = 0; d < dims->size(); ++d) {
      if ((*dims)[d] == 1) continue;
      if (along || (*dims)[d] != (*result)[lead + d]) return std::nullopt;
      along = lead + d;
    }
    if (!along) return Spread::kOne;
    if (product_.convolution) return *along == 1 ? std::optional(Spread::kRows) : std::nullopt;
    return *along + 1 == result->size() ? std::optional(Spread::kColumns) : std::nullopt;
  }

  // The dims of what the node makes are those of the product.
  bool KeepsDims(NodeId id) const {
    return graph_.value(graph_.node(id).outputs[0]).type.dims == graph_.value(product_.result).type.dims;
  }

  static ValueId Other(const Node& node, ValueId value) { return node.inputs[node.inputs[0] == value ? 1 : 0]; }

  // Takes Cast and Mul behind the sums, with the Mul that makes the scale for them alone where that belongs to the
  // group.
  bool TakeScale() {
    const NodeId cast = ReaderInside(product_.result);
    if (!cast.valid() || !IsOp(graph_.node(cast), "Cast")) return false;
    const ValueId real = graph_.node(cast).outputs[0];
    const NodeId mul = ReaderInside(real);
    if (graph_.value(real).type.type != DataType::kFloat32 || !mul.valid() || !IsOp(graph_.node(mul), "Mul")) {
      return false;
    }
    const ValueId scale = Other(graph_.node(mul), real);
    if (scale == real || !KeepsDims(mul)) return false;
    std::vector<ValueId> factors{scale};
    const NodeId maker = graph_.value(scale).producer;
    const bool own = maker.valid() && IsInside(maker);
    if (own) {
      if (!IsOp(graph_.node(maker), "Mul") || OnlyReader(graph_, scale) != mul) return false;
      factors = {graph_.node(maker).inputs[0], graph_.node(maker).inputs[1]};
    }
    for (ValueId factor : factors) {
      const auto spread = SpreadOf(factor);
      const NodeId producer = graph_.value(factor).producer;
      if (!spread || (producer.valid() && IsInside(producer))) return false;
      product_.scales.emplace_back(factor, *spread);
    }
    product_.nodes.insert(product_.nodes.end(), {cast, mul});
    if (own) product_.nodes.push_back(maker);
    product_.result = graph_.node(mul).outputs[0];
    product_.is_real = true;
    return true;
  }

  void TakeBias() {
    const NodeId add = ReaderInside(product_.result);
    if (!add.valid() || !IsOp(graph_.node(add), "Add") || !KeepsDims(add)) return;
    const ValueId other = Other(graph_.node(add), product_.result);
    const auto spread = SpreadOf(other);
    if (!graph_.value(other).is_constant() || !spread) return;
    product_.bias = graph_.value(other).constant;
    product_.bias_spread = *spread;
    product_.nodes.push_back(add);
    product_.result = graph_.node(add).outputs[0];
  }

  void TakeBounds() {
    const auto activation = ActivationBehind(graph_, product_.result);
    if (!activation || !IsInside(activation->node)) return;
    product_.bounds = activation->bounds;
    product_.nodes.push_back(activation->node);
    product_.result = graph_.node(activation->node).outputs[0];
  }

  const Graph& graph_;
  std::span<const NodeId> nodes_;
  IntegerProduct product_;
};

// The group with the node that multiplies the scales for it alone.
std::vector<NodeId> WithScale(const Graph& graph, std::vector<NodeId> nodes) {
  const size_t grown = nodes.size();
  for (size_t i = 0; i < grown; ++i) {
    if (!IsOp(graph.node(nodes[i]), "Mul")) continue;
    for (ValueId input : graph.node(nodes[i]).inputs) {
      const NodeId maker = graph.value(input).producer;
      if (!maker.valid() || !IsOp(graph.node(maker), "Mul") || OnlyReader(graph, input) != nodes[i]) continue;
      std::vector<NodeId> more = nodes;
      more.insert(std::ranges::lower_bound(more, maker), maker);
      const auto product = ReadIntegerProduct(graph, more);
      const bool known = std::ranges::find(nodes, maker) != nodes.end();
      if (!known && product && std::ranges::find(product->nodes, maker) != product->nodes.end()) return more;
    }
  }
  return nodes;
}

}  // namespace

std::optional<IntegerProduct> ReadIntegerProduct(const Graph& graph, std::span<const NodeId> nodes) {
  return Reader(graph, nodes).Read();
}

std::vector<std::vector<NodeId>> IntegerProductGroups(const Graph& graph, const std::vector<bool>& able) {
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (!IsProduct(graph.node(NodeId(n)))) continue;
    const auto grown = GrowElementwise(graph, able, NodeId(n));
    if (grown.empty()) continue;
    const std::vector<NodeId> largest = WithScale(graph, grown.back());
    groups.push_back(largest);
    // As far as the product itself goes, for where something else is better behind it.
    const auto product = ReadIntegerProduct(graph, largest);
    if (product && !product->rest.empty() && product->nodes.size() > 1) groups.push_back(product->nodes);
  }
  return groups;
}

}  // namespace pt::host
