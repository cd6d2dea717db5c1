// The one stable topological sort of the project: of a graph's nodes when it is frozen, and of a
// model file's nodes before that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pt {

struct TopologicalOrder {
  std::vector<uint32_t> order;  // every kept node after those it depends on, otherwise in the given order
  std::vector<uint32_t> cycle;  // not empty: there is no order; each node here depends on the next,
                                // the last on the first
};

// Node i depends on edges[first[i]] … edges[first[i + 1] - 1]; first has one entry more than there
// are nodes. keep (empty = all) says which nodes matter; edges to others are ignored. Linear time,
// flat stack.
TopologicalOrder StableTopologicalOrder(std::span<const uint32_t> first, std::span<const uint32_t> edges,
                                        const std::vector<bool>& keep = {});

}  // namespace pt
