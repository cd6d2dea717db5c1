// Convolutions of images in float32, those of one spatial dim as images of one row, with constant filters, alone or
// with an activation that keeps results within bounds: which this library runs, and what their kernels have in common.
#pragma once

#include <optional>

#include "lib/backend/host_kernels/arrangement.h"
#include "lib/backend/host_kernels/kernels/bounds.h"
#include "lib/backend/host_kernels/operator.h"
#include "partitiontuner/backend/window_parameters.h"

namespace pt::host {

// A Conv, alone or with the Relu or Clip behind it.
struct ConvolutionGroup {
  NodeId convolution, activation;  // invalid: none
  Bounds bounds = {};              // that the activation keeps
};

// nullopt where the nodes are not such a group, or there is no kernel for it.
std::optional<ConvolutionGroup> ReadConvolution(const Graph& graph, std::span<const NodeId> nodes);

// How its images may lie, all of them alike, the usual way first.
std::vector<Arrangement> ArrangementsOf(const Graph& graph, const ConvolutionGroup& group);

// Groups of several nodes worth offering.
std::vector<std::vector<NodeId>> ConvolutionGroups(const Graph& graph);

// The site's nodes, which the group was read from. kUnsupported where types or dims do not fit.
Result<HostRoutine> MakeConvolution(const HostSite& site, const ConvolutionGroup& group);

// What decides which kernel is for a convolution.
struct FilterDims {
  int64_t groups = 1, group_in = 1, group_out = 1;  // the latter two: channels of a group
  int64_t window = 1;                               // elements of it
};

// Images and where they lie. Strides are in elements.
struct Images {
  size_t place = 0;  // into the site's inputs or outputs
  int64_t channels = 0, rows = 0, columns = 0;
  int64_t image_stride = 0, channel_stride = 0, row_stride = 0, pixel_stride = 0;
  int64_t block = INT64_MAX, block_stride = 0;  // that many channels lie together

  int64_t OffsetOf(int64_t channel) const { return channel / block * block_stride + channel % block; }
};

// A group with all that its kernel needs to know of it.
struct Convolution {
  Images x, y;
  int64_t images = 0, groups = 1;
  Tensor filters;                // output channels x input channels of a group x rows x columns, or x columns alone
  std::vector<float> bias;       // of the output channels; empty: none
  WindowParameters window;       // of rows, then of columns
  std::optional<Bounds> bounds;  // of the results

  double macs_of_row() const {  // of one image's result, all channels
    return static_cast<double>(y.columns) * static_cast<double>(filters.element_count());
  }
};

// With images stored as float32, or bfloat16 in its place. kUnsupported where types or dims do not fit.
Result<Convolution> ReadShapes(const HostSite& site, const ConvolutionGroup& group,
                               DataType stored = DataType::kFloat32);

// What a group reads and makes in place of the Conv's own values: other nodes of it may stand around this one.
struct ConvolutionOperands {
  ValueId x;
  Tensor filters;
  DataType x_stored = DataType::kFloat32, y_stored = DataType::kFloat32;  // of the group's only result
};
// The same, without bounds.
Result<Convolution> ReadShapes(const HostSite& site, NodeId convolution, const ConvolutionOperands& operands);

}  // namespace pt::host
