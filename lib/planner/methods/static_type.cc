// static-type: operators known to be heavy go to the accelerator, whatever their size; the rest stays on the host.
// What frameworks do that partition by a list of supported operators.
#include <algorithm>
#include <array>

#include "lib/planner/search/serial_dp.h"
#include "lib/planner/solve.h"

namespace pt {
namespace {

constexpr std::array<std::string_view, 4> kAcceleratedTypes = {"Conv", "ConvTranspose", "Gemm", "MatMul"};

bool IsAccelerated(const Node& node) {
  return node.domain.empty() &&
         std::find(kAcceleratedTypes.begin(), kAcceleratedTypes.end(), node.op) != kAcceleratedTypes.end();
}

bool CanRunOn(const Space& space, NodeId node, DeviceId device) {
  for (uint32_t g : space.groups_of(node)) {
    for (uint32_t o : space.group(g).options) {
      if (space.option(o).device == device) return true;
    }
  }
  return false;
}

}  // namespace

Result<Solved> SolveStaticType(const Space& space, std::string_view) {
  const DeviceId host(0u);
  const DeviceId accelerator(space.platform().devices.size() > 1 ? 1u : 0u);
  std::vector<DeviceId> wanted;  // by node; invalid = any, for neither of the two runs it
  for (size_t n = 0; n < space.graph().nodes().size(); ++n) {
    DeviceId device = IsAccelerated(space.graph().nodes()[n]) ? accelerator : host;
    if (!CanRunOn(space, NodeId(n), device)) device = device == host ? accelerator : host;
    if (!CanRunOn(space, NodeId(n), device)) device = DeviceId();
    wanted.push_back(device);
  }
  SerialRules rules;
  // A group goes where its accelerated nodes go: what is fused to a convolution travels with it.
  rules.allowed = [&](const Option& option) {
    const Group& group = space.group(option.group);
    bool accelerated = false;
    for (NodeId node : group.nodes) accelerated |= IsAccelerated(space.graph().node(node));
    return std::all_of(group.nodes.begin(), group.nodes.end(), [&](NodeId node) {
      if (accelerated && !IsAccelerated(space.graph().node(node))) return true;
      return !wanted[node.index()].valid() || wanted[node.index()] == option.device;
    });
  };
  Result<Solution> solution = SolveSerial(space, rules);
  if (!solution.ok()) return solution.error();
  return Solved{std::move(*solution)};
}

}  // namespace pt
