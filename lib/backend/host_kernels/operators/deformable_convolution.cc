// DeformConv of float32 images with constant filters: what the taps of some positions see is sampled once for all
// filters, the channels of a tap side by side, and multiplied with the filters packed into panels.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/transpose.h"
#include "lib/backend/host_kernels/kernels/weighted_rows.h"
#include "lib/backend/host_kernels/operator.h"
#include "lib/backend/host_kernels/products/panels.h"
#include "partitiontuner/backend/window_parameters.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

constexpr int64_t kSampledFloats = 1 << 16;  // of the positions that are multiplied together: they stay in the cache
constexpr int64_t kPositionStep = 8, kMostPositions = 64;

// Channels that share their offsets and their filters.
struct ChannelStretch {
  int64_t first = 0, count = 0, offset_group = 0;
  int64_t place = 0, tap_step = 0;  // in a row of samples: of the first tap, and from one tap to the next
};

struct DeformableConvolution {
  int64_t images = 0, channels = 0, height = 0, width = 0;
  int64_t filters = 0, rows = 0, columns = 0;  // of the result
  int64_t groups = 1, taps = 1;
  WindowParameters window;
  std::vector<ChannelStretch> stretches;     // by offset group
  std::vector<int64_t> x, offsets, mask, y;  // strides; mask empty: none
  int64_t rows_together = 1;                 // of the result, whose pixels follow each other at one distance
  int64_t block = kPositionStep;             // positions that are multiplied together
  std::vector<float> bias;                   // of each group, filled up to whole panels; empty: none
  PanelProducts<float> math;
  std::shared_ptr<DeviceBuffer> panels;  // of each group

  int64_t samples() const { return channels * taps; }  // of a position
  int64_t depth() const { return samples() / groups; }
  int64_t group_filters() const { return filters / groups; }
  bool turns() const { return channels > 1 && x[1] != 1; }  // the image's channels lie apart
  uint64_t turned_bytes() const {
    return turns() ? AlignUp(static_cast<uint64_t>(images * height * width * channels) * sizeof(float)) : 0;
  }
  uint64_t part_bytes() const { return AlignUp(static_cast<uint64_t>(block * samples()) * sizeof(float)); }
};

// An image whose channels lie side by side.
struct PixelImage {
  const float* data = nullptr;
  int64_t row_stride = 0, column_stride = 0;
};

// The corners inside the image around a point, and how much of each is seen.
struct PixelCorners {
  std::array<int64_t, 4> offsets{};
  std::array<float, 4> weights{};
  int64_t count = 0;
};

PixelCorners PixelCornersAt(const DeformableConvolution& d, const PixelImage& image, double row, double column) {
  PixelCorners corners;
  if (!(row > -1 && row < static_cast<double>(d.height) && column > -1 && column < static_cast<double>(d.width))) {
    return corners;
  }
  const auto top = static_cast<int64_t>(std::floor(row)), left = static_cast<int64_t>(std::floor(column));
  const double down = row - static_cast<double>(top), over = column - static_cast<double>(left);
  const auto add = [&](int64_t r, int64_t c, double weight) {
    if (r < 0 || r >= d.height || c < 0 || c >= d.width) return;
    const auto at = static_cast<size_t>(corners.count++);
    corners.offsets[at] = r * image.row_stride + c * image.column_stride;
    corners.weights[at] = static_cast<float>(weight);
  };
  add(top, left, (1 - down) * (1 - over));
  add(top, left + 1, (1 - down) * over);
  add(top + 1, left, down * (1 - over));
  add(top + 1, left + 1, down * over);
  return corners;
}

// What a tap sees of some channels, times the mask.
void SampleChannels(const float* channels, const PixelCorners& corners, float mask, int64_t count, float* to) {
  if (corners.count == 0) {
    std::fill_n(to, count, 0 * mask);
    return;
  }
  PixelCorners seen = corners;
  // The product of the two would be NaN where a corner counts nothing and the mask is infinite.
  const bool together = std::isfinite(mask);
  for (float& weight : seen.weights) weight *= together ? mask : 1;
  WeighRows(RowsCall<float, float>{channels, seen.offsets.data(), seen.weights.data(), seen.count, count, to});
  for (int64_t i = 0; i < count && !together; ++i) to[i] *= mask;
}

