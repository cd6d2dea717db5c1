// Conv and ConvTranspose of one to three spatial dims.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/image_columns.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/sliding_window.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/graph/transposed_sizes.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

struct ConvolutionShape {
  int64_t batch = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of one group
  Columns columns;
};

// A piece of an output row, summed in double and rounded once: what judges others is to be more exact than they are.
constexpr int64_t kRowPiece = 256;

// The output positions x of one row from `first` on, of one channel: the bias, and of all taps those inside the image.
template <typename T>
void ConvolvePiece(const Columns& c, int64_t channels, const T* image, const T* weights, double bias, int64_t z,
                   int64_t y, int64_t first, std::span<double> sums) {
  std::fill(sums.begin(), sums.end(), bias);
  for (int64_t channel = 0; channel < channels; ++channel, image += c.plane) {
    for (int64_t kz = 0; kz < c.kernel[0]; ++kz) {
      for (int64_t ky = 0; ky < c.kernel[1]; ++ky, weights += c.kernel[2]) {
        const int64_t in_z = z * c.stride[0] - c.pad[0] + kz * c.dilation[0];
        const int64_t in_y = y * c.stride[1] - c.pad[1] + ky * c.dilation[1];
        if (in_z < 0 || in_z >= c.in[0] || in_y < 0 || in_y >= c.in[1]) continue;
        const T* row = image + (in_z * c.in[1] + in_y) * c.in[2];
        for (int64_t kx = 0; kx < c.kernel[2]; ++kx) {
          const int64_t at = first * c.stride[2] - c.pad[2] + kx * c.dilation[2];
          const auto [begin, end] = Columns::Inside(at, c.stride[2], c.in[2], static_cast<int64_t>(sums.size()));
          const double weight = weights[kx];
          for (int64_t x = begin; x < end; ++x) sums[static_cast<size_t>(x)] += weight * row[at + x * c.stride[2]];
        }
      }
    }
  }
}

template <typename T>
ReferenceRoutine Convolution(const ConvolutionShape& s) {
  return {[s](const TensorCall& run) -> Status {
    const Columns& c = s.columns;
    const int64_t channels = s.groups * s.out_channels, rows = c.out[0] * c.out[1], taps = s.in_channels * c.taps;
    const T* bias = run.in<T>(2);
    const auto work = static_cast<double>(taps * c.out[2]);
    ParallelRanges(run.team, s.batch * channels * rows, work, [&](int64_t begin, int64_t end) {
      std::array<double, kRowPiece> sums;
      for (int64_t row = begin; row < end; ++row) {
        const int64_t plane = row / rows, m = plane % channels, z = row % rows / c.out[1], y = row % c.out[1];
        const T* image = run.in<T>(0) + plane / s.out_channels * s.in_channels * c.plane;
        const double start = bias != nullptr ? static_cast<double>(bias[m]) : 0;
        for (int64_t x = 0; x < c.out[2]; x += kRowPiece) {
          const std::span piece(sums.data(), static_cast<size_t>(std::min(kRowPiece, c.out[2] - x)));
          ConvolvePiece<T>(c, s.in_channels, image, run.in<T>(1) + m * taps, start, z, y, x, piece);
          std::transform(piece.begin(), piece.end(), run.out<T>() + row * c.out[2] + x,
                         [](double sum) { return static_cast<T>(sum); });
        }
      }
    });
    return {};
  }};
}

// The dims that Conv and ConvTranspose check alike. Weights are [w0, w1, kernel...].
struct ConvolutionDims {
  std::vector<int64_t> spatial, kernel;
  int64_t batch = 0, channels = 0, group = 1;
};
Result<ConvolutionDims> ReadDims(const ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 3));
  const std::vector<int64_t>& x = site.in[0].dims;
  const std::vector<int64_t>& w = site.in[1].dims;
  for (const TensorFacts& input : site.in) {
    if (input.present() && input.type != site.in[0].type) return site.Invalid("its inputs are of different types");
  }
  if (x.size() < 3 || w.size() != x.size()) {
    return site.Invalid("input of dims " + DimsText(x) + " and weights of dims " + DimsText(w) +
                        " need the same rank of at least 3");
  }
  if (x.size() > 5) return site.Unsupported("is not supported for more than three spatial dims");
  ConvolutionDims dims{
      {x.begin() + 2, x.end()}, {w.begin() + 2, w.end()}, x[0], x[1], ReadConvolutionGroups(site.node)};
  if (dims.group < 1) return site.Invalid("group " + std::to_string(dims.group) + " is not positive");
  const std::vector<int64_t> named = ReadKernelShape(site.node).value_or(dims.kernel);
  if (named != dims.kernel) {
    return site.Invalid("kernel_shape " + DimsText(named) + " is not that of the weights, " + DimsText(w));
  }
  return dims;
}

Result<ReferenceRoutine> Conv(ReferenceSite& site) {
  PT_ASSIGN(const ConvolutionDims dims, ReadDims(site));
  const std::vector<int64_t>& w = site.in[1].dims;
  if (w[1] * dims.group != dims.channels || w[0] % dims.group != 0) {
    return site.Invalid("weights of dims " + DimsText(w) + " in " + std::to_string(dims.group) +
                        " groups do not fit an input of dims " + DimsText(site.in[0].dims));
  }
  PT_CHECK_OK(site.NeedDims(2, "the bias", {w[0]}));
  PT_ASSIGN(const SlidingWindow window, ReadWindow(site, dims.spatial, dims.kernel));
  std::vector<int64_t> out = {dims.batch, w[0]};
  out.insert(out.end(), window.out.begin(), window.out.end());
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  const ConvolutionShape shape{dims.batch, dims.group, w[1], w[0] / dims.group, Columns(ToThreeDims(window))};
  return VisitFloats(site, site.in[0].type,
                     [&]<typename T>() -> Result<ReferenceRoutine> { return Convolution<T>(shape); });
}

