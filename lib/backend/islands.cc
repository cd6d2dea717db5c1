#include "partitiontuner/backend/islands.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "partitiontuner/graph/uses.h"

namespace pt {
namespace {

constexpr size_t kMostStretches = 32;  // of an island

using Groups = std::vector<std::vector<NodeId>>;

// visit(index) of every node that makes an input of the node.
template <typename Visit>
void VisitMakers(const Graph& graph, const Node& node, const Visit& visit) {
  for (const ValueId input : node.inputs) {
    if (input.valid() && graph.value(input).producer.valid()) visit(graph.value(input).producer.index());
  }
}

// How many nodes that are not taken lie on the way to each node, at most. It never falls along an edge, and rises
// behind such a node: so no path leaves the nodes of one level and comes back but through taken nodes of that level.
std::vector<uint32_t> Levels(const Graph& graph, const std::vector<bool>& taken) {
  std::vector<uint32_t> levels(graph.nodes().size(), 0);
  for (size_t i = 0; i < levels.size(); ++i) {
    VisitMakers(graph, graph.nodes()[i],
                [&](size_t maker) { levels[i] = std::max(levels[i], levels[maker] + (taken[maker] ? 0 : 1)); });
  }
  return levels;
}

uint32_t RootOf(std::vector<uint32_t>& parents, uint32_t i) {
  while (parents[i] != i) i = parents[i] = parents[parents[i]];
  return i;
}

// By their roots, those of two nodes or more.
Groups Gather(std::vector<uint32_t>& parents) {
  Groups by_root(parents.size()), groups;
  for (uint32_t i = 0; i < parents.size(); ++i) by_root[RootOf(parents, i)].push_back(NodeId(i));
  for (auto& group : by_root) {
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<uint32_t> Alone(const Graph& graph) {
  std::vector<uint32_t> parents(graph.nodes().size());
  std::iota(parents.begin(), parents.end(), 0u);
  return parents;
}

Groups MaximalGroups(const Graph& graph, const std::vector<bool>& taken, const std::vector<uint32_t>& levels) {
  std::vector<uint32_t> parents = Alone(graph);
  for (uint32_t i = 0; i < parents.size(); ++i) {
    if (!taken[i]) continue;
    VisitMakers(graph, graph.nodes()[i], [&](size_t maker) {
      if (!taken[maker] || levels[maker] != levels[i]) return;
      const uint32_t a = RootOf(parents, i), b = RootOf(parents, static_cast<uint32_t>(maker));
      parents[std::max(a, b)] = std::min(a, b);
    });
  }
  return Gather(parents);
}

// Nothing leaves a chain but its last results, so it is convex whatever else its nodes read. Where several results meet
// in a node, it goes on with the chain of the one made last.
Groups Chains(const Graph& graph, const std::vector<bool>& taken, const std::vector<uint32_t>& levels) {
  std::vector<uint32_t> parents = Alone(graph);
  for (uint32_t i = 0; i < parents.size(); ++i) {
    if (!taken[i]) continue;
    std::optional<uint32_t> last;
    VisitMakers(graph, graph.nodes()[i], [&](size_t maker) {
      const Node& node = graph.nodes()[maker];
      const bool ends_here = node.outputs.size() == 1 && OnlyReader(graph, node.outputs[0]) == NodeId(i);
      if (ends_here && taken[maker] && levels[maker] == levels[i])
        last = std::max<uint32_t>(last.value_or(0), static_cast<uint32_t>(maker));
    });
    if (last) parents[i] = RootOf(parents, *last);
  }
  return Gather(parents);
}

// Positions in the island behind which one value of its own is read by what follows, no more; and its end. Any of its
// nodes in a row are convex: they ascend, and no path leaves the island and comes back.
std::vector<size_t> Cuts(const Graph& graph, const std::vector<NodeId>& island) {
  std::vector<int32_t> begins(island.size() + 1, 0), ends(island.size() + 1, 0);
  for (size_t i = 0; i < island.size(); ++i) {
    for (const ValueId output : graph.node(island[i]).outputs) {
      if (!output.valid()) continue;
      size_t last = i;  // of its readers
      for (const Use& use : graph.value(output).uses) {
        const auto at = std::ranges::lower_bound(island, use.node);
        if (at == island.end() || *at != use.node) continue;
        last = std::max(last, static_cast<size_t>(at - island.begin()));
      }
      if (last == i) continue;
      ++begins[i];
      ++ends[last];
    }
  }
  std::vector<size_t> cuts;
  int32_t open = 0;
  for (size_t i = 0; i + 1 < island.size(); ++i) {
    open += begins[i] - ends[i];
    if (open == 1) cuts.push_back(i + 1);
  }
  cuts.push_back(island.size());
  return cuts;
}

// At most kMostStretches of them, of about as many nodes each; the last one stays.
std::vector<size_t> Thinned(const std::vector<size_t>& cuts) {
  if (cuts.size() <= kMostStretches) return cuts;
  std::vector<size_t> kept;
  for (size_t i = 1; i <= kMostStretches; ++i) {
    const auto cut = std::ranges::lower_bound(cuts, cuts.back() * i / kMostStretches);
    if (kept.empty() || kept.back() < *cut) kept.push_back(*cut);
  }
  return kept;
}

void AddStretches(const Graph& graph, const std::vector<NodeId>& island, std::set<std::vector<NodeId>>& groups) {
  const std::vector<size_t> cuts = Thinned(Cuts(graph, island));
  for (size_t row = 1; row < cuts.size(); row *= 2) {
    for (size_t first = 0; first < cuts.size(); first += row) {
      const size_t begin = first == 0 ? 0 : cuts[first - 1], end = cuts[std::min(first + row, cuts.size()) - 1];
      if (end - begin > 1)
        groups.emplace(island.begin() + static_cast<std::ptrdiff_t>(begin),
                       island.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
}

}  // namespace

Groups IslandGroups(const Graph& graph, const std::vector<bool>& taken) {
  const std::vector<uint32_t> levels = Levels(graph, taken);
  std::set<std::vector<NodeId>> groups;
  for (auto& island : MaximalGroups(graph, taken, levels)) {
    AddStretches(graph, island, groups);
    groups.insert(std::move(island));
  }
  for (auto& chain : Chains(graph, taken, levels)) groups.insert(std::move(chain));
  return {groups.begin(), groups.end()};
}

}  // namespace pt
