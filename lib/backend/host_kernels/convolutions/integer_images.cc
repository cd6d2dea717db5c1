#include "lib/backend/host_kernels/convolutions/integer_images.h"

#include <algorithm>
#include <cstring>

#include "lib/backend/host/parallel.h"
#include "partitiontuner/backend/window_parameters.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

// Padded images beyond this are left to others.
constexpr int64_t kMostPadded = int64_t{1} << 40;

// n bytes and, behind them, up to 15 more of both.
void CopyWithRoom(const uint8_t* from, int64_t n, uint8_t* to) {
  static_assert(IntegerImages::kRoom >= 16);
  for (int64_t i = 0; i < n; i += 16) std::memcpy(to + i, from + i, 16);
}

}  // namespace

Result<IntegerImages> IntegerImages::Read(const HostSite& site, const Node& node, const HostOperand& x,
                                          const HostOperand& filters, const HostOperand& y) {
  const auto refuse = [&] { return site.Unsupported("attributes and dims of the convolution do not fit together"); };
  const std::vector<int64_t>& dims = x.dims();
  const int64_t groups = ReadConvolutionGroups(node);
  if (dims.size() < 3 || filters.dims().size() != dims.size() || y.dims().size() != dims.size() || groups < 1 ||
      dims[1] != CheckedMul(filters.dims()[1], groups) || y.dims()[1] % groups != 0 || y.dims()[0] != dims[0] ||
      y.dims()[1] != filters.dims()[0]) {
    return refuse();
  }
  const std::span<const int64_t> in = std::span(dims).subspan(2), out = std::span(y.dims()).subspan(2),
                                 kernel = std::span(filters.dims()).subspan(2);
  const auto window = WindowOf(node, kernel, in, out);
  if (!window) return refuse();
  IntegerImages images;
  images.groups_ = groups;
  images.channels_ = filters.dims()[1];
  std::vector<int64_t> padded(in.size()), step(in.size(), 1);
  for (size_t d = 0; d < in.size(); ++d) {
    const auto reach = CheckedMul(out[d] - 1, window->strides[d]),
               tap = CheckedMul(kernel[d] - 1, window->dilations[d]);
    if (in[d] < 1 || out[d] < 1 || kernel[d] < 1 || window->pads_begin[d] < 0 || !reach || !tap ||
        *reach > kMostPadded || *tap > kMostPadded || window->pads_begin[d] > kMostPadded || in[d] > kMostPadded) {
      return refuse();
    }
    padded[d] = std::max(window->pads_begin[d] + in[d], *reach + *tap + 1);
  }
  std::vector<int64_t> all{dims[0], dims[1]};
  all.insert(all.end(), padded.begin(), padded.end());
  const auto bytes = CheckedProduct(all), plane = CheckedProduct(padded), count = CheckedProduct(kernel);
  if (!bytes || !plane || !count || *bytes > kMostPadded) return refuse();
  images.plane_ = *plane;
  for (size_t d = in.size() - 1; d-- > 0;) step[d] = step[d + 1] * padded[d + 1];

  images.planes_.Push(dims[1], {x.strides()[1], 1});
  images.planes_.Push(dims[0], {x.strides()[0], dims[1]});
  const size_t last = in.size() - 1;
  for (size_t d = last; d-- > 0;) images.lines_.Push(in[d], {x.strides()[d + 2], step[d]});
  images.line_ = in[last];
  images.line_stride_ = x.strides()[last + 2];
  for (int64_t t = 0; t < images.channels_ * *count; ++t) {
    int64_t rest = t % *count, offset = t / *count * *plane;
    for (size_t d = in.size(); d-- > 0; rest /= kernel[d]) offset += rest % kernel[d] * window->dilations[d] * step[d];
    images.offsets_.push_back(offset);
  }
  for (size_t d = last; d-- > 0;) images.pixel_rows_.Push(out[d], {window->strides[d] * step[d]});
  images.row_pixels_ = out[last];
  images.pixel_stride_ = window->strides[last];
  for (size_t d = 0; d < in.size(); ++d) images.inside_ += window->pads_begin[d] * step[d];
  return images;
}

void IntegerImages::Pad(Team* team, const uint8_t* x, uint8_t fill, uint8_t* padded) const {
  ParallelRanges(team, planes_.count, static_cast<double>(plane_) * 0.1 + 20, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const auto at = planes_.At(p);
      const uint8_t* from = x + at[0];
      uint8_t* to = padded + at[1] * plane_;
      std::memset(to, fill, static_cast<size_t>(plane_));
      lines_.ForEach(0, [&](const Walk<2>::Offsets& line) {
        const uint8_t* row = from + line[0];
        uint8_t* padded_row = to + inside_ + line[1];
        if (line_stride_ == 1) {
          std::memcpy(padded_row, row, static_cast<size_t>(line_));
        } else {
          for (int64_t i = 0; i < line_; ++i) padded_row[i] = row[i * line_stride_];
        }
      });
    }
  });
}

template <typename F>
void IntegerImages::ForStretches(const uint8_t* padded, int64_t matrix, int64_t first, int64_t columns,
                                 const F& f) const {
  const uint8_t* image = padded + matrix * channels_ * plane_;
  Cursor<1> at(pixel_rows_, first / row_pixels_);
  for (int64_t done = 0, from = first % row_pixels_; done < columns; from = 0, at.Next()) {
    const int64_t n = std::min(columns - done, row_pixels_ - from);
    f(image + at.offsets()[0] + from * pixel_stride_, n, done);
    done += n;
  }
}

void IntegerImages::Gather(const uint8_t* padded, int64_t matrix, int64_t first, int64_t columns, uint8_t* rows,
                           int64_t row_stride) const {
  ForStretches(padded, matrix, first, columns, [&](const uint8_t* pixels, int64_t n, int64_t done) {
    GatherPixels(pixels, n, rows + done, row_stride);
  });
}

void IntegerImages::GatherPixels(const uint8_t* pixels, int64_t n, uint8_t* rows, int64_t row_stride) const {
  for (const int64_t offset : offsets_) {
    if (pixel_stride_ == 1) {
      CopyWithRoom(pixels + offset, n, rows);
    } else {
      for (int64_t i = 0; i < n; ++i) rows[i] = pixels[offset + i * pixel_stride_];
    }
    rows += row_stride;
  }
}

void IntegerImages::Sum(const IntegerPanels& math, const uint8_t* padded, int64_t matrix, int64_t first,
                        int64_t columns, IntegerWindowCall call) const {
  int32_t* const sums = call.sums;
  call.step = pixel_stride_;
  call.offsets = offsets_.data();
  call.depth = depth();
  ForStretches(padded, matrix, first, columns, [&](const uint8_t* pixels, int64_t n, int64_t done) {
    call.pixels = pixels;
    call.columns = n;
    call.sums = sums + done;
    math.sum_windows(call);
  });
}

}  // namespace pt::host
