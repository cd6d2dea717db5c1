// GridSample of float32 images of two dims: where the positions of a block lie and what their neighbours weigh is
// worked out once, in double, and used for all channels.
#include <algorithm>
#include <array>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/grid_taps.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/sampling.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

constexpr auto kPositions = static_cast<int64_t>(kGridBlock);

struct Sampling {
  std::array<GridAxis, 2> axes;  // rows, columns
  int64_t batch = 0, channels = 0;
  Walk<2> positions;                      // of one batch entry: offsets in the grid and the output
  int64_t grid_batch = 0, grid_step = 1;  // between a position's two coordinates
  int64_t x_batch = 0, x_channel = 0;     // strides
  int64_t y_batch = 0, y_channel = 0;
};

// Positions that are worked out together.
struct Positions {
  GridBlock block;
  int64_t begin = 0, count = 0;
};

// f(offset in the grid, offset in the output, place in the block, count) for stretches of the block's positions that
// follow each other at one distance.
template <typename F>
void ForStretches(const Sampling& s, const Positions& positions, F&& f) {
  const int64_t inner = s.positions.inner_size();
  for (int64_t p = 0; p < positions.count;) {
    const int64_t at = positions.begin + p, count = std::min(positions.count - p, inner - at % inner);
    const Walk<2>::Offsets offsets = s.positions.At(at);
    f(offsets[0], offsets[1], p, count);
    p += count;
  }
}

void FindPositions(const Sampling& s, const float* grid, Positions& positions) {
  std::array<float, kGridBlock> rows{}, columns{};
  const int64_t step = s.positions.inner_stride()[0];
  ForStretches(s, positions, [&](int64_t from, int64_t, int64_t place, int64_t count) {
    const float* at = grid + from;  // column first
    for (int64_t i = 0; i < count; ++i) {
      rows[static_cast<size_t>(place + i)] = at[i * step + s.grid_step];
      columns[static_cast<size_t>(place + i)] = at[i * step];
    }
  });
  const auto count = static_cast<size_t>(positions.count);
  GridTaps row_taps, column_taps;
  FindGridTaps(s.axes[0], rows, count, row_taps);
  FindGridTaps(s.axes[1], columns, count, column_taps);
  JoinGridTaps(row_taps, column_taps, s.axes[0].taps(), count, positions.block);
}

void SampleChannel(const Sampling& s, const Positions& positions, const float* image, float* y) {
  std::array<float, kGridBlock> sums;
  SampleGrid(positions.block, image, sums);
  const int64_t step = s.positions.inner_stride()[1];
  ForStretches(s, positions, [&](int64_t, int64_t to, int64_t place, int64_t count) {
    const float* from = sums.data() + place;
    if (step == 1) {
      std::copy_n(from, count, y + to);
    } else {
      for (int64_t i = 0; i < count; ++i) y[to + i * step] = from[i];
    }
  });
}

Status RunSampling(const Sampling& s, const HostCall& run) {
  const int64_t blocks = (s.positions.count + kPositions - 1) / kPositions;
  const auto pairs = static_cast<double>(s.axes[0].taps() * s.axes[0].taps());
  const double work = static_cast<double>(kPositions) * (pairs * 0.3 * static_cast<double>(s.channels) + 5);
  ParallelRanges(run.team, s.batch * blocks, work, [&](int64_t begin, int64_t end) {
    Positions positions;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t b = item / blocks;
      positions.begin = item % blocks * kPositions;
      positions.count = std::min(kPositions, s.positions.count - positions.begin);
      FindPositions(s, run.input<float>(1) + b * s.grid_batch, positions);
      for (int64_t c = 0; c < s.channels; ++c) {
        SampleChannel(s, positions, run.input<float>(0) + b * s.x_batch + c * s.x_channel,
                      run.output<float>(0) + b * s.y_batch + c * s.y_channel);
      }
    }
  });
  return {};
}

// One dim of the image, of that size and stride; kUnsupported where its elements cannot be counted in 32 bits.
Result<GridAxis> GridAxisOf(const HostSite& site, const GridSampleNode& node, int64_t size, int64_t stride) {
  if (size == 0) return site.Unsupported("an empty image cannot be sampled");
  const auto end = CheckedMul(size, stride);
  if (!end || *end > std::numeric_limits<int32_t>::max() / 2) return site.Unsupported("its image is too large");
  return GridAxis{node.mode, node.padding, node.align_corners, size, stride};
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
  PT_ASSIGN(const GridSampleNode node, OrUnsupported(ReadGridSample(site.node()), site));
  Sampling s;
  for (size_t d = 0; d < 2; ++d) {
    PT_ASSIGN(s.axes[d], GridAxisOf(site, node, x.dims()[d + 2], x.strides()[d + 2]));
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
