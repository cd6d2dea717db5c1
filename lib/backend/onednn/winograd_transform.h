// The transforms of Winograd's minimal filtering for 3x3 windows of stride 1: F(2x2,3x3) and F(4x4,3x3) (Lavin and
// Gray, "Fast Algorithms for Convolutional Neural Networks", 2015). A tile of `tile` x `tile` results comes from a
// patch of (tile+2) x (tile+2) inputs. Every position of the transformed patch is one product of matrices: over all
// tiles (rows), input channels and output channels. F(4x4) interpolates at 0, ±1/√2, ±√2 and infinity, where its error
// is smaller than at whole numbers. Windows of three dims (k x 3 x 3) sum over k planes as over channels: a row of the
// first matrix then holds the channels of k patches, one from each plane.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pt::onednn {

// Channels come in whole vectors of that many, in every layout.
inline constexpr int64_t kWinogradChannels = 16;

// Where the elements of an NCHW or NCDHW tensor lie; strides in elements. Channel c is at c / block * block_stride + c
// % block.
struct ChannelPlanes {
  int64_t image = 0, block = 1, block_stride = 0, plane = 0, row = 0, column = 0;
};

struct WinogradSizes {
  int64_t tile = 4;
  int64_t batch = 0, in_channels = 0, out_channels = 0;
  int64_t in_height = 0, in_width = 0, out_height = 0, out_width = 0;
  int64_t pad_top = 0, pad_left = 0;
  // Of the dim in front of height and width, whose window may have any size and stride; images have one plane.
  int64_t in_planes = 1, out_planes = 1, window_planes = 1, plane_stride = 1, plane_dilation = 1, pad_front = 0;

  int64_t patch() const { return tile + 2; }
  int64_t products() const { return patch() * patch(); }
  int64_t tiles_high() const { return (out_height + tile - 1) / tile; }
  int64_t tiles_wide() const { return (out_width + tile - 1) / tile; }
  int64_t tiles() const { return batch * out_planes * tiles_high() * tiles_wide(); }
  int64_t row() const { return window_planes * in_channels; }  // what a product sums over
};

// What is done to each result on its way out, in order.
struct WinogradStep {
  enum class Kind : uint8_t {
    kLinear,      // a·y + b
    kClip,        // to [a, b]
    kLeaky,       // a·y below zero
    kAddChannel,  // + channel[c]
    kMulChannel,  // · channel[c]
    kAddTensor,   // + the element at the same place of `tensor`
    kMulTensor,
  };
  Kind kind = Kind::kLinear;
  float a = 1, b = 0;
  const float* channel = nullptr;  // one for each output channel
  const float* tensor = nullptr;
  ChannelPlanes planes;  // of `tensor`
};

// Channels that the processor's vectors hold; blocks of channels must be multiples of it. At most kWinogradChannels.
int64_t WinogradLanes();

// weights: [out, in, window planes, 3, 3]. Into `to`: for each product a matrix [row, out], all of them one after
// another. Computed in double precision and rounded once.
void TransformWeights(const WinogradSizes& sizes, std::span<const float> weights, float* to);

// Tiles first..first+count-1 of x into `patches`: for each product a matrix [count, row], `stride` elements apart.
void TransformInput(const WinogradSizes& sizes, const float* x, const ChannelPlanes& planes, int64_t first,
                    int64_t count, float* patches, int64_t stride);

// The products, matrices [count, out channels] `stride` elements apart, into those tiles of y.
void TransformOutput(const WinogradSizes& sizes, const float* products, int64_t stride, int64_t first, int64_t count,
                     std::span<const WinogradStep> steps, float* y, const ChannelPlanes& planes);

}  // namespace pt::onednn
