// Images taken apart and put together: CenterCropPad, Col2Im, MaxUnpool, DeformConv; determinants and inverses.
#include <Eigen/Core>
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/image_decoder.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/sliding_window.h"
#include "lib/backend/reference/strided_read.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {
namespace {

// Cuts or pads each named dim around its middle.
Result<ReferenceRoutine> CenterCropPad(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  const std::vector<int64_t>& in = site.in[0].dims;
  PT_ASSIGN(const std::vector<size_t> axes, OrInvalid(ReadAxes(site.node, in.size()), site));
  if (!IsIndexType(site.in[1].type) || site.in[1].count() != static_cast<int64_t>(axes.size()))
    return site.Invalid("the shape does not fit the axes");
  std::vector<int64_t> out = in;
  if (site.is_constant(1)) {
    const std::vector<int64_t> shape = site.in[1].constant->ToInts();
    for (size_t i = 0; i < axes.size(); ++i) out[axes[i]] = shape[i];
    for (int64_t dim : out) {
      if (dim < 0) return site.Invalid("a dim is negative");
    }
  } else {
    PT_CHECK_OK(site.OutFromGraph(0, site.in[0].type, site.in[0].rank()));
    out = site.out[0].dims;
  }
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  std::vector<int64_t> shift(in.size());  // output index minus input index
  for (size_t d = 0; d < in.size(); ++d) shift[d] = out[d] >= in[d] ? (out[d] - in[d]) / 2 : -((in[d] - out[d]) / 2);
  int64_t count = 1;
  for (int64_t dim : out) count *= dim;
  const bool wide = site.in[1].type == DataType::kInt64;
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, strides = DenseStrides(in)](const TensorCall& run) -> Status {
      const Indices shape{run.in<void>(1), wide};
      for (size_t i = 0; i < axes.size(); ++i) {
        if (shape[static_cast<int64_t>(i)] != out[axes[i]]) {
          return MakeError(ErrorCode::kInvalidInput, "reference.shape",
                           "CenterCropPad: the shape is not the one planned for");
        }
      }
      for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i, offset = 0;
        bool inside = true;
        for (size_t d = out.size(); d-- > 0;) {
          const int64_t at = rest % out[d] - shift[d];
          rest /= out[d];
          inside = inside && at >= 0 && at < in[d];
          offset += at * strides[d];
        }
        run.out<T>()[i] = inside ? run.in<T>(0)[offset] : T{};
      }
      return {};
    }};
  });
}

// Blocks of columns [n, c · taps, positions] added back into images.
Result<ReferenceRoutine> Col2Im(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  PT_ASSIGN(const std::optional<std::vector<int64_t>> image, site.Ints(1, "image_shape"));
  PT_ASSIGN(const std::optional<std::vector<int64_t>> block, site.Ints(2, "block_shape"));
  if (!image || !block) return site.Invalid("image_shape or block_shape is missing");
  const std::vector<int64_t>& in = site.in[0].dims;
  const size_t rank = image->size();
  if (rank == 0 || rank > 8 || in.size() != 3) return site.Invalid("its inputs have the wrong rank");
  PT_ASSIGN(const SlidingWindow w, ReadWindow(site, *image, *block));
  int64_t taps = 1, positions = 1, plane = 1;
  for (size_t d = 0; d < rank; ++d) {
    taps *= w.kernel[d];
    positions *= w.out[d];
    plane *= w.in[d];
  }
  if (in[1] % taps != 0 || in[2] != positions) return site.Invalid("the columns do not fit image and block");
  const int64_t channels = in[1] / taps;
  std::vector<int64_t> out = {in[0], channels};
  out.insert(out.end(), image->begin(), image->end());
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, batch = in[0]](const TensorCall& run) -> Status {
      ParallelRanges(
          run.team, batch * channels, static_cast<double>(taps * positions) * 10, [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c) {
              T* to = run.out<T>() + c * plane;
              std::fill(to, to + plane, T{});
              for (int64_t i = 0; i < taps * positions; ++i) {
                int64_t tap = i / positions, position = i % positions, offset = 0, stride = 1;
                bool inside = true;
                for (size_t d = rank; d-- > 0;) {
                  const int64_t at =
                      position % w.out[d] * w.stride[d] + tap % w.kernel[d] * w.dilation[d] - w.pad_begin[d];
                  position /= w.out[d];
                  tap /= w.kernel[d];
                  inside = inside && at >= 0 && at < w.in[d];
                  offset += at * stride;
                  stride *= w.in[d];
                }
                using Arithmetic = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
                if (inside)
                  to[offset] = static_cast<T>(static_cast<Arithmetic>(to[offset]) +
                                              static_cast<Arithmetic>(run.in<T>(0)[c * taps * positions + i]));
              }
            }
          });
      return {};
    }};
  });
}

