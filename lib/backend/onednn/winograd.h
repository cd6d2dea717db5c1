// Convolutions whose window is 3 or more and moves by one along one or two dims, by Winograd's minimal filtering:
// transforms of our own around oneDNN's products of matrices. A quarter (tiles of 4x4) or less than a half (2x2) of the
// multiplications of the direct kernels, for more memory traffic and larger rounding errors; see
// docs/decisions/0008-winograd.md.
#pragma once

#include "lib/backend/onednn/family.h"
#include "lib/backend/onednn/winograd_transform.h"
#include "partitiontuner/backend/backend.h"

namespace pt::onednn {

// Of the ways that mean Winograd.
std::optional<int64_t> WinogradTile(Way way);
// Whether the group may be worth proposing so at all: window, stride, channels.
bool IsWinogradShape(const Graph& graph, const FusionGroup& group);

// What a step on the results reads in addition to its numbers.
struct WinogradOperation {
  WinogradStep step;
  std::optional<Tensor> channel;         // one number for each output channel
  std::optional<uint32_t> tensor_input;  // index into the group's inputs
};

struct WinogradDescriptor {
  WinogradSizes sizes;
  ChannelPlanes in, out;
  uint32_t source = 0;  // index into the group's inputs
  Tensor weights;       // [out, in, ...window]
  std::vector<WinogradOperation> operations;
  std::vector<uint32_t> in_place;  // inputs whose buffer the output may share

  // Tiles are worked on in pieces of `piece` (the last of `tail`). `workers` at a time take a piece each; or, where the
  // weights are too large to be read by every core, all cores work on one piece, each on some of its products: then
  // `parts` is above 1.
  int64_t piece = 0, tail = 0, pieces = 0, workers = 1, parts = 1;
  int64_t in_stride = 0, out_stride = 0;       // from product to product in scratch, in elements
  dnnl::matmul::primitive_desc product, rest;  // of a part of a piece, and of the last piece

  int64_t products_per_part() const { return sizes.products() / parts; }
  int64_t executors() const { return parts > 1 ? parts : workers; }  // products computed at the same time
  uint64_t scratch_bytes() const;
  uint64_t constant_bytes() const;
};

// For `width` cores, in tiles of 2 or 4; kUnsupported where it cannot be done so.
Result<WinogradDescriptor> DescribeWinograd(const Request& request, int64_t tile, uint32_t width);
Result<std::unique_ptr<Kernel>> MakeWinogradKernel(const dnnl::engine& engine, WinogradDescriptor descriptor,
                                                   CompileContext& context);

}  // namespace pt::onednn
