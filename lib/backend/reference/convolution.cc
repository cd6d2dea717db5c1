// Conv and ConvTranspose of one to three spatial dims.
#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/gemm.h"
#include "lib/backend/reference/image_columns.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/sliding_window.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

struct ConvolutionShape {
  int64_t batch = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of one group
  Columns columns;
};

// Weights of all groups as panels of rows, packed once when constant, else at the head of scratch in each run.
struct PackedWeights {
  std::shared_ptr<DeviceBuffer> constant;
  int64_t group_elements = 0, elements = 0;

  template <typename T>
  const T* Get(const Run& run) const {
    return static_cast<const T*>(constant ? constant->data() : static_cast<void*>(run.scratch));
  }
  template <typename T>
  uint64_t scratch_bytes() const {
    return constant ? 0 : LineBytes<T>(elements);
  }
};

template <typename T>
Result<PackedWeights> PackWeights(const Site& site, const std::string& format, int64_t groups, int64_t rows,
                                  int64_t depth, const std::function<void(const T* from, T* to)>& pack) {
  const Tile<T>& tile = HostTile<T>();
  PackedWeights weights;
  weights.group_elements = Panels(rows, tile.rows) * tile.rows * depth;
  weights.elements = groups * weights.group_elements;
  if (!site.is_constant(1)) return weights;
  const Tensor& tensor = *site.in[1].constant;
  const std::string name = format + std::to_string(groups) + "x" + std::to_string(rows) + "x" + std::to_string(depth) +
                           " rows" + std::to_string(tile.rows) + " " + std::string(DataTypeName(tensor.type()));
  PT_ASSIGN(weights.constant, PackConstant(site, tensor, name, LineBytes<T>(weights.elements), [&](void* to) {
              pack(reinterpret_cast<const T*>(tensor.bytes().data()), static_cast<T*>(to));
            }));
  return weights;
}

template <typename T>
Result<Routine> TiledConvolution(const Site& site, const ConvolutionShape& s) {
  const Tile<T>& tile = HostTile<T>();
  const int64_t depth = s.in_channels * s.columns.taps;
  const auto pack = [s, depth, rows = tile.rows](const T* from, T* to) {
    const int64_t panel_elements = Panels(s.out_channels, rows) * rows * depth;
    for (int64_t g = 0; g < s.groups; ++g) {
      PackRows<T>({from + g * s.out_channels * depth, depth, 1}, s.out_channels, depth, rows, T{1},
                  to + g * panel_elements);
    }
  };
  PT_ASSIGN(const PackedWeights weights, PackWeights<T>(site, "convolution ", s.groups, s.out_channels, depth, pack));
  const Split split(s.batch * s.groups, Panels(s.out_channels, tile.rows), Panels(s.columns.count, tile.cols),
                    site.width);
  const uint64_t panel_bytes = LineBytes<T>(kDepthBlock * tile.cols);
  const uint64_t head = weights.scratch_bytes<T>();
  Routine routine;
  routine.scratch_bytes = head + panel_bytes * site.width;
  routine.run = [=, parts = site.width, &tile](const Run& run) -> Status {
    const T* packed = weights.template Get<T>(run);
    if (!weights.constant) pack(run.in<T>(1), reinterpret_cast<T*>(run.scratch));
    ForParts(run.team, parts, [&](uint32_t part, uint32_t n) {
      T* buffer = reinterpret_cast<T*>(run.scratch + head + part * panel_bytes);
      split.ForPart(part, n, [&](int64_t item, const PanelRange& range) {
        const int64_t g = item % s.groups;
        const T* image = run.in<T>(0) + item * s.in_channels * s.columns.plane;
        T* out = run.out<T>() + item * s.out_channels * s.columns.count;
        const T* bias = run.in<T>(2);
        if (bias != nullptr) {
          const int64_t begin = range.col_begin * tile.cols, end = std::min(s.columns.count, range.col_end * tile.cols);
          for (int64_t m = range.row_begin * tile.rows; m < std::min(s.out_channels, range.row_end * tile.rows); ++m) {
            std::fill(out + m * s.columns.count + begin, out + m * s.columns.count + end, bias[g * s.out_channels + m]);
          }
        }
        const auto panel = [&](int64_t p0, int64_t count, int64_t jp) -> const T* {
          if (s.columns.is_pointwise()) {
            PackColumns<T>({image, s.columns.plane, 1}, p0, count, jp * tile.cols, s.columns.count, tile.cols, buffer);
          } else {
            s.columns.Pack(image, p0, count, jp * tile.cols, tile.cols, buffer);
          }
          return buffer;
        };
        MultiplyPanels<T>(tile, s.out_channels, s.columns.count, depth, packed + g * weights.group_elements, panel, out,
                          s.columns.count, bias != nullptr, range);
      });
    });
    return {};
  };
  return routine;
}