// Puts pooled values back where MaxPool's indices say they came from.
Result<ReferenceRoutine> MaxUnpool(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 3));
  const std::vector<int64_t>& in = site.in[0].dims;
  if (in.size() < 3 || site.in[1].dims != in || site.in[1].type != DataType::kInt64)
    return site.Invalid("the indices do not fit the input");
  const size_t rank = in.size() - 2;
  PT_ASSIGN(const WindowNode window, OrInvalid(ReadWindowNode(site.node, rank), site));
  const std::vector<int64_t> kernel = ReadKernelShape(site.node).value_or(std::vector<int64_t>());
  const std::vector<int64_t>&strides = window.strides, &pads = window.pads;
  if (kernel.size() != rank) return site.Invalid("kernel_shape does not fit");
  // Indices count within the tensor that was pooled, whose dims follow from the window.
  std::vector<int64_t> pooled = {in[0], in[1]};
  for (size_t d = 0; d < rank; ++d) {
    int64_t dim = 0;
    if (__builtin_mul_overflow(in[d + 2] - 1, strides[d], &dim)) return site.Invalid("a dim does not fit 63 bits");
    dim += kernel[d] - pads[d] - pads[d + rank];
    if (dim < 0) return site.Invalid("its output would have a negative dim");
    pooled.push_back(dim);
  }
  std::vector<int64_t> out = pooled;
  if (site.has(2)) {
    PT_ASSIGN(const std::optional<std::vector<int64_t>> shape, site.Ints(2, "output_shape"));
    out = *shape;
    if (out.size() != pooled.size()) return site.Invalid("output_shape does not fit");
  }
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  int64_t total = 1;
  for (int64_t dim : out) total *= dim;
  return VisitSizes(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, count = site.in[0].count()](const TensorCall& run) -> Status {
      std::fill(run.out<T>(), run.out<T>() + total, T{});
      for (int64_t i = 0; i < count; ++i) {
        int64_t rest = run.in<int64_t>(1)[i], offset = 0, stride = 1;
        bool inside = rest >= 0;
        for (size_t d = out.size(); d-- > 0 && inside;) {
          const int64_t at = d == 0 || pooled[d] == 0 ? rest : rest % pooled[d];
          rest = pooled[d] == 0 ? 0 : rest / pooled[d];
          inside = at < out[d];
          offset += at * stride;
          stride *= out[d];
        }
        if (!inside || offset >= total)
          return MakeError(ErrorCode::kInvalidInput, "reference.index", "MaxUnpool: an index is outside the output");
        run.out<T>()[offset] = run.in<T>(0)[i];
      }
      return {};
    }};
  });
}

// A convolution whose taps are moved by offsets and weighed by a mask, both data. Two spatial dims.
struct Deformation {
  SlidingWindow w;
  int64_t batch = 0, channels = 0, outputs = 0, group = 1, offset_group = 1;
  int64_t taps() const { return w.kernel[0] * w.kernel[1]; }
  int64_t positions() const { return w.out[0] * w.out[1]; }
};

template <typename T>
double BilinearAt(const T* image, int64_t height, int64_t width, double y, double x) {
  if (!(y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(width))) return 0;
  const auto y0 = static_cast<int64_t>(std::floor(y)), x0 = static_cast<int64_t>(std::floor(x));
  const double fy = y - static_cast<double>(y0), fx = x - static_cast<double>(x0);
  const auto at = [&](int64_t r, int64_t c) {
    return r < 0 || r >= height || c < 0 || c >= width ? 0.0 : static_cast<double>(image[r * width + c]);
  };
  return (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x0 + 1)) +
         fy * ((1 - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1));
}

