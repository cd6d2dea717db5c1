// Images read at positions that are data: GridSample, AffineGrid, RoiAlign, MaxRoiPool.
#include "partitiontuner/graph/operators/sampling.h"

#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/strided_read.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

constexpr size_t kMostDims = 3;

using Kind = SampleMode;
using Outside = SamplePadding;

struct Grid {
  Kind kind = Kind::kLinear;
  Outside outside = Outside::kZeros;
  bool align_corners = false;
  size_t rank = 2;
  std::array<int64_t, kMostDims> in{}, strides{};
  int64_t batch = 0, channels = 0, in_plane = 1, positions = 1;

  double low(size_t) const { return align_corners ? 0 : -0.5; }
  double high(size_t d) const { return static_cast<double>(in[d]) - (align_corners ? 1 : 0.5); }

  double Reflect(double x, size_t d) const {
    const double a = low(d), b = high(d), range = b - a;
    if (range <= 0) return 0;
    if (x < a) {
      const double over = a - x, times = std::floor(over / range), rest = over - times * range;
      return std::fmod(times, 2) == 0 ? a + rest : b - rest;
    }
    if (x > b) {
      const double over = x - b, times = std::floor(over / range), rest = over - times * range;
      return std::fmod(times, 2) == 0 ? b - rest : a + rest;
    }
    return x;
  }
  // From -1..1 to an input coordinate, brought inside where the padding mode says so.
  double Coordinate(double x, size_t d) const {
    const auto dim = static_cast<double>(in[d]);
    x = align_corners ? (x + 1) / 2 * (dim - 1) : ((x + 1) * dim - 1) / 2;
    if (kind == Kind::kNearest) x = std::nearbyint(x);
    if (x >= low(d) && x <= high(d)) return x;
    if (outside == Outside::kBorder) return std::fmin(std::fmax(x, 0), dim - 1);
    return outside == Outside::kReflection ? Reflect(x, d) : x;
  }
  // The input index that tap i shows; -1: zero.
  int64_t Index(double i, size_t d) const {
    if (!(i >= -0x1p40 && i <= 0x1p40)) return -1;
    const auto index = static_cast<int64_t>(i);
    if (index >= 0 && index < in[d]) return index;
    if (outside == Outside::kZeros) return -1;
    if (outside == Outside::kBorder) return std::clamp<int64_t>(index, 0, in[d] - 1);
    return std::clamp<int64_t>(static_cast<int64_t>(Reflect(i, d)), 0, in[d] - 1);
  }
};

struct Taps {
  std::array<int64_t, 4> offsets{};  // -1: zero
  std::array<double, 4> weights{};
  size_t count = 0;
};

