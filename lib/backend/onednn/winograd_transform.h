// The transforms of Winograd's minimal filtering for windows of 3 that move by one: F(2,3) and F(4,3), and nested in
// both dims F(2x2,3x3) and F(4x4,3x3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015). A
// tile of `tile` x `tile` results comes from a patch of (tile+2) x (tile+2) inputs. Every position of the transformed
// patch is one product of matrices: over all tiles (rows), input channels and output channels. F(4) interpolates at 0,
// ±1/√2, ±√2 and infinity, where its error is smaller than at whole numbers. What a window has beyond 3x3 is summed
// over as channels are, in parts of 3x3: planes of windows of three dims, and what a wider window has on the right and
// below. A row of the first matrix then holds the channels of several patches. A dilated window reads every second (or
// third, …) row and column: tiles of these, one phase behind the other.
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

// One of the dims that the window moves along.
struct WinogradAxis {
  int64_t in = 1, out = 1;
  int64_t window = 1, stride = 1, dilation = 1;
  int64_t pad = 0;  // in front

  int64_t parts() const { return (window + 2) / 3; }  // of the window, the last one filled with zeros
};

struct WinogradSizes {
  int64_t tile = 4;
  bool line = false;  // the window is 1 along the rows: tiles have one row
  int64_t batch = 0, in_channels = 0, out_channels = 0;
  WinogradAxis rows{}, columns{};  // stride 1
  WinogradAxis planes{};           // any window and stride

  int64_t patch() const { return tile + 2; }
  int64_t tile_rows() const { return line ? 1 : tile; }
  int64_t products() const { return line ? patch() : patch() * patch(); }
  int64_t parts() const { return planes.window * rows.parts() * columns.parts(); }
  int64_t inner() const { return parts() * in_channels; }  // what a product sums over
  int64_t tiles_high() const { return rows.dilation * TilesOfPhase(rows, tile_rows()); }
  int64_t tiles_wide() const { return columns.dilation * TilesOfPhase(columns, tile); }
  int64_t tiles() const { return batch * planes.out * tiles_high() * tiles_wide(); }

  // Phases of a dilated window are all taken to be as long as the first.
  static int64_t TilesOfPhase(const WinogradAxis& axis, int64_t tile) {
    return ((axis.out + axis.dilation - 1) / axis.dilation + tile - 1) / tile;
  }
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

// weights: [out, in, window's planes, rows, columns]. Into `to`: for each product a matrix [inner, out], all of them
// one after another. Computed in double precision and rounded once.
void TransformWeights(const WinogradSizes& sizes, std::span<const float> weights, float* to);

// Tiles first..first+count-1 of x into `patches`: for each product a matrix [count, inner], `stride` elements apart.
void TransformInput(const WinogradSizes& sizes, const float* x, const ChannelPlanes& planes, int64_t first,
                    int64_t count, float* patches, int64_t stride);

// The products, matrices [count, out channels] `stride` elements apart, into those tiles of y.
void TransformOutput(const WinogradSizes& sizes, const float* products, int64_t stride, int64_t first, int64_t count,
                     std::span<const WinogradStep> steps, float* y, const ChannelPlanes& planes);

}  // namespace pt::onednn
