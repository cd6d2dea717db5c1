// GridSample of float32 images of two dims: where the positions of a block lie and what their neighbours weigh is
// worked out once, in double, and used for all channels.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/sampling.h"

namespace pt::host {
namespace {

constexpr int64_t kBlock = 64;   // positions that are worked out together
constexpr size_t kMostTaps = 4;  // along one dim

using Kind = SampleMode;
using Outside = SamplePadding;

// One dim of the image.
struct Axis {
  int64_t size = 0, stride = 0;
  double low = 0, high = 0;  // the outermost coordinates that are inside
  Outside outside = Outside::kZeros;

  // Mirrored at both ends as often as it takes.
  double Reflected(double x) const {
    const double range = high - low;
    if (range <= 0) return 0;
    if (!(x < low) && !(x > high)) return x;
    const bool below = x < low;
    const double over = below ? low - x : x - high, times = std::floor(over / range), rest = over - times * range;
    return (std::fmod(times, 2) == 0) == below ? low + rest : high - rest;
  }
  double Inside(double x) const {
    if ((x >= low && x <= high) || outside == Outside::kZeros) return x;
    return outside == Outside::kReflection ? Reflected(x) : std::fmin(std::fmax(x, 0), static_cast<double>(size) - 1);
  }
  // The element shown at a whole coordinate; nothing where that is outside and zero.
  std::optional<int64_t> ElementAt(double whole) const {
    if (!(whole >= -0x1p40 && whole <= 0x1p40)) return std::nullopt;
    const auto at = static_cast<int64_t>(whole);
    if (at >= 0 && at < size) return at;
    if (outside == Outside::kZeros) return std::nullopt;
    const int64_t moved = outside == Outside::kBorder ? at : static_cast<int64_t>(Reflected(whole));
    return std::clamp<int64_t>(moved, 0, size - 1);
  }
};

struct Sampling {
  std::array<Axis, 2> axes;  // rows, columns
  Kind kind = Kind::kLinear;
  bool align_corners = false;
  int64_t batch = 0, channels = 0;
  Walk<2> positions;                      // of one batch entry: offsets in the grid and the output
  int64_t grid_batch = 0, grid_step = 1;  // between a position's two coordinates
  int64_t x_batch = 0, x_channel = 0;     // strides
  int64_t y_batch = 0, y_channel = 0;
};

// What a coordinate sees along one dim.
struct Taps {
  std::array<int64_t, kMostTaps> offsets{};  // -1: nothing
  std::array<double, kMostTaps> weights{};
};

std::array<double, kMostTaps> CubicWeights(double t) {
  constexpr double kSharpness = -0.75;
  const auto inner = [](double x) { return ((kSharpness + 2) * x - (kSharpness + 3)) * x * x + 1; };
  const auto outer = [](double x) {
    return ((kSharpness * x - 5 * kSharpness) * x + 8 * kSharpness) * x - 4 * kSharpness;
  };
  return {outer(t + 1), inner(t), inner(1 - t), outer(2 - t)};
}

int64_t TapsOf(Kind kind) { return kind == Kind::kNearest ? 1 : kind == Kind::kLinear ? 2 : 4; }

// Of a coordinate from -1 to 1.
Taps FindTaps(const Sampling& s, const Axis& axis, double given) {
  const auto size = static_cast<double>(axis.size);
  double x = s.align_corners ? (given + 1) / 2 * (size - 1) : ((given + 1) * size - 1) / 2;
  if (s.kind == Kind::kNearest) x = std::nearbyint(x);
  x = axis.Inside(x);
  double first = s.kind == Kind::kNearest ? std::nearbyint(x) : std::floor(x);
  const double fraction = x - first;
  Taps taps;
  if (s.kind == Kind::kNearest) taps.weights = {1};
  if (s.kind == Kind::kLinear) taps.weights = {1 - fraction, fraction};
  if (s.kind == Kind::kCubic) {
    taps.weights = CubicWeights(fraction);
    first -= 1;
  }
  for (int64_t k = 0; k < TapsOf(s.kind); ++k) {
    const std::optional<int64_t> at = axis.ElementAt(first + static_cast<double>(k));
    taps.offsets[static_cast<size_t>(k)] = at ? *at * axis.stride : -1;
  }
  return taps;
}

// For each tap of both dims together, of each position.
struct Block {
  std::array<std::array<int64_t, kBlock>, kMostTaps * kMostTaps> offsets;
  std::array<std::array<float, kBlock>, kMostTaps * kMostTaps> weights;
  std::array<int64_t, kBlock> to;  // offsets in the output
  bool all_inside = true;
};

void FillBlock(const Sampling& s, const float* grid, int64_t begin, int64_t count, Block& block) {
  const auto taps = static_cast<size_t>(TapsOf(s.kind));
  Cursor<2> cursor(s.positions, begin);
  block.all_inside = true;
  for (size_t p = 0; p < static_cast<size_t>(count); ++p, cursor.Next()) {
    const float* at = grid + cursor.offsets()[0];  // column first
    const Taps rows = FindTaps(s, s.axes[0], static_cast<double>(at[s.grid_step]));
    const Taps columns = FindTaps(s, s.axes[1], static_cast<double>(at[0]));
    block.to[p] = cursor.offsets()[1];
    for (size_t k = 0; k < taps * taps; ++k) {
      const int64_t row = rows.offsets[k / taps], column = columns.offsets[k % taps];
      const bool inside = row >= 0 && column >= 0;
      block.offsets[k][p] = inside ? row + column : -1;
      block.weights[k][p] = inside ? static_cast<float>(rows.weights[k / taps] * columns.weights[k % taps]) : 0;
      block.all_inside = block.all_inside && inside;
    }
  }
}

void SampleChannel(const Block& block, size_t taps, const float* image, float* y, size_t count) {
  std::array<float, kBlock> sums{};
  for (size_t k = 0; k < taps; ++k) {
    const auto& offsets = block.offsets[k];
    const auto& weights = block.weights[k];
    if (block.all_inside) {
      for (size_t p = 0; p < count; ++p) sums[p] += weights[p] * image[offsets[p]];
    } else {
      for (size_t p = 0; p < count; ++p) sums[p] += offsets[p] < 0 ? 0 : weights[p] * image[offsets[p]];
    }
  }
  for (size_t p = 0; p < count; ++p) y[block.to[p]] = sums[p];
}

Status RunSampling(const Sampling& s, const HostCall& run) {
  const int64_t blocks = (s.positions.count + kBlock - 1) / kBlock, taps = TapsOf(s.kind) * TapsOf(s.kind);
  const double work = static_cast<double>(kBlock * taps) * (static_cast<double>(s.channels) + 10);
  ParallelRanges(run.team, s.batch * blocks, work, [&](int64_t begin, int64_t end) {
    Block block;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t b = item / blocks, first = item % blocks * kBlock,
                    count = std::min(kBlock, s.positions.count - first);
      FillBlock(s, run.input<float>(1) + b * s.grid_batch, first, count, block);
      for (int64_t c = 0; c < s.channels; ++c) {
        SampleChannel(block, static_cast<size_t>(taps), run.input<float>(0) + b * s.x_batch + c * s.x_channel,
                      run.output<float>(0) + b * s.y_batch + c * s.y_channel, static_cast<size_t>(count));
      }
    }
  });
  return {};
}

// The attributes.
Result<Sampling> ReadModes(const HostSite& site) {
  PT_ASSIGN(const GridSampleNode node, OrUnsupported(ReadGridSample(site.node()), site));
  Sampling s;
  s.kind = node.mode;
  s.align_corners = node.align_corners;
  for (Axis& axis : s.axes) axis.outside = node.padding;
  return s;
}

Result<HostRoutine> GridSample(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const HostOperand &x = site.in[0], &grid = site.in[1], &y = site.out[0];
  if (x.type() != DataType::kFloat32 || grid.type() != DataType::kFloat32) {
    return site.Unsupported("its inputs are not float32");
  }
  if (x.rank() != 4 || grid.rank() != 4 || grid.dims()[3] != 2 || grid.dims()[0] != x.dims()[0]) {
    return site.Unsupported("its input has not two dims, or the grid does not fit it");
  }
  PT_CHECK_OK(site.NeedOutput(0, x.type(), {x.dims()[0], x.dims()[1], grid.dims()[1], grid.dims()[2]}));
  PT_ASSIGN(Sampling s, ReadModes(site));
  for (size_t d = 0; d < 2; ++d) {
    Axis& axis = s.axes[d];
    axis.size = x.dims()[d + 2];
    axis.stride = x.strides()[d + 2];
    axis.low = s.align_corners ? 0 : -0.5;
    axis.high = static_cast<double>(axis.size) - (s.align_corners ? 1 : 0.5);
    if (axis.size == 0) return site.Unsupported("an empty image cannot be sampled");
  }
  for (size_t d = 2; d-- > 0;) s.positions.Push(grid.dims()[d + 1], {grid.strides()[d + 1], y.strides()[d + 2]});
  s.batch = x.dims()[0];
  s.channels = x.dims()[1];
  s.grid_batch = grid.strides()[0];
  s.grid_step = grid.strides()[3];
  s.x_batch = x.strides()[0];
  s.x_channel = x.strides()[1];
  s.y_batch = y.strides()[0];
  s.y_channel = y.strides()[1];
  return HostRoutine{[s](const HostCall& run) { return RunSampling(s, run); }};
}

constexpr std::array kGridSampleOperators = {HostRow{"GridSample", GridSample}};

}  // namespace

std::span<const HostRow> GridSampleOperators() { return kGridSampleOperators; }

}  // namespace pt::host
