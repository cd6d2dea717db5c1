// Convolutions of row-major images with few filters, with an activation that keeps results within bounds. Libraries
// that compute many filters at once, one in each lane of a vector, leave most lanes empty there: here lanes are
// neighbours along a row.
#pragma once

#include <optional>

#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

// A Conv, alone or with the Relu or Clip behind it.
struct FewFiltersGroup {
  NodeId convolution, activation;  // invalid: none
  float low = 0, high = 0;
};

// nullopt where the nodes are no such group. Its tensors are row-major.
std::optional<FewFiltersGroup> ReadFewFilters(const Graph& graph, std::span<const NodeId> nodes);

// Groups of several nodes worth offering.
std::vector<std::vector<NodeId>> FewFiltersGroups(const Graph& graph);

// The site's nodes, which the group was read from. kUnsupported where types or dims do not fit.
Result<Routine> MakeFewFilters(const Site& site, const FewFiltersGroup& group);

}  // namespace pt::host
