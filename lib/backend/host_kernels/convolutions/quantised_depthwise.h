// Depthwise convolutions of 8-bit integers, a filter for each channel: the DequantizeLinear of the images and of the
// constant filters, the Conv, and where they follow a Relu or Clip and a QuantizeLinear, as one group. Zero points of
// images may be anywhere; filters less theirs fit into int8.
#pragma once

#include <optional>
#include <vector>

#include "lib/backend/host_kernels/kernels/bounds.h"
#include "lib/backend/host_kernels/operator.h"
#include "partitiontuner/graph/linear_quantisation.h"

namespace pt::host {

struct QuantisedDepthwise {
  NodeId convolution;
  ValueId x, filters;  // integers
  LinearQuantisation x_quantisation, filter_quantisation;
  std::optional<Bounds> bounds = {};                      // that an activation keeps
  std::optional<LinearQuantisation> y_quantisation = {};  // nullopt: the result is float32
  std::vector<NodeId> nodes = {};                         // ascending
};

// nullopt where the nodes are not such a group.
std::optional<QuantisedDepthwise> ReadQuantisedDepthwise(const Graph& graph, std::span<const NodeId> nodes);

// The largest such group around each Conv that has one.
std::vector<std::vector<NodeId>> QuantisedDepthwiseGroups(const Graph& graph);

// The site's nodes, which the group was read from. kUnsupported where types, dims or filters do not fit.
Result<HostRoutine> MakeQuantisedDepthwise(const HostSite& site, const QuantisedDepthwise& group);

}  // namespace pt::host
