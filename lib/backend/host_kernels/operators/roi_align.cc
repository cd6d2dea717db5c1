// RoiAlign of float32: bilinear samples averaged (or their largest part) in a grid over each region. Where the samples
// of one bin lie and what their corners weigh is worked out once, in double, and used for all channels.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/sampling.h"

namespace pt::host {
namespace {

// Corners that are worked out together.
constexpr size_t kMostCorners = 256;
// Samples along one dim of a bin, at most.
constexpr int64_t kMostSamples = 4096;

struct Regions {
  int64_t batch = 0, channels = 0, height = 0, width = 0, count = 0;
  int64_t out_height = 1, out_width = 1, ratio = 0;
  std::vector<int64_t> x, y;        // strides
  std::array<int64_t, 2> region{};  // strides
  int64_t entry = 1;                // stride of the batch indices
  double scale = 1;
  bool average = true, half_pixel = true;
};

// Where the samples of one dim of a region lie.
struct Line {
  double start = 0, bin = 0;  // bin: its size
  int64_t samples = 1;        // of a bin

  double At(int64_t bin_index, int64_t sample) const {
    return start +
           (static_cast<double>(bin_index) + (static_cast<double>(sample) + 0.5) / static_cast<double>(samples)) * bin;
  }
};

Line LineOf(const Regions& r, double from, double to, int64_t bins) {
  const double shift = r.half_pixel ? 0.5 : 0;
  Line line;
  line.start = from * r.scale - shift;
  double size = to * r.scale - shift - line.start;
  if (!r.half_pixel) size = std::fmax(size, 1);
  line.bin = size / static_cast<double>(bins);
  // A NaN counts as the most.
  const double wanted = std::ceil(std::fmin(line.bin, static_cast<double>(kMostSamples)));
  line.samples = r.ratio > 0 ? r.ratio : std::clamp<int64_t>(static_cast<int64_t>(wanted), 0, kMostSamples);
  return line;
}

// The two elements around a coordinate and the share of the second; nothing where it is outside.
struct Pair {
  int64_t first = 0, second = 0;
  double fraction = 0;
};
std::optional<Pair> PairAt(double at, int64_t size) {
  if (!(at >= -1 && at <= static_cast<double>(size))) return std::nullopt;
  at = std::fmax(at, 0);
  const int64_t first = std::min(static_cast<int64_t>(at), size - 1);
  if (first == size - 1) return Pair{first, first, 0};
  return Pair{first, first + 1, at - static_cast<double>(first)};
}

struct Corners {
  std::array<int64_t, kMostCorners> offsets;
  std::array<double, kMostCorners> weights;
  size_t count = 0;