void CubicWeights(double t, std::array<double, 4>& weights) {
  constexpr double kA = -0.75;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  weights = {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

Taps FindTaps(const Grid& grid, double x, size_t d) {
  Taps taps;
  double first = grid.kind == Kind::kNearest ? std::nearbyint(x) : std::floor(x);
  const double fraction = x - first;
  switch (grid.kind) {
    case Kind::kNearest:
      taps.count = 1;
      taps.weights = {1};
      break;
    case Kind::kLinear:
      taps.count = 2;
      taps.weights = {1 - fraction, fraction};
      break;
    case Kind::kCubic:
      taps.count = 4;
      CubicWeights(fraction, taps.weights);
      first -= 1;
  }
  for (size_t k = 0; k < taps.count; ++k) {
    const int64_t index = grid.Index(first + static_cast<double>(k), d);
    taps.offsets[k] = index < 0 ? -1 : index * grid.strides[d];
  }
  return taps;
}

// The weighted sum over the taps of all dims.
template <typename T>
double Sample(const T* image, const std::array<Taps, kMostDims>& taps, size_t rank) {
  int64_t combinations = 1;
  for (size_t d = 0; d < rank; ++d) combinations *= static_cast<int64_t>(taps[d].count);
  double sum = 0;
  for (int64_t c = 0; c < combinations; ++c) {
    int64_t rest = c, offset = 0;
    double weight = 1;
    bool zero = false;
    for (size_t d = rank; d-- > 0;) {
      const auto k = static_cast<size_t>(rest % static_cast<int64_t>(taps[d].count));
      rest /= static_cast<int64_t>(taps[d].count);
      zero = zero || taps[d].offsets[k] < 0;
      offset += taps[d].offsets[k];
      weight *= taps[d].weights[k];
    }
    if (!zero) sum += weight * static_cast<double>(image[offset]);
  }
  return sum;
}

Result<Grid> ReadGrid(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const std::vector<int64_t>&x = site.in[0].dims, &g = site.in[1].dims;
  if (x.size() < 3 || x.size() != g.size()) return site.Invalid("input and grid need the same rank of at least 3");
  if (x.size() > kMostDims + 2) return site.Unsupported("is not supported for more than three spatial dims");
  Grid grid;
  grid.rank = x.size() - 2;
  if (g.back() != static_cast<int64_t>(grid.rank) || g[0] != x[0])
    return site.Invalid("the grid does not fit the input");
  PT_CHECK_OK(NeedLoadable(site, 1));
  PT_ASSIGN(const GridSampleNode node, OrInvalid(ReadGridSample(site.node), site));
  grid.kind = node.mode;
  grid.outside = node.padding;
  grid.align_corners = node.align_corners;
  grid.batch = x[0];
  grid.channels = x[1];
  std::vector<int64_t> out = {x[0], x[1]};
  for (size_t d = grid.rank; d-- > 0;) {
    grid.in[d] = x[d + 2];
    grid.strides[d] = grid.in_plane;
    grid.in_plane *= x[d + 2];
  }
  for (size_t d = 0; d < grid.rank; ++d) {
    out.push_back(g[d + 1]);
    grid.positions *= g[d + 1];
  }
  if (grid.in_plane == 0 && grid.positions > 0) return site.Invalid("an empty image cannot be sampled");
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  return grid;
}

Result<ReferenceRoutine> GridSample(ReferenceSite& site) {
  PT_ASSIGN(const Grid grid, ReadGrid(site));
  const DataType grid_type = site.in[1].type;
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      ParallelRanges(
          run.team, grid.batch * grid.positions, 30.0 * static_cast<double>(grid.channels),
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              std::array<Taps, kMostDims> taps;
              for (size_t d = 0; d < grid.rank; ++d) {  // the grid's last dim counts from the innermost dim
                const auto at = i * static_cast<int64_t>(grid.rank) + static_cast<int64_t>(grid.rank - 1 - d);
                taps[d] = FindTaps(grid, grid.Coordinate(LoadAs<double>(grid_type, run.in<void>(1), at), d), d);
              }
              const int64_t b = i / grid.positions, position = i % grid.positions;
              for (int64_t c = 0; c < grid.channels; ++c) {
                const T* image = run.in<T>(0) + (b * grid.channels + c) * grid.in_plane;
                run.out<T>()[(b * grid.channels + c) * grid.positions + position] =
                    static_cast<T>(Sample(image, taps, grid.rank));
              }
            }
          });
      return {};
    }};
  });
}

// theta [n, d, d + 1] applied to the normalised coordinates of an image of `size`.
Result<ReferenceRoutine> AffineGrid(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  std::vector<int64_t> size;
  const std::vector<int64_t>& theta = site.in[0].dims;
  if (site.in[1].type != DataType::kInt64 || site.in[1].rank() != 1 || theta.size() != 3)
    return site.Invalid("its inputs have the wrong rank");
  const size_t rank = theta[1] == 3 ? 3 : 2;
  if (site.in[1].count() != static_cast<int64_t>(rank) + 2 || theta[1] != static_cast<int64_t>(rank) ||
      theta[2] != theta[1] + 1) {
    return site.Invalid("theta does not fit the size");
  }
  if (site.is_constant(1)) {
    size = site.in[1].constant->ToInts();
  } else {
    PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, static_cast<int64_t>(rank) + 2));
    size = site.out[0].dims;
    size.pop_back();
    size.insert(size.begin() + 1, -1);  // channels do not matter
  }
  std::vector<int64_t> out = {size[0]};
  out.insert(out.end(), size.begin() + 2, size.end());
  out.push_back(static_cast<int64_t>(rank));
  if (size[0] != theta[0]) return site.Invalid("theta does not fit the size");
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  const bool align = AlignsCorners(site.node);
  int64_t positions = 1;
  for (size_t d = 0; d < rank; ++d) positions *= size[d + 2];
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=](const TensorCall& run) -> Status {
      for (size_t d = 0; d < size.size(); ++d) {
        if (d != 1 && run.in<int64_t>(1)[d] != size[d]) {
          return MakeError(ErrorCode::kInvalidInput, "reference.shape",
                           "AffineGrid: the size is not the one planned for");
        }
      }
      for (int64_t i = 0; i < size[0] * positions; ++i) {
        std::array<double, kMostDims> x{};  // innermost first
        int64_t rest = i % positions;
        for (size_t d = rank; d-- > 0;) {
          const int64_t dim = size[d + 2], at = rest % dim;
          rest /= dim;
          const auto n = static_cast<double>(dim);
          x[rank - 1 - d] = align ? (dim == 1 ? 0 : 2.0 * static_cast<double>(at) / (n - 1) - 1)
                                  : (2.0 * static_cast<double>(at) + 1) / n - 1;
        }
        const T* t = run.in<T>(0) + i / positions * theta[1] * theta[2];
        for (size_t row = 0; row < rank; ++row) {
          double sum = static_cast<double>(t[row * (rank + 1) + rank]);
          for (size_t d = 0; d < rank; ++d) sum += static_cast<double>(t[row * (rank + 1) + d]) * x[d];
          run.out<T>()[i * static_cast<int64_t>(rank) + static_cast<int64_t>(row)] = static_cast<T>(sum);
        }
      }
      return {};
    }};
  });
}

