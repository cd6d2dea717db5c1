#include "lib/planner/schedule/device_rules.h"

#include <algorithm>

namespace pt {

DeviceRules::DeviceRules(const Space& space) : space_(space) {
  const auto& together = space.problem().constraints.together;
  if (together.empty()) return;
  class_of_.assign(space.graph().nodes().size(), kNothing);
  for (uint32_t c = 0; c < together.size(); ++c) {
    for (NodeId node : together[c]) class_of_[node.index()] = c;
  }
}

std::span<const NodeId> DeviceRules::mates(NodeId node) const {
  if (class_of_.empty() || class_of_[node.index()] == kNothing) return {};
  return space_.problem().constraints.together[class_of_[node.index()]];
}

uint64_t DeviceRules::resident_bytes(NodeId node) const {
  const std::vector<uint64_t>& resident = space_.problem().constraints.resident_bytes;
  return node.index() < resident.size() ? resident[node.index()] : 0;
}

uint64_t DeviceRules::cap(DeviceId device) const {
  const auto& caps = space_.problem().constraints.resident_caps;
  const auto found = caps.find(device);
  return found == caps.end() ? kEnough : found->second;
}

std::vector<DeviceId> DeviceRules::DevicesOf(const Solution& solution) const {
  std::vector<DeviceId> device_of(space_.graph().nodes().size());
  for (const Choice& choice : solution) {
    const Option& option = space_.option(choice.option);
    for (NodeId node : space_.group(option.group).nodes) device_of[node.index()] = option.device;
  }
  return device_of;
}

std::vector<uint64_t> DeviceRules::ResidentOn(const std::vector<DeviceId>& device_of) const {
  std::vector<uint64_t> resident(space_.platform().devices.size(), 0);
  const size_t known = std::min(device_of.size(), space_.problem().constraints.resident_bytes.size());
  for (size_t n = 0; n < known; ++n) resident[device_of[n].index()] += resident_bytes(NodeId(n));
  return resident;
}

Breach DeviceRules::BreachOf(const Solution& solution) const {
  Breach breach;
  if (empty()) return breach;
  const std::vector<DeviceId> device_of = DevicesOf(solution);
  for (const std::vector<NodeId>& nodes : space_.problem().constraints.together) {
    for (NodeId node : nodes) breach.apart += device_of[node.index()] != device_of[nodes.front().index()];
  }
  const std::vector<uint64_t> resident = ResidentOn(device_of);
  for (size_t d = 0; d < resident.size(); ++d) {
    const uint64_t most = cap(DeviceId(d));
    if (resident[d] > most) breach.bytes += resident[d] - most;
  }
  return breach;
}

std::vector<uint32_t> DeviceRules::Breaching(const Solution& solution) const {
  std::vector<uint32_t> found;
  if (empty()) return found;
  const std::vector<DeviceId> device_of = DevicesOf(solution);
  const std::vector<uint64_t> resident = ResidentOn(device_of);
  const auto breaches = [&](NodeId node) {
    const DeviceId device = device_of[node.index()];
    if (resident_bytes(node) > 0 && resident[device.index()] > cap(device)) return true;
    return std::ranges::any_of(mates(node), [&](NodeId mate) { return device_of[mate.index()] != device; });
  };
  for (uint32_t c = 0; c < solution.size(); ++c) {
    if (std::ranges::any_of(space_.group_of(solution[c].option).nodes, breaches)) found.push_back(c);
  }
  return found;
}

Status DeviceRules::Check(const Solution& solution) const {
  if (!BreachOf(solution).any()) return {};
  const Graph& graph = space_.graph();
  const Platform& platform = space_.platform();
  const std::vector<DeviceId> device_of = DevicesOf(solution);
  for (const std::vector<NodeId>& nodes : space_.problem().constraints.together) {
    for (NodeId node : nodes) {
      const DeviceId first = device_of[nodes.front().index()], here = device_of[node.index()];
      if (here == first) continue;
      return MakeError(ErrorCode::kInfeasible, "planner.apart",
                       NodeLabel(graph, nodes.front()) + " and " + NodeLabel(graph, node) +
                           " must share a device, but are on " + platform.device(first).name + " and " +
                           platform.device(here).name);
    }
  }
  const std::vector<uint64_t> resident = ResidentOn(device_of);
  for (size_t d = 0; d < resident.size(); ++d) {
    if (resident[d] <= cap(DeviceId(d))) continue;
    return MakeError(ErrorCode::kOutOfMemory, "planner.resident",
                     "the nodes on " + platform.devices[d].name + " keep " + std::to_string(resident[d]) +
                         " bytes there, which has " + std::to_string(cap(DeviceId(d))));
  }
  return {};
}

}  // namespace pt
