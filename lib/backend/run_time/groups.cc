#include "lib/backend/run_time/groups.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "partitiontuner/backend/attention_pattern.h"
#include "partitiontuner/backend/elementwise_groups.h"

namespace pt::run_time {
namespace {

constexpr std::array<std::string_view, 44> kElementwise = {
    "Abs",   "Add",      "And",      "Ceil",       "Celu", "Clip",    "Cos",         "Div",       "Elu",
    "Equal", "Erf",      "Exp",      "Floor",      "Gelu", "Greater", "HardSigmoid", "HardSwish", "LeakyRelu",
    "Less",  "Log",      "Max",      "Mean",       "Min",  "Mish",    "Mul",         "Neg",       "Not",
    "Or",    "PRelu",    "Pow",      "Reciprocal", "Relu", "Round",   "Selu",        "Sigmoid",   "Sign",
    "Sin",   "Softplus", "Softsign", "Sqrt",       "Sub",  "Sum",     "Tanh",        "Where"};
// Operators of which every kernel but the plain one passes over NaN.
constexpr std::array<std::string_view, 3> kPassingOverNan = {"GlobalMaxPool", "MaxPool", "RNN"};
constexpr std::array<std::string_view, 4> kProducts = {"MatMul", "Gemm", "Conv", "ConvTranspose"};

template <size_t N>
bool IsOneOf(const std::array<std::string_view, N>& names, const Node& node) {
  return node.domain.empty() && std::ranges::find(names, node.op) != names.end();
}

}  // namespace

std::vector<std::vector<NodeId>> Groups(const Graph& graph, const std::vector<bool>& able) {
  std::vector<bool> elementwise(able.size());
  for (size_t n = 0; n < able.size(); ++n) elementwise[n] = able[n] && IsOneOf(kElementwise, graph.nodes()[n]);
  std::vector<std::vector<NodeId>> groups = ElementwiseGroups(graph, elementwise);
  std::set<std::vector<NodeId>> seen(groups.begin(), groups.end());
  const auto offer = [&](const std::vector<NodeId>& nodes) {
    const bool all = std::ranges::all_of(nodes, [&](NodeId node) { return able[node.index()]; });
    if (all && nodes.size() > 1 && seen.insert(nodes).second) groups.push_back(nodes);
  };
  for (uint32_t n = 0; n < able.size(); ++n) {
    if (!able[n]) continue;
    const NodeId node(n);
    if (IsOneOf(kProducts, graph.node(node))) {
      const std::vector<std::vector<NodeId>> grown = GrowElementwise(graph, elementwise, node);
      if (!grown.empty()) offer(grown.front());
      if (!grown.empty()) offer(grown.back());
    }
    if (const auto attention = FindAttention(graph, node)) offer(attention->nodes);
  }
  return groups;
}

bool MayLoseNan(const Graph& graph, std::span<const NodeId> nodes) {
  return std::ranges::any_of(nodes, [&](NodeId id) { return IsOneOf(kPassingOverNan, graph.node(id)); });
}

}  // namespace pt::run_time
