// Group and instance normalisation of float32 images as one kernel with what is element-wise behind it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

struct PlaneNormalizationGroup {
  NodeId normalization;
  std::vector<NodeId> rest;  // element-wise, one at least
};

// nullopt where the nodes are not such a group.
std::optional<PlaneNormalizationGroup> ReadPlaneNormalization(const Graph& graph, std::span<const NodeId> nodes);

// Groups worth offering; able: the element-wise nodes that this library runs.
std::vector<std::vector<NodeId>> PlaneNormalizationGroups(const Graph& graph, const std::vector<bool>& able);

// The site's nodes, which the group was read from. kUnsupported where types, dims or layouts do not fit.
Result<HostRoutine> MakePlaneNormalization(const HostSite& site, const PlaneNormalizationGroup& group);

}  // namespace pt::host