// One output channel by one tap row at a time: for depthwise and other tiny groups, where tiles would be mostly empty.
template <typename T>
void FilterChannel(const Tile<T>& tile, const ConvolutionShape& s, const T* image, const T* weights, T start, T* out) {
  const Columns& c = s.columns;
  std::fill(out, out + c.count, start);
  for (int64_t channel = 0; channel < s.in_channels; ++channel, image += c.plane) {
    for (int64_t kz = 0; kz < c.kernel[0]; ++kz) {
      for (int64_t ky = 0; ky < c.kernel[1]; ++ky, weights += c.kernel[2]) {
        const auto [z_begin, z_end] = Columns::Inside(kz * c.dilation[0] - c.pad[0], c.stride[0], c.in[0], c.out[0]);
        const auto [y_begin, y_end] = Columns::Inside(ky * c.dilation[1] - c.pad[1], c.stride[1], c.in[1], c.out[1]);
        // Inner columns see every tap; those at the borders are summed tap by tap.
        const auto [left, unused_end] = Columns::Inside(-c.pad[2], c.stride[2], c.in[2], c.out[2]);
        const auto [unused_begin, right] =
            Columns::Inside((c.kernel[2] - 1) * c.dilation[2] - c.pad[2], c.stride[2], c.in[2], c.out[2]);
        const int64_t inner_begin = std::min(left, right), inner_end = right;
        for (int64_t z = z_begin; z < z_end; ++z) {
          for (int64_t y = y_begin; y < y_end; ++y) {
            const int64_t in_z = z * c.stride[0] - c.pad[0] + kz * c.dilation[0];
            const int64_t in_y = y * c.stride[1] - c.pad[1] + ky * c.dilation[1];
            const T* row = image + (in_z * c.in[1] + in_y) * c.in[2];
            T* to = out + (z * c.out[1] + y) * c.out[2];
            for (int64_t kx = 0; kx < c.kernel[2]; ++kx) {
              const int64_t first = kx * c.dilation[2] - c.pad[2];
              const auto [begin, end] = Columns::Inside(first, c.stride[2], c.in[2], c.out[2]);
              for (int64_t x = begin; x < std::min(end, inner_begin); ++x)
                to[x] += weights[kx] * row[first + x * c.stride[2]];
              for (int64_t x = std::max(begin, inner_end); x < end; ++x)
                to[x] += weights[kx] * row[first + x * c.stride[2]];
            }
            if (inner_begin < inner_end) {
              tile.filter_row(inner_end - inner_begin, c.kernel[2], weights, row + inner_begin * c.stride[2] - c.pad[2],
                              c.stride[2], c.dilation[2], to + inner_begin);
            }
          }
        }
      }
    }
  }
}

