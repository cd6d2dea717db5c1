// per-op: each node on its fastest device, as if moving data were free. Shows what ignoring transfers costs.
#include <algorithm>

#include "lib/planner/serial_dp.h"
#include "lib/planner/solve.h"

namespace pt {

Result<Solved> SolvePerOp(const Space& space, std::string_view) {
  std::vector<DeviceId> fastest;  // by node; invalid = no candidate of its own, only within groups
  for (size_t n = 0; n < space.graph().nodes().size(); ++n) {
    const uint32_t single = space.single_group(NodeId(n));
    const bool runs = single != kNothing && !space.group(single).options.empty();
    fastest.push_back(runs ? space.option(space.group(single).options.front()).device : DeviceId());
  }
  SerialRules rules;
  rules.ignore_transfers = true;
  rules.allowed = [&](const Option& option) {
    const std::vector<NodeId>& nodes = space.group(option.group).nodes;
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
      return !fastest[node.index()].valid() || fastest[node.index()] == option.device;
    });
  };
  Result<Solution> solution = SolveSerial(space, rules);
  if (!solution.ok()) return solution.error();
  return Solved{std::move(*solution)};
}

}  // namespace pt
