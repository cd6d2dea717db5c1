#include "partitiontuner/graph/chance.h"

#include <algorithm>
#include <array>

#include "partitiontuner/graph/makers.h"

namespace pt {
namespace {

constexpr std::array<std::string_view, 6> kRandom = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                                     "RandomUniformLike", "Multinomial",      "Bernoulli"};

bool MayTrain(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return false;
  const std::optional<Tensor>& training = graph.value(node.inputs[2]).constant;
  if (!training) return true;
  return std::ranges::any_of(training->ToInts(), [](int64_t set) { return set != 0; });
}

}  // namespace

bool DrawsAtRandom(const Graph& graph, const Node& node) {
  if (node.domain.empty() && std::find(kRandom.begin(), kRandom.end(), node.op) != kRandom.end()) return true;
  if (node.domain.empty() && node.op == "Dropout") return MayTrain(graph, node);
  return std::ranges::any_of(node.subgraphs, [](const Subgraph& nested) {
    return std::ranges::any_of(nested.graph->nodes(),
                               [&](const Node& inner) { return DrawsAtRandom(*nested.graph, inner); });
  });
}

bool DependsOnChance(const Graph& graph, ValueId value) {
  return LastMaker(graph, value, [&](const Node& node) { return DrawsAtRandom(graph, node); }).valid();
}

}  // namespace pt