template <typename T>
Routine FilterConvolution(const ConvolutionShape& s) {
  return {[s, &tile = HostTile<T>()](const Run& run) -> Status {
    const int64_t weights = s.in_channels * s.columns.taps;
    const int64_t channels = s.groups * s.out_channels;
    const double work = static_cast<double>(weights * s.columns.count) / 8;
    ParallelRanges(run.team, s.batch * channels, work, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t m = i % channels, group = i / s.out_channels;
        const T start = run.in<T>(2) != nullptr ? run.in<T>(2)[m] : T{0};
        FilterChannel<T>(tile, s, run.in<T>(0) + group * s.in_channels * s.columns.plane, run.in<T>(1) + m * weights,
                         start, run.out<T>() + i * s.columns.count);
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
Result<ConvolutionDims> ReadDims(const Site& site) {
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
  ConvolutionDims dims{{x.begin() + 2, x.end()}, {w.begin() + 2, w.end()}, x[0], x[1], site.node.int_or("group", 1)};
  if (dims.group < 1) return site.Invalid("group " + std::to_string(dims.group) + " is not positive");
  const std::vector<int64_t> named = site.node.ints_or("kernel_shape", dims.kernel);
  if (named != dims.kernel) {
    return site.Invalid("kernel_shape " + DimsText(named) + " is not that of the weights, " + DimsText(w));
  }
  return dims;
}

Result<Routine> Conv(Site& site) {
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
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<Routine> {
    if (shape.groups > 1 && shape.out_channels <= 2) return FilterConvolution<T>(shape);
    return TiledConvolution<T>(site, shape);
  });
}

// Geometry of the transposed convolution: its output is the input of the convolution it reverses.
Result<SlidingWindow> ReadTransposedWindow(const Site& site, const ConvolutionDims& dims) {
  const size_t rank = dims.spatial.size();
  const Node& node = site.node;
  SlidingWindow w;
  w.kernel = dims.kernel;
  w.out = dims.spatial;
  w.stride = node.ints_or("strides", std::vector<int64_t>(rank, 1));
  w.dilation = node.ints_or("dilations", std::vector<int64_t>(rank, 1));
  const std::vector<int64_t> extra = node.ints_or("output_padding", std::vector<int64_t>(rank, 0));
  const std::vector<int64_t> pads = node.ints_or("pads", std::vector<int64_t>(2 * rank, 0));
  std::vector<int64_t> shape = node.ints_or("output_shape", {});
  PT_ASSIGN(const std::string auto_pad, ReadAutoPad(site));
  if (shape.size() == rank + 2) shape.erase(shape.begin(), shape.begin() + 2);
  if (w.stride.size() != rank || w.dilation.size() != rank || extra.size() != rank || pads.size() != 2 * rank ||
      (!shape.empty() && shape.size() != rank)) {
    return site.Invalid("strides, dilations, pads, output_padding or output_shape do not fit its spatial dims");
  }
  constexpr int64_t kMost = int64_t{1} << 31;
  for (size_t d = 0; d < rank; ++d) {
    if (w.stride[d] < 1 || w.dilation[d] < 1 || extra[d] < 0 || w.kernel[d] < 1 || w.stride[d] >= kMost ||
        w.dilation[d] * w.kernel[d] >= kMost || extra[d] >= kMost || std::abs(pads[d]) >= kMost ||
        std::abs(pads[d + rank]) >= kMost || w.out[d] >= kMost) {
      return site.Invalid("strides, dilations, pads or output_padding are out of range");
    }
    const int64_t full = w.stride[d] * (w.out[d] - 1) + extra[d] + (w.kernel[d] - 1) * w.dilation[d] + 1;
    int64_t begin = pads[d], in = full - pads[d] - pads[d + rank];
    if (auto_pad == "VALID") {
      begin = 0;
      in = full;
    }
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER" || !shape.empty()) {
      in = !shape.empty() ? shape[d] : w.out[d] * w.stride[d];
      const int64_t total = std::max<int64_t>(0, full - in);
      begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
    if (in < 0) return site.Invalid("its output would have a negative dim");
    w.in.push_back(in);
    w.pad_begin.push_back(begin);
    w.pad_end.push_back(0);
  }
  return w;
}

// Adds the products of one output channel's taps to where they belong.
template <typename T>
void ScatterTaps(const Columns& c, const T* taps, T start, T* image) {
  std::fill(image, image + c.plane, start);
  for (int64_t tap = 0; tap < c.taps; ++tap, taps += c.count) {
    const int64_t kx = tap % c.kernel[2], ky = tap / c.kernel[2] % c.kernel[1], kz = tap / c.kernel[2] / c.kernel[1];
    const auto [begin, end] = Columns::Inside(kx * c.dilation[2] - c.pad[2], c.stride[2], c.in[2], c.out[2]);
    for (int64_t z = 0; z < c.out[0]; ++z) {
      const int64_t to_z = z * c.stride[0] - c.pad[0] + kz * c.dilation[0];
      if (to_z < 0 || to_z >= c.in[0]) continue;
      for (int64_t y = 0; y < c.out[1]; ++y) {
        const int64_t to_y = y * c.stride[1] - c.pad[1] + ky * c.dilation[1];
        if (to_y < 0 || to_y >= c.in[1]) continue;
        const T* from = taps + (z * c.out[1] + y) * c.out[2];
        T* to = image + (to_z * c.in[1] + to_y) * c.in[2];
        for (int64_t x = begin; x < end; ++x) to[x * c.stride[2] - c.pad[2] + kx * c.dilation[2]] += from[x];
      }
    }
  }
}

// taps[out channel · tap][position] = weightsᵀ · input, then scattered.
template <typename T>
Result<Routine> TransposedConvolution(const Site& site, const ConvolutionShape& s) {
  const Tile<T>& tile = HostTile<T>();
  const Columns& c = s.columns;
  const int64_t rows = s.out_channels * c.taps, depth = s.in_channels;
  const auto pack = [s, rows, depth, tile_rows = tile.rows](const T* from, T* to) {
    for (int64_t g = 0; g < s.groups; ++g) {
      PackRows<T>({from + g * depth * rows, 1, rows}, rows, depth, tile_rows, T{1},
                  to + g * Panels(rows, tile_rows) * tile_rows * depth);
    }
  };
  PT_ASSIGN(const PackedWeights weights, PackWeights<T>(site, "transposed convolution ", s.groups, rows, depth, pack));
  const Split split(1, Panels(rows, tile.rows), Panels(c.count, tile.cols), site.width);
  const uint64_t panel_bytes = LineBytes<T>(kDepthBlock * tile.cols);
  const uint64_t panels_at = weights.scratch_bytes<T>(), taps_at = panels_at + panel_bytes * site.width;
  Routine routine;
  routine.scratch_bytes = taps_at + LineBytes<T>(rows * c.count);
  routine.run = [=, parts = site.width, &tile](const Run& run) -> Status {
    if (!weights.constant) pack(run.in<T>(1), reinterpret_cast<T*>(run.scratch));
    const T* packed = weights.template Get<T>(run);
    T* taps = reinterpret_cast<T*>(run.scratch + taps_at);
    for (int64_t item = 0; item < s.batch * s.groups; ++item) {
      const int64_t g = item % s.groups;
      const T* image = run.in<T>(0) + item * s.in_channels * c.count;
      ForParts(run.team, parts, [&](uint32_t part, uint32_t n) {
        T* buffer = reinterpret_cast<T*>(run.scratch + panels_at + part * panel_bytes);
        split.ForPart(part, n, [&](int64_t, const PanelRange& range) {
          const auto panel = [&](int64_t p0, int64_t count, int64_t jp) -> const T* {
            PackColumns<T>({image, c.count, 1}, p0, count, jp * tile.cols, c.count, tile.cols, buffer);
            return buffer;
          };
          MultiplyPanels<T>(tile, rows, c.count, depth, packed + g * weights.group_elements, panel, taps, c.count,
                            false, range);
        });
      });
      const double work = static_cast<double>(c.taps * c.count);
      ParallelRanges(run.team, s.out_channels, work, [&](int64_t begin, int64_t end) {
        for (int64_t m = begin; m < end; ++m) {
          const T start = run.in<T>(2) != nullptr ? run.in<T>(2)[g * s.out_channels + m] : T{0};
          ScatterTaps<T>(c, taps + m * c.taps * c.count, start, run.out<T>() + (item * s.out_channels + m) * c.plane);
        }
      });
    }
    return {};
  };
  return routine;
}

Result<Routine> ConvTranspose(Site& site) {
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
  return VisitFloats(site, site.in[0].type, [&]<typename T>() { return TransposedConvolution<T>(site, shape); });
}

constexpr std::array kRows = {
    OperatorRow{.op = "Conv", .make = Conv, .feeding = Feeding::kWidened},
    OperatorRow{.op = "ConvTranspose", .make = ConvTranspose, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const OperatorRow> ConvolutionOperators() { return kRows; }

Result<Routine> MakeConvolution(Site& site) { return Conv(site); }

}  // namespace pt::reference
