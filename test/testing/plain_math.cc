#include "test/testing/plain_math.h"

#include <algorithm>
#include <array>

namespace pt::testing {
namespace {

using Three = std::array<int64_t, 3>;

// The spatial entries of a list with leading ones (or zeros) up to three.
Three Spatial(const std::vector<int64_t>& list, size_t first, size_t count, int64_t missing) {
  Three three = {missing, missing, missing};
  for (size_t d = 0; d < count; ++d) three[3 - count + d] = list[first + d];
  return three;
}

int64_t Flat(const Three& index, const Three& dims) { return (index[0] * dims[1] + index[1]) * dims[2] + index[2]; }
int64_t Count(const Three& dims) { return dims[0] * dims[1] * dims[2]; }

template <typename Visit>
void ForEachIndex(const Three& dims, const Visit& visit) {
  Three at;
  for (at[0] = 0; at[0] < dims[0]; ++at[0]) {
    for (at[1] = 0; at[1] < dims[1]; ++at[1]) {
      for (at[2] = 0; at[2] < dims[2]; ++at[2]) visit(at);
    }
  }
}

float At(const Tensor& tensor, int64_t i) { return tensor.values<float>()[static_cast<size_t>(i)]; }

}  // namespace

Tensor PlainConvolution(const Tensor& x, const Tensor& w, const Tensor* bias, const ConvolutionSettings& settings) {
  const size_t rank = x.dims().size() - 2;
  const Three in = Spatial(x.dims(), 2, rank, 1), kernel = Spatial(w.dims(), 2, rank, 1),
              stride = Spatial(settings.strides, 0, rank, 1), dilation = Spatial(settings.dilations, 0, rank, 1),
              begin = Spatial(settings.pads, 0, rank, 0), end = Spatial(settings.pads, rank, rank, 0);
  Three out;
  for (size_t d = 0; d < 3; ++d)
    out[d] = (in[d] + begin[d] + end[d] - (kernel[d] - 1) * dilation[d] - 1) / stride[d] + 1;
  const int64_t batch = x.dims()[0], channels = w.dims()[1], makes = w.dims()[0];
  std::vector<float> y;
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t m = 0; m < makes; ++m) {
      const int64_t group = m / (makes / settings.group);
      ForEachIndex(out, [&](const Three& at) {
        double sum = bias != nullptr ? static_cast<double>(At(*bias, m)) : 0;
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t plane = n * x.dims()[1] + group * channels + c, filter = m * channels + c;
          ForEachIndex(kernel, [&](const Three& tap) {
            Three from;
            for (size_t d = 0; d < 3; ++d) {
              from[d] = at[d] * stride[d] - begin[d] + tap[d] * dilation[d];
              if (from[d] < 0 || from[d] >= in[d]) return;
            }
            sum += static_cast<double>(At(x, plane * Count(in) + Flat(from, in))) *
                   static_cast<double>(At(w, filter * Count(kernel) + Flat(tap, kernel)));
          });
        }
        y.push_back(static_cast<float>(sum));
      });
    }
  }
  std::vector<int64_t> dims = {batch, makes};
  for (size_t d = 3 - rank; d < 3; ++d) dims.push_back(out[d]);
  return Tensor::Float32(dims, y);
}

Tensor PlainMatMul(const Tensor& a, const Tensor& b) {
  std::vector<int64_t> a_dims = a.dims(), b_dims = b.dims();
  if (a.rank() == 1) a_dims.insert(a_dims.begin(), 1);
  if (b.rank() == 1) b_dims.push_back(1);
  const size_t rank = std::max(a_dims.size(), b_dims.size());
  a_dims.insert(a_dims.begin(), rank - a_dims.size(), 1);
  b_dims.insert(b_dims.begin(), rank - b_dims.size(), 1);
  const int64_t rows = a_dims[rank - 2], depth = a_dims[rank - 1], columns = b_dims[rank - 1];
  std::vector<int64_t> dims;
  int64_t matrices = 1;
  for (size_t d = 0; d + 2 < rank; ++d) {
    dims.push_back(a_dims[d] == 1 ? b_dims[d] : a_dims[d]);
    matrices *= dims.back();
  }
  // Which matrix of an operand the product number `i` takes: dims of 1 stay at 0.
  const auto matrix_of = [&](const std::vector<int64_t>& operand, int64_t i) {
    int64_t matrix = 0, weight = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      matrix += (operand[d] == 1 ? 0 : i % dims[d]) * weight;
      weight *= operand[d];
      i /= dims[d];
    }
    return matrix;
  };
  std::vector<float> y;
  for (int64_t i = 0; i < matrices; ++i) {
    const int64_t a_at = matrix_of(a_dims, i) * rows * depth, b_at = matrix_of(b_dims, i) * depth * columns;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) {
          sum += static_cast<double>(At(a, a_at + row * depth + k)) *
                 static_cast<double>(At(b, b_at + k * columns + column));
        }
        y.push_back(static_cast<float>(sum));
      }
    }
  }
  if (a.rank() > 1) dims.push_back(rows);
  if (b.rank() > 1) dims.push_back(columns);
  return Tensor::Float32(dims, y);
}

}  // namespace pt::testing