  void Add(int64_t offset, double weight) {
    offsets[count] = offset;
    weights[count++] = weight;
  }
};

// What the corners add to each channel.
void Accumulate(const Regions& r, const Corners& corners, const float* image, double* totals) {
  for (int64_t c = 0; c < r.channels; ++c) {
    const float* plane = image + c * r.x[1];
    double total = totals[c];
    for (size_t i = 0; i < corners.count; ++i) {
      const double value = corners.weights[i] * static_cast<double>(plane[corners.offsets[i]]);
      total = r.average ? total + value : std::fmax(total, value);
    }
    totals[c] = total;
  }
}

void AlignBin(const Regions& r, const Line& rows, const Line& columns, int64_t row, int64_t column, const float* image,
              float* y, double* totals) {
  std::fill_n(totals, r.channels, r.average ? 0.0 : -HUGE_VAL);
  Corners corners;
  for (int64_t i = 0; i < rows.samples; ++i) {
    const std::optional<Pair> down = PairAt(rows.At(row, i), r.height);
    for (int64_t k = 0; k < columns.samples && down; ++k) {
      const std::optional<Pair> over = PairAt(columns.At(column, k), r.width);
      if (!over) continue;
      const double fy = down->fraction, fx = over->fraction;
      corners.Add(down->first * r.x[2] + over->first * r.x[3], (1 - fy) * (1 - fx));
      corners.Add(down->first * r.x[2] + over->second * r.x[3], (1 - fy) * fx);
      corners.Add(down->second * r.x[2] + over->first * r.x[3], fy * (1 - fx));
      corners.Add(down->second * r.x[2] + over->second * r.x[3], fy * fx);
      if (corners.count < kMostCorners) continue;
      Accumulate(r, corners, image, totals);
      corners.count = 0;
    }
  }
  Accumulate(r, corners, image, totals);
  const auto samples = static_cast<double>(std::max<int64_t>(1, rows.samples * columns.samples));
  for (int64_t c = 0; c < r.channels; ++c) {
    const double total = totals[c];
    y[c * r.y[1]] = static_cast<float>(r.average ? total / samples : std::isinf(total) ? 0 : total);
  }
}

Status RunRegions(const Regions& r, const HostCall& run) {
  const auto* entries = run.input<int64_t>(2);
  for (int64_t i = 0; i < r.count; ++i) {
    const int64_t b = entries[i * r.entry];
    if (b >= 0 && b < r.batch) continue;
    return MakeError(ErrorCode::kInvalidInput, "host.index",
                     "RoiAlign: batch entry " + std::to_string(b) + " does not exist");
  }
  const int64_t bins = r.out_height * r.out_width, most = run.team == nullptr ? 1 : run.team->width();
  const double work = static_cast<double>(r.channels) * (r.ratio > 0 ? static_cast<double>(r.ratio * r.ratio) : 4) * 4;
  ParallelParts(run.team, r.count * bins, work, most, [&](int64_t part, int64_t begin, int64_t end) {
    double* totals = reinterpret_cast<double*>(run.scratch) + part * r.channels;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t i = item / bins, row = item % bins / r.out_width, column = item % r.out_width;
      const float* region = run.input<float>(1) + i * r.region[0];
      const auto corner = [&](int64_t k) { return static_cast<double>(region[k * r.region[1]]); };
      AlignBin(r, LineOf(r, corner(1), corner(3), r.out_height), LineOf(r, corner(0), corner(2), r.out_width), row,
               column, run.input<float>(0) + entries[i * r.entry] * r.x[0],
               run.output<float>(0) + i * r.y[0] + row * r.y[2] + column * r.y[3], totals);
    }
  });
  return {};
}

Result<HostRoutine> RoiAlign(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  const HostOperand &x = site.in[0], &regions = site.in[1], &entries = site.in[2], &y = site.out[0];
  if (x.type() != DataType::kFloat32 || regions.type() != DataType::kFloat32) {
    return site.Unsupported("its inputs are not float32");
  }
  if (x.rank() != 4 || regions.rank() != 2 || regions.dims()[1] != 4 || entries.type() != DataType::kInt64 ||
      entries.dims() != std::vector<int64_t>{regions.dims()[0]}) {
    return site.Unsupported("its inputs do not fit each other");
  }
  PT_ASSIGN(const RoiAlignNode node, OrUnsupported(ReadRoiAlign(site.node(), site.graph.opset()), site));
  Regions r;
  r.batch = x.dims()[0];
  r.channels = x.dims()[1];
  r.height = x.dims()[2];
  r.width = x.dims()[3];
  r.count = regions.dims()[0];
  r.out_height = node.out_height;
  r.out_width = node.out_width;
  r.ratio = node.ratio;
  r.scale = node.scale;
  r.average = node.average;
  r.half_pixel = node.half_pixel;
  if (r.height < 1 || r.width < 1) return site.Unsupported("its image is empty");
  PT_CHECK_OK(site.NeedOutput(0, x.type(), {r.count, r.channels, r.out_height, r.out_width}));
  r.x = x.strides();
  r.y = y.strides();
  r.region = {regions.strides()[0], regions.strides()[1]};
  r.entry = entries.strides()[0];
  HostRoutine routine;
  routine.scratch_bytes = static_cast<uint64_t>(r.channels) * sizeof(double) * site.width;
  routine.run = [r = std::move(r)](const HostCall& run) { return RunRegions(r, run); };
  return routine;
}

constexpr std::array kRoiAlignOperators = {HostRow{"RoiAlign", RoiAlign}};

}  // namespace

std::span<const HostRow> RoiAlignOperators() { return kRoiAlignOperators; }

}  // namespace pt::host
