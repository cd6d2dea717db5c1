// Experts of a mixture: each token by the matrices of those that it has chosen, and by no others.
#pragma once

#include "lib/backend/host_kernels/operator.h"
#include "partitiontuner/graph/experts.h"

namespace pt::host {

// Groups worth offering.
std::vector<std::vector<NodeId>> ExpertGroups(const Graph& graph);

// The site's nodes, which the experts were read from. kUnsupported where types or dims do not fit.
Result<HostRoutine> MakeExperts(const HostSite& site, const Experts& experts);

}  // namespace pt::host
