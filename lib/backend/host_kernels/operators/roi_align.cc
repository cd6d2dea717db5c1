// RoiAlign of float32: bilinear samples averaged (or their largest part) in a grid over each region. Where samples lie
// and what their corners weigh is worked out once, in double, and used for some channels. Means are made of rows, then
// along these.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/weighted_rows.h"
#include "lib/backend/host_kernels/operator.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/sampling.h"
#include "partitiontuner/support/alignment.h"

namespace pt::host {
namespace {

// Corners that are worked out together.
constexpr size_t kMostCorners = 256;
// Samples along one dim of a bin, at most.
constexpr int64_t kMostSamples = 4096;
// Elements that a bin's mean is made of along one dim, at most; of more samples each is looked at by itself.
constexpr int64_t kMostMeanTaps = 16;
constexpr int64_t kChannelsTogether = 32;

struct Regions {
  int64_t batch = 0, channels = 0, height = 0, width = 0, count = 0;
  int64_t out_height = 1, out_width = 1, ratio = 0;
  std::vector<int64_t> x, y;        // strides
  std::array<int64_t, 2> region{};  // strides
  int64_t entry = 1;                // stride of the batch indices
  double scale = 1;
  bool average = true, half_pixel = true;
  int64_t lanes = VectorElements<float>();
  uint64_t memory = 0;  // of a part of the work, in bytes

  int64_t padded_width() const { return (out_width + lanes - 1) / lanes * lanes; }
  bool has_rows() const { return width == 1 || x[3] == 1; }  // elements of a row lie side by side
};

// Where the samples of one dim of a region lie.
struct RegionLine {
  double start = 0, bin = 0;  // bin: its size
  int64_t samples = 1;        // of a bin