// Geometry of the transposed convolution: its output is the input of the convolution it reverses.
Result<SlidingWindow> ReadTransposedWindow(const ReferenceSite& site, const ConvolutionDims& dims) {
  Result<TransposedSizes> sizes = TransposedSizesOf(site.node, dims.spatial, dims.kernel);
  if (!sizes.ok()) return site.Invalid(sizes.error().message);
  SlidingWindow w;
  w.kernel = dims.kernel;
  w.out = dims.spatial;
  w.stride = std::move(sizes->strides);
  w.dilation = std::move(sizes->dilations);
  w.in = std::move(sizes->out);
  w.pad_begin = std::move(sizes->pads_begin);
  w.pad_end.assign(w.in.size(), 0);
  return w;
}

// Of the convolution that it reverses, the geometry: that one's output is the input here.
template <typename T>
void TransposedRow(const ConvolutionShape& s, const T* in, const T* weights, double bias, int64_t z, int64_t y,
                   std::span<double> sums) {
  const Columns& c = s.columns;
  std::fill(sums.begin(), sums.end(), bias);
  for (int64_t channel = 0; channel < s.in_channels; ++channel, in += c.count, weights += s.out_channels * c.taps) {
    for (int64_t kz = 0; kz < c.kernel[0]; ++kz) {
      const int64_t at_z = z + c.pad[0] - kz * c.dilation[0], in_z = at_z / c.stride[0];
      if (at_z < 0 || at_z % c.stride[0] != 0 || in_z >= c.out[0]) continue;
      for (int64_t ky = 0; ky < c.kernel[1]; ++ky) {
        const int64_t at_y = y + c.pad[1] - ky * c.dilation[1], in_y = at_y / c.stride[1];
        if (at_y < 0 || at_y % c.stride[1] != 0 || in_y >= c.out[1]) continue;
        const T* from = in + (in_z * c.out[1] + in_y) * c.out[2];
        const T* of_row = weights + (kz * c.kernel[1] + ky) * c.kernel[2];
        for (int64_t kx = 0; kx < c.kernel[2]; ++kx) {
          const int64_t first = kx * c.dilation[2] - c.pad[2];
          const auto [begin, end] = Columns::Inside(first, c.stride[2], c.in[2], c.out[2]);
          const double weight = of_row[kx];
          for (int64_t x = begin; x < end; ++x) sums[static_cast<size_t>(first + x * c.stride[2])] += weight * from[x];
        }
      }
    }
  }
}

template <typename T>
ReferenceRoutine TransposedConvolution(const ConvolutionShape& s) {
  return {[s](const TensorCall& run) -> Status {
    const Columns& c = s.columns;
    const int64_t channels = s.groups * s.out_channels, rows = c.in[0] * c.in[1];
    const T* bias = run.in<T>(2);
    const auto work = static_cast<double>(s.in_channels * c.taps * c.in[2]);
    ParallelRanges(run.team, s.batch * channels * rows, work, [&](int64_t begin, int64_t end) {
      std::vector<double> sums(static_cast<size_t>(c.in[2]));
      for (int64_t row = begin; row < end; ++row) {
        const int64_t plane = row / rows, m = plane % channels, group = m / s.out_channels;
        const T* in = run.in<T>(0) + plane / s.out_channels * s.in_channels * c.count;
        const T* weights = run.in<T>(1) + (group * s.in_channels * s.out_channels + m % s.out_channels) * c.taps;
        const double start = bias != nullptr ? static_cast<double>(bias[m]) : 0;
        TransposedRow<T>(s, in, weights, start, row % rows / c.in[1], row % c.in[1], sums);
        std::transform(sums.begin(), sums.end(), run.out<T>() + row * c.in[2],
                       [](double sum) { return static_cast<T>(sum); });
      }
    });
    return {};
  }};
}

Result<ReferenceRoutine> ConvTranspose(ReferenceSite& site) {
  PT_ASSIGN(const ConvolutionDims dims, ReadDims(site));
  const std::vector<int64_t>& w = site.in[1].dims;
  if (w[0] != dims.channels || w[0] % dims.group != 0) {
    return site.Invalid("weights of dims " + DimsText(w) + " in " + std::to_string(dims.group) +
                        " groups do not fit an input of dims " + DimsText(site.in[0].dims));
  }
  const int64_t out_channels = w[1] * dims.group;
  PT_CHECK_OK(site.NeedDims(2, "the bias", {out_channels}));
  PT_ASSIGN(const SlidingWindow window, ReadTransposedWindow(site, dims));
  std::vector<int64_t> out = {dims.batch, out_channels};
  out.insert(out.end(), window.in.begin(), window.in.end());
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  const ConvolutionShape shape{dims.batch, dims.group, w[0] / dims.group, w[1], Columns(ToThreeDims(window))};
  return VisitFloats(site, site.in[0].type,
                     [&]<typename T>() -> Result<ReferenceRoutine> { return TransposedConvolution<T>(shape); });
}

constexpr std::array kConvolutionOperators = {
    ReferenceRow{.op = "Conv", .make = Conv, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "ConvTranspose", .make = ConvTranspose, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> ConvolutionOperators() { return kConvolutionOperators; }

Result<ReferenceRoutine> MakeConvolution(ReferenceSite& site) { return Conv(site); }

}  // namespace pt::reference
