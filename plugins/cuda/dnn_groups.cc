#include "plugins/cuda/dnn_groups.h"

#include <algorithm>
#include <array>

#include "partitiontuner/backend/attention_pattern.h"
#include "partitiontuner/graph/uses.h"
#include "plugins/cuda/attention.h"

namespace pt::cuda {
namespace {

// The value's two readers where they are a Sigmoid and the multiplication by its result, and nothing else needs either.
std::vector<NodeId> SwishOf(const Graph& graph, ValueId value) {
  const std::vector<Use>& uses = graph.value(value).uses;
  if (uses.size() != 2 || graph.value(value).is_graph_output) return {};
  for (const Use& use : uses) {
    const Node& sigmoid = graph.node(use.node);
    if (!sigmoid.domain.empty() || sigmoid.op != "Sigmoid") continue;
    const NodeId product = OnlyReader(graph, sigmoid.outputs[0]);
    if (product.valid() && MultipliesItself(sigmoid, graph.node(product))) return {use.node, product};
  }
  return {};
}

// What is not attention begins with one of these.
bool BeginsWithImage(const Node& node) {
  return node.domain.empty() &&
         (IsDnnConvolution(node) || IsDnnPool(node) || IsDnnNormalisation(node) || node.op == "BatchNormalization");
}

}  // namespace

bool IsDnnConvolution(const Node& node) { return node.op == "Conv" || node.op == "ConvTranspose"; }
bool IsDnnPool(const Node& node) {
  return node.op.ends_with("Pool") && node.op != "LpPool" && node.op != "GlobalLpPool";
}
bool IsDnnNormalisation(const Node& node) {
  return node.op == "LayerNormalization" || node.op == "RMSNormalization" || node.op == "InstanceNormalization";
}
bool IsDnnActivation(const Node& node) {
  static constexpr std::array kOps = {"Relu", "LeakyRelu", "Clip", "Sigmoid", "Tanh", "Elu", "Gelu", "Swish"};
  return std::ranges::find(kOps, node.op) != kOps.end();
}

// Whether the node multiplies what the sigmoid made by what that was made of.
bool MultipliesItself(const Node& sigmoid, const Node& node) {
  if (!node.domain.empty() || node.op != "Mul" || sigmoid.op != "Sigmoid") return false;
  const ValueId x = sigmoid.inputs[0], y = sigmoid.outputs[0];
  return (node.inputs[0] == x && node.inputs[1] == y) || (node.inputs[0] == y && node.inputs[1] == x);
}

bool MayBeDnnGraph(const Graph& graph, std::span<const NodeId> nodes) {
  return BeginsWithImage(graph.node(nodes.front())) || IsAttention(graph, nodes);
}

bool MayBeChannelsLast(const Graph& graph, std::span<const NodeId> nodes) {
  const Node& node = graph.node(nodes.front());
  return BeginsWithImage(node) && node.op != "LayerNormalization" && node.op != "RMSNormalization";
}

std::vector<std::vector<NodeId>> DnnGroups(const Graph& graph) {
  constexpr size_t kMostNodes = 4;
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& first = graph.node(NodeId(n));
    if (const auto attention = FindAttention(graph, NodeId(n))) groups.push_back(attention->nodes);
    if (!BeginsWithImage(first) || IsDnnPool(first) || IsDnnNormalisation(first)) continue;
    std::vector<NodeId> nodes = {NodeId(n)};
    while (nodes.size() < kMostNodes && first.outputs[0].valid()) {
      const ValueId last = graph.node(nodes.back()).outputs[0];
      if (const std::vector<NodeId> swish = SwishOf(graph, last); !swish.empty()) {
        groups.push_back(nodes);
        groups.back().insert(groups.back().end(), swish.begin(), swish.end());
        break;
      }
      const NodeId next = OnlyReader(graph, last);
      if (!next.valid() || (graph.node(next).op != "Add" && !IsDnnActivation(graph.node(next)))) break;
      nodes.push_back(next);
      groups.push_back(nodes);
      if (IsDnnActivation(graph.node(next))) break;
    }
  }
  return groups;
}

}  // namespace pt::cuda