class DeformableSampler {
 public:
  DeformableSampler(const DeformableConvolution& d, const HostCall& run, int64_t image, const PixelImage& pixels)
      : d_(d), pixels_(pixels), offsets_(run.input<float>(2) + image * d.offsets[0]) {
    if (!d.mask.empty()) mask_ = run.input<float>(4) + image * d.mask[0];
  }

  // All that a position of the result sees.
  void SampleAll(int64_t row, int64_t column, float* to) const {
    for (int64_t tap = 0; tap < d_.taps; ++tap) {
      int64_t known = -1;
      PixelCorners corners;
      float mask = 1;
      for (const ChannelStretch& stretch : d_.stretches) {
        if (stretch.offset_group != known) {
          known = stretch.offset_group;
          corners = Find(known * d_.taps + tap, tap, row, column);
          mask = MaskAt(known * d_.taps + tap, row, column);
        }
        SampleChannels(pixels_.data + stretch.first, corners, mask, stretch.count,
                       to + stretch.place + tap * stretch.tap_step);
      }
    }
  }

 private:
  PixelCorners Find(int64_t field, int64_t tap, int64_t row, int64_t column) const {
    const WindowParameters& w = d_.window;
    const auto moved = [&](size_t dim, int64_t at, int64_t tap_at) {
      const int64_t plain = at * w.strides[dim] - w.pads_begin[dim] + tap_at * w.dilations[dim];
      const int64_t channel = 2 * field + static_cast<int64_t>(dim);
      const float* offset = offsets_ + channel * d_.offsets[1] + row * d_.offsets[2] + column * d_.offsets[3];
      return static_cast<double>(plain) + static_cast<double>(*offset);
    };
    return PixelCornersAt(d_, pixels_, moved(0, row, tap / w.kernel[1]), moved(1, column, tap % w.kernel[1]));
  }
  float MaskAt(int64_t field, int64_t row, int64_t column) const {
    return mask_ == nullptr ? 1 : mask_[field * d_.mask[1] + row * d_.mask[2] + column * d_.mask[3]];
  }

  const DeformableConvolution& d_;
  PixelImage pixels_;
  const float *offsets_, *mask_ = nullptr;
};

void MultiplySamples(const DeformableConvolution& d, const float* samples, int64_t count, float* y) {
  const int64_t panels = *d.math.PackedCount(d.depth(), d.group_filters());
  const int64_t biases = static_cast<int64_t>(d.bias.size()) / d.groups;
  for (int64_t g = 0; g < d.groups; ++g) {
    d.math.multiply({.a = samples + g * d.depth(),
                     .a_row_stride = d.samples(),
                     .panels = static_cast<const float*>(d.panels->data()) + g * panels,
                     .bias = d.bias.empty() ? nullptr : d.bias.data() + g * biases,
                     .rows = count,
                     .depth = d.depth(),
                     .columns = d.group_filters(),
                     .c = y + g * d.group_filters() * d.y[1],
                     .c_row_stride = d.y[3],
                     .c_column_stride = d.y[1]});
  }
}

// Brings the channels of all images side by side.
void TurnImages(const DeformableConvolution& d, const HostCall& run, float* to) {
  const int64_t row = d.width * d.channels;
  ParallelRanges(run.team, d.images * d.height, static_cast<double>(row) * 0.3, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* from = run.input<float>(0) + i / d.height * d.x[0] + i % d.height * d.x[2];
      TransposeBlock(sizeof(float), from, d.x[1], to + i * row, d.channels, d.width, d.channels);
    }
  });
}

