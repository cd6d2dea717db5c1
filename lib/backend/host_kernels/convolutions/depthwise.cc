#include "lib/backend/host_kernels/convolutions/depthwise.h"

#include <algorithm>
#include <array>
#include <memory>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/convolutions/depthwise_rows.h"
#include "partitiontuner/support/even_share.h"

namespace pt::host {
namespace {

constexpr int64_t kMostDepthwiseRows = 64;  // of a kernel

// T: float or Bfloat16, in which the images are stored.
template <typename T>
struct Depthwise {
  DepthwiseRows<T> rows;
  Convolution shapes;
  DepthwiseRow<T> row;               // what all rows share
  std::vector<float> weights, bias;  // in blocks of channels
  // Rows of this many channels are computed one after another, while those they share lie in the inner cache.
  // Images of few rows are divided among cores by channels as well.
  int64_t rows_together = 0, channels_together = 0, channel_parts = 1;

  int64_t channels() const { return shapes.x.channels; }
  int64_t kernel_rows() const { return shapes.window.kernel[0]; }
  int64_t stretches() const { return (shapes.y.rows + rows_together - 1) / rows_together; }  // of an image's rows
  int64_t row_weights() const { return row.kernel_columns * rows.lanes; }
};

// One row of the result, the channels from `first` on.
template <typename T>
void ComputeRow(const Depthwise<T>& d, const T* x, T* y, int64_t at, int64_t first) {
  std::array<const T*, kMostDepthwiseRows> inside;
  DepthwiseRow<T> row = d.row;
  int64_t skipped = 0;
  const WindowParameters& window = d.shapes.window;
  for (int64_t k = 0; k < d.kernel_rows(); ++k) {
    const int64_t from = at * window.strides[0] - window.pads_begin[0] + k * window.dilations[0];
    if (from < 0) ++skipped;
    if (from < 0 || from >= d.shapes.x.rows) continue;
    inside[static_cast<size_t>(row.rows_inside++)] = x + from * d.shapes.x.row_stride + first;
  }
  row.rows = inside.data();
  row.weights = d.weights.data() + first / d.rows.lanes * row.weights_stride + skipped * d.row_weights();
  row.bias = d.bias.empty() ? nullptr : d.bias.data() + first;
  row.channels = std::min(d.channels_together, d.channels() - first);
  row.y = y + at * d.shapes.y.row_stride + first;
  d.rows.compute(row);
}

// The channels of one part.
template <typename T>
void ComputeStretch(const Depthwise<T>& d, const T* x, T* y, int64_t stretch, int64_t part) {
  const int64_t begin = stretch * d.rows_together, end = std::min(begin + d.rows_together, d.shapes.y.rows);
  const int64_t passes = (d.channels() + d.channels_together - 1) / d.channels_together;
  const auto [first_pass, last_pass] = EvenShare(passes, part, d.channel_parts);
  for (int64_t pass = first_pass; pass < last_pass; ++pass) {
    for (int64_t at = begin; at < end; ++at) ComputeRow(d, x, y, at, pass * d.channels_together);
  }
}

template <typename T>
class DepthwiseMaker {
 public:
  DepthwiseMaker(const HostSite& site, const ConvolutionGroup& group) : site_(site), group_(group) {}