  double At(int64_t bin_index, int64_t sample) const {
    return start +
           (static_cast<double>(bin_index) + (static_cast<double>(sample) + 0.5) / static_cast<double>(samples)) * bin;
  }
};

RegionLine LineOf(const Regions& r, double from, double to, int64_t bins) {
  const double shift = r.half_pixel ? 0.5 : 0;
  RegionLine line;
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
struct SamplePair {
  int64_t first = 0, second = 0;
  double fraction = 0;
};
std::optional<SamplePair> PairAt(double at, int64_t size) {
  if (!(at >= -1 && at <= static_cast<double>(size))) return std::nullopt;
  at = std::fmax(at, 0);
  const int64_t first = std::min(static_cast<int64_t>(at), size - 1);
  if (first == size - 1) return SamplePair{first, first, 0};
  return SamplePair{first, first + 1, at - static_cast<double>(first)};
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

void AlignBin(const Regions& r, const RegionLine& rows, const RegionLine& columns, int64_t row, int64_t column,
              const float* image, float* y, double* totals) {
  std::fill_n(totals, r.channels, r.average ? 0.0 : -HUGE_VAL);
  Corners corners;
  for (int64_t i = 0; i < rows.samples; ++i) {
    const std::optional<SamplePair> down = PairAt(rows.At(row, i), r.height);
    for (int64_t k = 0; k < columns.samples && down; ++k) {
      const std::optional<SamplePair> over = PairAt(columns.At(column, k), r.width);
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

// ---- means, whose samples along rows and columns can be weighed one after the other

// What the bins of a region see along rows, and then along columns of the stretch of columns that some bin sees.
class RegionMeans {
 public:
  RegionMeans(const Regions& r, std::byte* memory) : r_(r) {
    auto at = [&memory]<typename T>(T*& array, int64_t count) {
      array = reinterpret_cast<T*>(memory);
      memory += AlignUp(static_cast<uint64_t>(count) * sizeof(T));
    };
    at(row_offsets_, r.out_height * kMostMeanTaps);
    at(row_weights_, r.out_height * kMostMeanTaps);
    at(row_taps_, r.out_height);
    at(places_, kMostMeanTaps * r.padded_width());
    at(weights_, kMostMeanTaps * r.padded_width());
    at(windows_, r.padded_width());
    at(line_, r.width + 1 + r.lanes);
    at(sums_, r.padded_width());
  }
  static uint64_t Bytes(const Regions& r) {
    return AlignUp(static_cast<uint64_t>(r.out_height * kMostMeanTaps) * sizeof(int64_t)) +
           AlignUp(static_cast<uint64_t>(r.out_height * kMostMeanTaps) * sizeof(float)) +
           AlignUp(static_cast<uint64_t>(r.out_height) * sizeof(int64_t)) +
           2 * AlignUp(static_cast<uint64_t>(kMostMeanTaps * r.padded_width()) * sizeof(float)) +
           AlignUp(static_cast<uint64_t>(r.padded_width()) * sizeof(int32_t)) +
           AlignUp(static_cast<uint64_t>(r.width + 1 + r.lanes) * sizeof(float)) +
           AlignUp(static_cast<uint64_t>(r.padded_width()) * sizeof(float));
  }

  // False where a bin has too many samples.
  bool Enter(const RegionLine& rows, const RegionLine& columns) {
    if (2 * rows.samples > kMostMeanTaps || 2 * columns.samples > kMostMeanTaps) return false;
    for (int64_t bin = 0; bin < r_.out_height; ++bin) EnterRow(rows, bin);
    EnterColumns(columns);
    return true;
  }

  // All bins of one channel.
  void Align(const float* plane, float* y) const {
    for (int64_t bin = 0; bin < r_.out_height; ++bin) {
      const int64_t first = bin * kMostMeanTaps;
      if (row_taps_[bin] == 0) {
        std::fill_n(line_, seen_, 0.0F);
      } else {
        WeighRows(RowsCall<float, float>{plane + from_, row_offsets_ + first, row_weights_ + first, row_taps_[bin],
                                         seen_, line_});
      }
      line_[seen_] = 0;
      WeighElements(ElementsCall<float>{line_, places_, weights_, windows_, column_taps_, r_.padded_width(), sums_});
      float* to = y + bin * r_.y[2];
      for (int64_t i = 0; i < r_.out_width; ++i) to[i * r_.y[3]] = sums_[i];
    }
  }

 private:
  void EnterRow(const RegionLine& rows, int64_t bin) {
    int64_t& taps = row_taps_[bin] = 0;
    const double share = 1 / static_cast<double>(std::max<int64_t>(1, rows.samples));
    for (int64_t i = 0; i < rows.samples; ++i) {
      const std::optional<SamplePair> pair = PairAt(rows.At(bin, i), r_.height);
      if (!pair) continue;
      for (const auto& [at, weight] :
           {std::pair(pair->first, 1 - pair->fraction), std::pair(pair->second, pair->fraction)}) {
        row_offsets_[bin * kMostMeanTaps + taps] = at * r_.x[2];
        row_weights_[bin * kMostMeanTaps + taps++] = static_cast<float>(weight * share);
      }
    }
  }

  // Samples outside see the zero behind the line.
  void EnterColumns(const RegionLine& columns) {
    const int64_t n = r_.padded_width();
    const double share = 1 / static_cast<double>(std::max<int64_t>(1, columns.samples));
    column_taps_ = 2 * columns.samples;
    int64_t least = r_.width, most = -1;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < columns.samples; ++k) {
        const auto pair = i < r_.out_width ? PairAt(columns.At(i, k), r_.width) : std::nullopt;
        const SamplePair seen = pair.value_or(SamplePair{-1, -1, 0});
        if (pair) least = std::min(least, seen.first);
        most = std::max(most, seen.second);
        places_[2 * k * n + i] = static_cast<int32_t>(seen.first);
        places_[(2 * k + 1) * n + i] = static_cast<int32_t>(seen.second);
        weights_[2 * k * n + i] = pair ? static_cast<float>((1 - seen.fraction) * share) : 0;
        weights_[(2 * k + 1) * n + i] = pair ? static_cast<float>(seen.fraction * share) : 0;
      }
    }
    from_ = most < 0 ? 0 : least;
    seen_ = most < 0 ? 0 : most + 1 - least;
    for (int64_t i = 0; i < column_taps_ * n; ++i) {
      places_[i] = static_cast<int32_t>(places_[i] < 0 ? seen_ : places_[i] - from_);
    }
    FindWindows();
  }

  void FindWindows() {
    const int64_t n = r_.padded_width();
    for (int64_t i = 0; i < n; i += r_.lanes) {
      int32_t least = static_cast<int32_t>(seen_), most = 0;
      for (int64_t k = 0; k < column_taps_; ++k) {
        const auto [low, high] = std::minmax_element(places_ + k * n + i, places_ + k * n + i + r_.lanes);
        least = std::min(least, *low);
        most = std::max(most, *high);
      }
      windows_[i / r_.lanes] = most < least + r_.lanes ? least : -1;
    }
  }

  const Regions& r_;
  int64_t *row_offsets_, *row_taps_;
  float *row_weights_, *weights_, *line_, *sums_;
  int32_t *places_, *windows_;
  int64_t column_taps_ = 0, from_ = 0, seen_ = 0;
};

// Channels `first` to before `end` of region i.
void AlignRegion(const Regions& r, const HostCall& run, int64_t i, int64_t first, int64_t end, std::byte* memory) {
  const float* region = run.input<float>(1) + i * r.region[0];
  const auto corner = [&](int64_t k) { return static_cast<double>(region[k * r.region[1]]); };
  const RegionLine rows = LineOf(r, corner(1), corner(3), r.out_height);
  const RegionLine columns = LineOf(r, corner(0), corner(2), r.out_width);
  const float* image = run.input<float>(0) + run.input<int64_t>(2)[i * r.entry] * r.x[0] + first * r.x[1];
  float* y = run.output<float>(0) + i * r.y[0] + first * r.y[1];
  if (r.average && r.has_rows()) {
    RegionMeans means(r, memory);
    if (means.Enter(rows, columns)) {
      for (int64_t c = 0; c < end - first; ++c) means.Align(image + c * r.x[1], y + c * r.y[1]);
      return;
    }
  }
  Regions some = r;
  some.channels = end - first;
  for (int64_t bin = 0; bin < r.out_height * r.out_width; ++bin) {
    const int64_t row = bin / r.out_width, column = bin % r.out_width;
    AlignBin(some, rows, columns, row, column, image, y + row * r.y[2] + column * r.y[3],
             reinterpret_cast<double*>(memory));
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
  const int64_t parts = (r.channels + kChannelsTogether - 1) / kChannelsTogether;
  const int64_t most = run.team == nullptr ? 1 : run.team->width();
  const double samples = r.ratio > 0 ? static_cast<double>(r.ratio * r.ratio) : 4;
  const double work =
      static_cast<double>(std::min(r.channels, kChannelsTogether) * r.out_height * r.out_width) * samples;
  ParallelParts(run.team, r.count * parts, work, most, [&](int64_t part, int64_t begin, int64_t end) {
    std::byte* memory = run.scratch + static_cast<uint64_t>(part) * r.memory;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % parts * kChannelsTogether;
      AlignRegion(r, run, item / parts, first, std::min(first + kChannelsTogether, r.channels), memory);
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
  r.memory = AlignUp(std::max(RegionMeans::Bytes(r), static_cast<uint64_t>(kChannelsTogether) * sizeof(double)));
  routine.scratch_bytes = r.memory * site.width;
  routine.run = [r = std::move(r)](const HostCall& run) { return RunRegions(r, run); };
  return routine;
}

constexpr std::array kRoiAlignOperators = {HostRow{"RoiAlign", RoiAlign}};

}  // namespace

std::span<const HostRow> RoiAlignOperators() { return kRoiAlignOperators; }

}  // namespace pt::host