Status RunDeformable(const DeformableConvolution& d, const HostCall& run) {
  auto* turned = reinterpret_cast<float*>(run.scratch);
  if (d.turns()) TurnImages(d, run, turned);
  const auto pixels_of = [&](int64_t image) {
    if (!d.turns()) return PixelImage{run.input<float>(0) + image * d.x[0], d.x[2], d.x[3]};
    return PixelImage{turned + image * d.height * d.width * d.channels, d.width * d.channels, d.channels};
  };
  const int64_t length = d.rows_together * d.columns, lines = d.rows / d.rows_together;
  const int64_t blocks = (length + d.block - 1) / d.block, most = run.team == nullptr ? 1 : run.team->width();
  const double sample = 0.5 + 0.02 * static_cast<double>(d.group_filters());
  const double work = static_cast<double>(d.block * d.samples()) * sample;
  ParallelParts(run.team, d.images * lines * blocks, work, most, [&](int64_t part, int64_t begin, int64_t end) {
    auto* samples =
        reinterpret_cast<float*>(run.scratch + d.turned_bytes() + static_cast<uint64_t>(part) * d.part_bytes());
    for (int64_t item = begin; item < end; ++item) {
      const int64_t image = item / (lines * blocks), line = item / blocks % lines, first = item % blocks * d.block;
      const DeformableSampler sampler(d, run, image, pixels_of(image));
      const int64_t count = std::min(d.block, length - first);
      for (int64_t p = 0; p < count; ++p) {
        const int64_t row = line * d.rows_together + (first + p) / d.columns, column = (first + p) % d.columns;
        sampler.SampleAll(row, column, samples + p * d.samples());
      }
      MultiplySamples(d, samples, count, run.output<float>(0) + image * d.y[0] + line * d.y[2] + first * d.y[3]);
    }
  });
  return {};
}

std::vector<ChannelStretch> ChannelStretchesOf(int64_t channels, int64_t groups, int64_t offset_groups, int64_t taps) {
  const int64_t of_group = channels / groups, of_offset = channels / offset_groups;
  std::vector<ChannelStretch> stretches;
  for (int64_t c = 0; c < channels;) {
    const int64_t group = c / of_group, end = std::min((group + 1) * of_group, (c / of_offset + 1) * of_offset);
    stretches.push_back({c, end - c, c / of_offset, group * of_group * taps + c % of_group, of_group});
    c = end;
  }
  return stretches;
}

// The filters of a group, a row for each tap and channel.
std::vector<float> RowsOfFilters(const DeformableConvolution& d, std::span<const float> filters, int64_t group) {
  const int64_t of_group = d.channels / d.groups;
  std::vector<float> rows(static_cast<size_t>(d.depth() * d.group_filters()));
  for (int64_t m = 0; m < d.group_filters(); ++m) {
    const float* filter = filters.data() + (group * d.group_filters() + m) * d.depth();
    for (int64_t i = 0; i < d.depth(); ++i) {
      const int64_t channel = i / d.taps, tap = i % d.taps;
      rows[static_cast<size_t>((tap * of_group + channel) * d.group_filters() + m)] = filter[i];
    }
  }
  return rows;
}

Status PackDeformable(DeformableConvolution& d, const Tensor& filters, CompileContext& context) {
  PT_CHECK_OK(d.math.CheckProcessor());
  const auto count = d.math.PackedCount(d.depth(), d.group_filters());
  const auto bytes = count ? CheckedProduct(std::array{*count, d.groups, int64_t{sizeof(float)}}) : std::nullopt;
  if (!bytes) return MakeError(ErrorCode::kInvalidInput, "host.size", "packed filters are too large");
  const std::string format = "host deformable panels of " + std::to_string(d.math.columns) + ", " +
                             std::to_string(d.groups) + " groups of " + std::to_string(d.taps) + " taps";
  const auto fill = [&](DeviceBuffer& buffer) -> Status {
    for (int64_t g = 0; g < d.groups; ++g) {
      const std::vector<float> rows = RowsOfFilters(d, filters.values<float>(), g);
      d.math.pack({.b = rows.data(),
                   .row_stride = d.group_filters(),
                   .depth = d.depth(),
                   .columns = d.group_filters(),
                   .panels = static_cast<float*>(buffer.data()) + g * *count});
    }
    return {};
  };
  PT_ASSIGN(d.panels,
            context.weights.Get(filters.content_hash(), format, context.device, static_cast<uint64_t>(*bytes), fill));
  return {};
}

std::vector<float> PaddedBias(const DeformableConvolution& d, std::span<const float> bias) {
  const int64_t width = d.math.columns, padded = (d.group_filters() + width - 1) / width * width;
  std::vector<float> all(static_cast<size_t>(d.groups * padded), 0);
  for (int64_t m = 0; m < d.filters; ++m) {
    const int64_t group = m / d.group_filters();
    all[static_cast<size_t>(group * padded + m % d.group_filters())] = bias[static_cast<size_t>(m)];
  }
  return all;
}