  Result<HostRoutine> Make() {
    Depthwise<T> d;
    d.rows = FindDepthwiseRows<T>();
    constexpr DataType kStored = std::is_same_v<T, float> ? DataType::kFloat32 : DataType::kBfloat16;
    PT_ASSIGN(d.shapes, ReadShapes(site_, group_, kStored));
    if (d.kernel_rows() > kMostDepthwiseRows)
      return site_.Unsupported("its kernels have more rows than there is room for");
    DescribeRow(d);
    PackConstants(d);
    Divide(d);
    HostRoutine routine;
    const auto shared = std::make_shared<const Depthwise<T>>(std::move(d));
    routine.run = [shared](const HostCall& run) -> Status {
      const Depthwise<T>& all = *shared;
      const Images &from = all.shapes.x, &to = all.shapes.y;
      const auto* x = run.input<T>(from.place);
      auto* y = run.output<T>(to.place);
      const int64_t parts = all.channel_parts, items = all.stretches() * parts;  // items: of one image
      const double work = (all.shapes.macs_of_row() * 0.01 + 10) * static_cast<double>(all.rows_together);
      ParallelRanges(run.team, all.shapes.images * items, work / static_cast<double>(parts),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t image = i / items;
                         ComputeStretch(all, x + image * from.image_stride, y + image * to.image_stride,
                                        i % items / parts, i % parts);
                       }
                     });
      return {};
    };
    return routine;
  }

 private:
  static void DescribeRow(Depthwise<T>& d) {
    const Convolution& c = d.shapes;
    d.row.kernel_columns = c.window.kernel[1];
    d.row.stride = c.window.strides[1];
    d.row.dilation = c.window.dilations[1];
    d.row.pad = c.window.pads_begin[1];
    d.row.in_pixels = c.x.columns;
    d.row.in_pixel_stride = c.x.pixel_stride;
    d.row.out_pixels = c.y.columns;
    d.row.out_pixel_stride = c.y.pixel_stride;
    d.row.bounds = c.bounds;
  }

  // Small beside what they are multiplied with, so each kernel packs its own.
  static void PackConstants(Depthwise<T>& d) {
    const int64_t lanes = d.rows.lanes, elements = d.kernel_rows() * d.row.kernel_columns;
    const int64_t blocks = (d.channels() + lanes - 1) / lanes;
    const auto weights = d.shapes.filters.template values<float>();
    d.weights.assign(static_cast<size_t>(blocks * elements * lanes), 0.0F);
    for (int64_t c = 0; c < d.channels(); ++c) {
      float* to = d.weights.data() + c / lanes * elements * lanes + c % lanes;
      for (int64_t k = 0; k < elements; ++k) to[k * lanes] = weights[static_cast<size_t>(c * elements + k)];
    }
    d.row.weights_stride = elements * lanes;
    if (d.shapes.bias.empty()) return;
    d.bias = d.shapes.bias;
    d.bias.resize(static_cast<size_t>(blocks * lanes));
  }

  void Divide(Depthwise<T>& d) const {
    constexpr int64_t kInnerCache = 12288, kManyRows = 16, kFewBlocks = 4;  // the cache in floats
    const int64_t shares = std::max<int64_t>(site_.width / d.shapes.images, 1);
    d.rows_together = std::clamp<int64_t>((d.shapes.y.rows + shares - 1) / shares, 1, kManyRows);
    const int64_t fitting = kInnerCache / (d.shapes.x.columns * d.kernel_rows()) / d.rows.lanes;
    const int64_t blocks = (d.channels() + d.rows.lanes - 1) / d.rows.lanes;
    d.channel_parts = std::min((site_.width - 1) / (d.shapes.images * d.stretches()) + 1, blocks);
    d.channels_together = std::min(std::max(fitting, kFewBlocks), (blocks - 1) / d.channel_parts + 1) * d.rows.lanes;
  }

  const HostSite& site_;
  const ConvolutionGroup& group_;
};

}  // namespace

bool FitsDepthwise(const FilterDims& filters) {
  return filters.groups > 1 && filters.group_in == 1 && filters.group_out == 1;
}

std::vector<Arrangement> ArrangementsOfDepthwise(const FilterDims&) { return {Arrangement::kChannelsLast}; }

Result<HostRoutine> MakeDepthwise(const HostSite& site, const ConvolutionGroup& group) {
  const bool shortened = site.out.size() == 1 && site.is_shortened(site.out[0]);
  return shortened ? DepthwiseMaker<Bfloat16>(site, group).Make() : DepthwiseMaker<float>(site, group).Make();
}

}  // namespace pt::host