template <typename T>
T DeformedSum(const Deformation& p, const TensorCall& run, int64_t b, int64_t m, int64_t position) {
  const int64_t per_group = p.channels / p.group, height = p.w.in[0], width = p.w.in[1];
  const int64_t oy = position / p.w.out[1], ox = position % p.w.out[1], first = m / (p.outputs / p.group) * per_group;
  double sum = run.in<T>(3) != nullptr ? static_cast<double>(run.in<T>(3)[m]) : 0;
  for (int64_t c = 0; c < per_group; ++c) {
    const int64_t channel = first + c, og = channel / (p.channels / p.offset_group);
    for (int64_t tap = 0; tap < p.taps(); ++tap) {
      const int64_t at = ((b * p.offset_group + og) * p.taps() + tap) * 2 * p.positions() + position;
      const int64_t ky = tap / p.w.kernel[1], kx = tap % p.w.kernel[1];
      const double y = static_cast<double>(oy * p.w.stride[0] - p.w.pad_begin[0] + ky * p.w.dilation[0]) +
                       static_cast<double>(run.in<T>(2)[at]);
      const double x = static_cast<double>(ox * p.w.stride[1] - p.w.pad_begin[1] + kx * p.w.dilation[1]) +
                       static_cast<double>(run.in<T>(2)[at + p.positions()]);
      const double mask = run.in<T>(4) != nullptr
                              ? static_cast<double>(run.in<T>(
                                    4)[((b * p.offset_group + og) * p.taps() + tap) * p.positions() + position])
                              : 1;
      const double value = BilinearAt(run.in<T>(0) + (b * p.channels + channel) * height * width, height, width, y, x);
      sum += mask * value * static_cast<double>(run.in<T>(1)[(m * per_group + c) * p.taps() + tap]);
    }
  }
  return static_cast<T>(sum);
}

Result<ReferenceRoutine> DeformConv(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 5));
  const std::vector<int64_t>&x = site.in[0].dims, &weights = site.in[1].dims;
  if (x.size() != 4 || weights.size() != 4) return site.Unsupported("is supported for two spatial dims only");
  for (const TensorFacts& input : site.in) {
    if (input.present() && input.type != site.in[0].type) return site.Invalid("its inputs are of different types");
  }
  Deformation p;
  PT_ASSIGN(p.w, ReadWindow(site, {x[2], x[3]}, {weights[2], weights[3]}));
  p.batch = x[0];
  p.channels = x[1];
  p.outputs = weights[0];
  p.group = ReadConvolutionGroups(site.node);
  p.offset_group = ReadOffsetGroups(site.node);
  if (p.group < 1 || p.offset_group < 1 || p.channels % p.group != 0 || p.outputs % p.group != 0 ||
      p.channels % p.offset_group != 0 || weights[1] != p.channels / p.group) {
    return site.Invalid("groups do not divide the channels");
  }
  const int64_t fields = p.offset_group * p.taps();
  if (site.in[2].dims != std::vector<int64_t>{p.batch, 2 * fields, p.w.out[0], p.w.out[1]})
    return site.Invalid("the offsets do not fit the output");
  if (site.has(3) && site.in[3].dims != std::vector<int64_t>{p.outputs})
    return site.Invalid("the bias is not one value a channel");
  if (site.has(4) && site.in[4].dims != std::vector<int64_t>{p.batch, fields, p.w.out[0], p.w.out[1]})
    return site.Invalid("the mask does not fit the output");
  PT_CHECK_OK(site.Out(0, site.in[0].type, {p.batch, p.outputs, p.w.out[0], p.w.out[1]}));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[p](const TensorCall& run) -> Status {
      const int64_t per_group = p.channels / p.group;
      const double work = static_cast<double>(per_group * p.taps()) * 20;
      ParallelRanges(run.team, p.batch * p.outputs * p.positions(), work, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t plane = i / p.positions();
          run.out<T>()[i] = DeformedSum<T>(p, run, plane / p.outputs, plane % p.outputs, i % p.positions());
        }
      });
      return {};
    }};
  });
}

template <typename T>
using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// By elimination with the largest pivot, in the matrix itself: Eigen's own decompositions allocate, which a run may
// not.
double EliminatedDeterminant(Eigen::Map<RowMajorMatrix<double>>& a) {
  double determinant = 1;
  for (Eigen::Index k = 0; k < a.rows(); ++k) {
    const Eigen::Index rest = a.rows() - k - 1;
    Eigen::Index pivot = 0;
    a.col(k).tail(rest + 1).cwiseAbs().maxCoeff(&pivot);
    if (pivot != 0) {
      a.row(k).swap(a.row(k + pivot));
      determinant = -determinant;
    }
    determinant *= a(k, k);
    if (a(k, k) == 0) continue;
    a.col(k).tail(rest) /= a(k, k);
    a.bottomRightCorner(rest, rest).noalias() -= a.col(k).tail(rest) * a.row(k).tail(rest);
  }
  return determinant;
}

