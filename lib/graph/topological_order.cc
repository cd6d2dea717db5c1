#include "partitiontuner/graph/topological_order.h"

#include <cassert>

namespace pt {

TopologicalOrder StableTopologicalOrder(std::span<const uint32_t> first, std::span<const uint32_t> edges,
                                        const std::vector<bool>& keep) {
  assert(!first.empty());
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Frame {
    uint32_t node;
    uint32_t next_edge;
  };
  const auto count = static_cast<uint32_t>(first.size() - 1);
  const auto kept = [&](uint32_t node) { return keep.empty() || keep[node]; };
  std::vector<State> state(count, State::kNew);
  std::vector<Frame> stack;  // the path being explored: chains of 50,000 nodes are ordinary
  TopologicalOrder result;
  result.order.reserve(count);
  const auto enter = [&](uint32_t node) {
    state[node] = State::kOpen;
    stack.push_back({node, first[node]});
  };
  for (uint32_t root = 0; root < count; ++root) {
    if (!kept(root) || state[root] != State::kNew) continue;
    enter(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next_edge == first[frame.node + 1]) {
        state[frame.node] = State::kDone;
        result.order.push_back(frame.node);
        stack.pop_back();
        continue;
      }
      const uint32_t next = edges[frame.next_edge++];
      if (!kept(next) || state[next] == State::kDone) continue;
      if (state[next] == State::kOpen) {
        size_t from = stack.size();
        while (stack[--from].node != next) {
        }
        for (; from < stack.size(); ++from) result.cycle.push_back(stack[from].node);
        return result;
      }
      enter(next);
    }
  }
  return result;
}

}  // namespace pt
