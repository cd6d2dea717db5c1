// Depthwise convolutions of channels-last images, with an activation that keeps results within bounds.
#pragma once

#include <optional>

#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

// A Conv with a filter for each channel, alone or with the Relu or Clip behind it.
struct DepthwiseGroup {
  NodeId convolution, activation;  // invalid: none
  float low = 0, high = 0;
};

// nullopt where the nodes are no such group. Its tensors are channels-last.
std::optional<DepthwiseGroup> ReadDepthwise(const Graph& graph, std::span<const NodeId> nodes);

// Groups of several nodes worth offering.
std::vector<std::vector<NodeId>> DepthwiseGroups(const Graph& graph);

// The site's nodes, which the group was read from. kUnsupported where types or dims do not fit.
Result<Routine> MakeDepthwise(const Site& site, const DepthwiseGroup& group);

}  // namespace pt::host