// Sizes and groups; kUnsupported where they do not fit each other.
Status ReadDeformableSizes(const HostSite& site, DeformableConvolution& d) {
  const std::vector<int64_t>&x = site.in[0].dims(), &filters = site.in[1].dims(), &y = site.out[0].dims();
  const int64_t offset_groups = ReadOffsetGroups(site.node());
  d.groups = ReadConvolutionGroups(site.node());
  d.images = x[0];
  d.channels = x[1];
  d.height = x[2];
  d.width = x[3];
  d.filters = filters[0];
  d.rows = y[2];
  d.columns = y[3];
  d.taps = filters[2] * filters[3];
  const bool divide = d.groups > 0 && offset_groups > 0 && d.channels % d.groups == 0 && d.filters % d.groups == 0 &&
                      d.channels % offset_groups == 0 && filters[1] == d.channels / d.groups;
  if (!divide) return site.Unsupported("groups do not divide the channels");
  const auto window =
      WindowOf(site.node(), std::span(filters).subspan(2), std::span(x).subspan(2), std::span(y).subspan(2));
  if (!window) return site.Unsupported("its window does not fit its result");
  d.window = *window;
  PT_CHECK_OK(site.NeedOutput(0, DataType::kFloat32, {d.images, d.filters, d.rows, d.columns}));
  const int64_t fields = offset_groups * d.taps;
  const auto fits = [&](size_t input, std::vector<int64_t> dims) { return site.in[input].dims() == dims; };
  if (!fits(2, {d.images, 2 * fields, d.rows, d.columns}) || (site.has(3) && !fits(3, {d.filters})) ||
      (site.has(4) && !fits(4, {d.images, fields, d.rows, d.columns}))) {
    return site.Unsupported("its inputs do not fit each other");
  }
  d.stretches = ChannelStretchesOf(d.channels, d.groups, offset_groups, d.taps);
  return {};
}

Result<HostRoutine> DeformConv(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 5));
  for (size_t i = 0; i < site.in.size(); ++i) {
    if (site.has(i) && site.in[i].type() != DataType::kFloat32) return site.Unsupported("its inputs are not float32");
  }
  const HostOperand &x = site.in[0], &filters = site.in[1], &y = site.out[0];
  if (!filters.constant || (site.has(3) && !site.in[3].constant)) {
    return site.Unsupported("its filters or its bias are not constant");
  }
  if (x.rank() != 4 || filters.rank() != 4 || y.rank() != 4) return site.Unsupported("it has not two spatial dims");
  if (x.count() == 0 || filters.count() == 0 || y.count() == 0) return site.Unsupported("it has no elements");
  auto d = std::make_shared<DeformableConvolution>();
  PT_CHECK_OK(ReadDeformableSizes(site, *d));
  d->x = x.strides();
  d->offsets = site.in[2].strides();
  if (site.has(4)) d->mask = site.in[4].strides();
  d->y = y.strides();
  if (d->turns() && d->width > 1 && d->x[3] != 1) return site.Unsupported("neither pixels nor channels lie together");
  d->math = FindPanelProducts<float>();
  if (site.has(3)) d->bias = PaddedBias(*d, site.in[3].constant->values<float>());
  if (d->y[2] == d->columns * d->y[3]) d->rows_together = d->rows;
  d->block = std::clamp(kSampledFloats / d->samples() / kPositionStep * kPositionStep, kPositionStep, kMostPositions);
  HostRoutine routine;
  routine.scratch_bytes = d->turned_bytes() + d->part_bytes() * site.width;
  routine.pack = [d, tensor = *filters.constant](CompileContext& context) {
    return PackDeformable(*d, tensor, context);
  };
  routine.run = [d](const HostCall& run) { return RunDeformable(*d, run); };
  return routine;
}

constexpr std::array kDeformableConvolutionOperators = {HostRow{"DeformConv", DeformConv, true}};

}  // namespace

std::span<const HostRow> DeformableConvolutionOperators() { return kDeformableConvolutionOperators; }

}  // namespace pt::host
