// Rows gathered from what a Concat joins along the same axis, without writing the whole first: caches that are picked
// from a past, new tokens and what fills them up.
#pragma once

#include <optional>
#include <vector>

#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

// Concat, and the Gather that alone reads it.
struct GatherJoined {
  NodeId concat, gather;
  size_t axis = 0;
};

// nullopt where the nodes are not these two.
std::optional<GatherJoined> ReadGatherJoined(const Graph& graph, std::span<const NodeId> nodes);

// All there are.
std::vector<std::vector<NodeId>> GatherJoinedGroups(const Graph& graph);

// The site's nodes, which the group was read from. kUnsupported where types or dims do not fit.
Result<HostRoutine> MakeGatherJoined(const HostSite& site, const GatherJoined& group);

}  // namespace pt::host