// Bilinear samples averaged (or their maximum) in a grid over each region of interest.
struct Regions {
  int64_t batch = 0, channels = 0, height = 0, width = 0, rois = 0, out_height = 1, out_width = 1, ratio = 0;
  double scale = 1;
  bool average = true, half_pixel = true;
};

// Calls f(offset, weight) for the corners around (y, x).
template <typename F>
void ForCorners(const Regions& r, double y, double x, F&& f) {
  if (!(y >= -1 && y <= static_cast<double>(r.height) && x >= -1 && x <= static_cast<double>(r.width))) return;
  y = std::fmax(y, 0);
  x = std::fmax(x, 0);
  auto y0 = static_cast<int64_t>(y), x0 = static_cast<int64_t>(x);
  if (y0 >= r.height - 1) y = static_cast<double>(y0 = r.height - 1);
  if (x0 >= r.width - 1) x = static_cast<double>(x0 = r.width - 1);
  const int64_t y1 = std::min(y0 + 1, r.height - 1), x1 = std::min(x0 + 1, r.width - 1);
  const double fy = y - static_cast<double>(y0), fx = x - static_cast<double>(x0);
  f(y0 * r.width + x0, (1 - fy) * (1 - fx));
  f(y0 * r.width + x1, (1 - fy) * fx);
  f(y1 * r.width + x0, fy * (1 - fx));
  f(y1 * r.width + x1, fy * fx);
}

template <typename T>
void AlignRegion(const Regions& r, const T* roi, const T* images, T* out) {
  const double shift = r.half_pixel ? 0.5 : 0;
  const double x_start = static_cast<double>(roi[0]) * r.scale - shift,
               y_start = static_cast<double>(roi[1]) * r.scale - shift;
  double width = static_cast<double>(roi[2]) * r.scale - shift - x_start,
         height = static_cast<double>(roi[3]) * r.scale - shift - y_start;
  if (!r.half_pixel) {
    width = std::fmax(width, 1);
    height = std::fmax(height, 1);
  }
  const double bin_height = height / static_cast<double>(r.out_height),
               bin_width = width / static_cast<double>(r.out_width);
  const auto samples = [&](double bin) {
    return r.ratio > 0 ? r.ratio : std::clamp<int64_t>(static_cast<int64_t>(std::ceil(std::fmin(bin, 4096))), 0, 4096);
  };
  const int64_t rows = samples(bin_height), cols = samples(bin_width);
  for (int64_t c = 0; c < r.channels; ++c) {
    const T* image = images + c * r.height * r.width;
    for (int64_t o = 0; o < r.out_height * r.out_width; ++o) {
      const int64_t oy = o / r.out_width, ox = o % r.out_width;
      double sum = 0, most = -HUGE_VAL;
      for (int64_t s = 0; s < rows * cols; ++s) {
        const int64_t row = s / cols, col = s % cols;
        const double y =
            y_start +
            (static_cast<double>(oy) + (static_cast<double>(row) + 0.5) / static_cast<double>(rows)) * bin_height;
        const double x =
            x_start +
            (static_cast<double>(ox) + (static_cast<double>(col) + 0.5) / static_cast<double>(cols)) * bin_width;
        ForCorners(r, y, x, [&](int64_t at, double weight) {
          const double value = weight * static_cast<double>(image[at]);
          sum += value;
          most = std::fmax(most, value);
        });
      }
      const auto count = static_cast<double>(std::max<int64_t>(1, rows * cols));
      out[c * r.out_height * r.out_width + o] = static_cast<T>(r.average ? sum / count : std::isinf(most) ? 0 : most);
    }
  }
}