// Determinants of square matrices.
Result<ReferenceRoutine> Det(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& in = site.in[0].dims;
  if (in.size() < 2 || in.back() != in[in.size() - 2]) return site.Invalid("its input holds no square matrices");
  const int64_t n = in.back();
  const std::vector<int64_t> out(in.begin(), in.end() - 2);
  PT_CHECK_OK(site.Out(0, site.in[0].type, out));
  int64_t batch = 1;
  for (int64_t d : out) batch *= d;
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    ReferenceRoutine routine;
    routine.scratch_bytes = static_cast<uint64_t>(n * n) * sizeof(double);
    routine.run = [=](const TensorCall& run) -> Status {
      Eigen::Map<RowMajorMatrix<double>> a(reinterpret_cast<double*>(run.scratch), n, n);
      for (int64_t b = 0; b < batch; ++b) {
        a = Eigen::Map<const RowMajorMatrix<T>>(run.in<T>(0) + b * n * n, n, n).template cast<double>();
        run.out<T>()[b] = static_cast<T>(EliminatedDeterminant(a));
      }
      return {};
    };
    return routine;
  });
}

// Gauss and Jordan with the greatest pivot of each column: rows are the matrix and the identity behind it, and become
// the identity and the inverse. Of a singular matrix what is divided by zero.
void Invert(double* rows, int64_t n) {
  const int64_t width = 2 * n;
  const auto row = [&](int64_t i) { return rows + i * width; };
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r) {
      if (std::fabs(row(r)[c]) > std::fabs(row(pivot)[c])) pivot = r;
    }
    if (pivot != c) std::swap_ranges(row(c), row(c) + width, row(pivot));
    const double by = row(c)[c];
    for (int64_t k = 0; k < width; ++k) row(c)[k] /= by;
    for (int64_t r = 0; r < n; ++r) {
      const double times = row(r)[c];
      if (r == c || times == 0) continue;
      for (int64_t k = 0; k < width; ++k) row(r)[k] -= times * row(c)[k];
    }
  }
}

// Of ONNX Runtime's domain, which no operators of ONNX say.
Result<ReferenceRoutine> Inverse(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& dims = site.in[0].dims;
  if (dims.size() < 2 || dims[dims.size() - 1] != dims[dims.size() - 2])
    return site.Invalid("its input does not hold square matrices in its last two dims");
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  const int64_t n = dims.back(), size = n * n, batches = size == 0 ? 0 : site.in[0].count() / size;
  const auto bytes = CheckedProduct(std::array<int64_t, 4>{2, n, n, sizeof(double)});
  if (!bytes) return site.Unsupported("is not supported for matrices as large");
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    ReferenceRoutine routine{[=](const TensorCall& run) -> Status {
      double* const rows = reinterpret_cast<double*>(run.scratch);
      for (int64_t b = 0; b < batches; ++b) {
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            rows[i * 2 * n + j] = static_cast<double>(run.in<T>(0)[b * size + i * n + j]);
            rows[i * 2 * n + n + j] = i == j ? 1 : 0;
          }
        }
        Invert(rows, n);
        for (int64_t i = 0; i < size; ++i) run.out<T>()[b * size + i] = static_cast<T>(rows[i / n * 2 * n + n + i % n]);
      }
      return {};
    }};
    routine.scratch_bytes = static_cast<uint64_t>(*bytes);
    return routine;
  });
}

constexpr std::array kImageOperators = {
    ReferenceRow{.op = "CenterCropPad", .make = CenterCropPad},
    ReferenceRow{.op = "Col2Im", .make = Col2Im, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "DeformConv", .make = DeformConv, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "Det", .make = Det, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "Inverse", .make = Inverse, .feeding = Feeding::kWidened, .domain = "com.microsoft"},
    ReferenceRow{.op = "ImageDecoder", .make = ImageDecoder, .since = 20, .by_content = Inputs({0})},
    ReferenceRow{.op = "MaxUnpool", .make = MaxUnpool},
};

}  // namespace

std::span<const ReferenceRow> ImageOperators() { return kImageOperators; }

}  // namespace pt::reference
