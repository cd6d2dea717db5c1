// per-op: each node on its fastest device, as if copies between devices were free. Shows what ignoring them costs. What
// is fused goes where the heaviest of its nodes is fastest: that a Relu alone is faster elsewhere keeps no convolution
// from taking it along.
#include <algorithm>

#include "lib/planner/search/serial_dp.h"
#include "lib/planner/solve.h"

namespace pt {

Result<Solved> SolvePerOp(const Space& space, std::string_view) {
  std::vector<const Option*> fastest;  // by node; null = no candidate of its own, only within groups
  for (size_t n = 0; n < space.graph().nodes().size(); ++n) {
    const uint32_t single = space.single_group(NodeId(n));
    const bool runs = single != kNothing && !space.group(single).options.empty();
    fastest.push_back(runs ? &space.option(space.group(single).options.front()) : nullptr);
  }
  SerialRules rules;
  rules.ignore_copies = true;
  rules.allowed = [&](const Option& option) {
    const Option* heaviest = nullptr;
    for (NodeId node : space.group(option.group).nodes) {
      const Option* of_node = fastest[node.index()];
      if (of_node != nullptr && (heaviest == nullptr || of_node->ns() > heaviest->ns())) heaviest = of_node;
    }
    return heaviest == nullptr || heaviest->device == option.device;
  };
  PT_ASSIGN(Solution solution, SolveSerial(space, rules));
  return Solved{std::move(solution)};
}

}  // namespace pt