Result<ReferenceRoutine> RoiAlign(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  const std::vector<int64_t>& x = site.in[0].dims;
  if (x.size() != 4 || site.in[1].rank() != 2 || site.in[1].dims[1] != 4 || site.in[1].type != site.in[0].type)
    return site.Invalid("image or regions have the wrong shape");
  Regions r{x[0], x[1], x[2], x[3], site.in[1].dims[0]};
  PT_ASSIGN(const RoiAlignNode node, OrInvalid(ReadRoiAlign(site.node, site.opset), site));
  r.out_height = node.out_height;
  r.out_width = node.out_width;
  r.ratio = node.ratio;
  r.scale = node.scale;
  r.average = node.average;
  r.half_pixel = node.half_pixel;
  if (r.height < 1 || r.width < 1) return site.Invalid("its image is empty");
  if (site.in[2].type != DataType::kInt64 || site.in[2].dims != std::vector<int64_t>{r.rois})
    return site.Invalid("the batch indices are not one int64 a region");
  PT_CHECK_OK(site.Out(0, site.in[0].type, {r.rois, r.channels, r.out_height, r.out_width}));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[r](const TensorCall& run) -> Status {
      for (int64_t i = 0; i < r.rois; ++i) {
        const int64_t b = run.in<int64_t>(2)[i];
        if (b < 0 || b >= r.batch)
          return MakeError(ErrorCode::kInvalidInput, "reference.index",
                           "RoiAlign: batch entry " + std::to_string(b) + " does not exist");
        AlignRegion<T>(r, run.in<T>(1) + 4 * i, run.in<T>(0) + b * r.channels * r.height * r.width,
                       run.out<T>() + i * r.channels * r.out_height * r.out_width);
      }
      return {};
    }};
  });
}

// MaxRoiPool: the largest of each cell of a grid over a region, whose corners lie on pixels. The standard gives no
// formula: pixels are taken as ONNX Runtime (and Caffe, whose operator it was) takes them.

// Pixels begin..end-1 of one dim that a cell covers; none where the cell lies outside.
struct Range {
  int64_t begin = 0, end = 0;
};

// Corners are rounded to pixels, both of which belong to the region. T: what lengths of cells are computed in.
template <typename T>
Range CellOf(T first, T last, T scale, int64_t cell, int64_t cells, int64_t size) {
  constexpr T kFarthest = T{1 << 30};  // beyond any image, and far from overflow
  const T begin = std::clamp(std::round(first * scale), -kFarthest, kFarthest);
  const T end = std::clamp(std::round(last * scale), -kFarthest, kFarthest);
  const T length = std::max(end - begin + 1, T{1}) / static_cast<T>(cells);
  const T low = std::floor(static_cast<T>(cell) * length) + begin;
  const T high = std::ceil(static_cast<T>(cell + 1) * length) + begin;
  const auto inside = [&](T at) { return static_cast<int64_t>(std::clamp(at, T{0}, static_cast<T>(size))); };
  return {inside(low), inside(high)};
}

template <typename T>
T Largest(const T* plane, int64_t width, Range rows, Range columns) {
  if (rows.end <= rows.begin || columns.end <= columns.begin) return T{0};
  T most = -std::numeric_limits<T>::infinity();
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      const T at = plane[y * width + x];
      if (at > most || std::isnan(at)) most = at;
    }
  }
  return most;
}

Result<ReferenceRoutine> MaxRoiPool(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const std::vector<int64_t> x = site.in[0].dims, regions = site.in[1].dims;
  if (x.size() != 4 || regions.size() != 2 || regions[1] != 5 || site.in[1].type != site.in[0].type) {
    return site.Invalid("image or regions have the wrong shape");
  }
  PT_ASSIGN(const MaxRoiPoolNode node, OrInvalid(ReadMaxRoiPool(site.node), site));
  PT_CHECK_OK(site.Out(0, site.in[0].type, {regions[0], x[1], node.rows, node.columns}));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[x, regions, node](const TensorCall& run) -> Status {
      const T* const given = run.in<T>(1);
      for (int64_t r = 0; r < regions[0]; ++r) {
        if (const T entry = given[5 * r]; !(entry > -1 && entry < static_cast<T>(x[0]))) {
          return MakeError(ErrorCode::kInvalidInput, "reference.index",
                           "MaxRoiPool: batch entry " + std::to_string(entry) + " does not exist");
        }
      }
      const int64_t plane = x[2] * x[3], cells = node.rows * node.columns;
      const T scale = static_cast<T>(node.scale);
      ParallelRanges(run.team, regions[0] * x[1], static_cast<double>(plane) + 10, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* const region = given + 5 * (i / x[1]);
          const T* const image = run.in<T>(0) + (static_cast<int64_t>(region[0]) * x[1] + i % x[1]) * plane;
          T* const out = run.out<T>() + i * cells;
          for (int64_t c = 0; c < cells; ++c) {
            const Range rows = CellOf(region[2], region[4], scale, c / node.columns, node.rows, x[2]);
            const Range columns = CellOf(region[1], region[3], scale, c % node.columns, node.columns, x[3]);
            out[c] = Largest(image, x[3], rows, columns);
          }
        }
      });
      return {};
    }};
  });
}

constexpr std::array kSamplingOperators = {
    ReferenceRow{.op = "AffineGrid", .make = AffineGrid, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "GridSample", .make = GridSample, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "MaxRoiPool", .make = MaxRoiPool, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "RoiAlign", .make = RoiAlign, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> SamplingOperators() { return kSamplingOperators; }

}  // namespace pt::reference
