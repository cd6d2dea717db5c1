// Resize and Upsample with constant sizes: what its two files share.
#pragma once

#include "lib/backend/host_kernels/operator.h"
#include "partitiontuner/graph/operators/resize.h"

namespace pt::host {

// A dim as it lies in memory, the outermost first.
struct ResizedMemoryDim {
  ResizedAxis axis;
  bool changes = false;
  int64_t from = 0, to = 0;  // strides in elements
};

// How many of the last `dims` do not change and lie together in both tensors; their elements go to `inner`.
size_t TrailingDims(std::span<const ResizedMemoryDim> dims, int64_t& inner);

// mode "nearest": elements are moved, whatever their type. The extrapolation value is float32, uint8 or int8.
Result<HostRoutine> NearestRoutine(const HostSite& site, const ResizeNode& node,
                                   std::span<const ResizedMemoryDim> dims);

}  // namespace pt::host
