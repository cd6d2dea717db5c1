// Images of 8-bit integers as the matrices that convolutions multiply by their filters: a row for each element of a
// filter, a column for each pixel of the result.
#pragma once

#include <vector>

#include "lib/backend/host_kernels/kernels/walk.h"
#include "lib/backend/host_kernels/products/integer_panels.h"

namespace pt::host {

class IntegerImages {
 public:
  // Bytes behind each row that Gather may write, and that Pad leaves behind the last image.
  static constexpr int64_t kRoom = IntegerWindowCall::kRoom;

  // x, filters, y: the operands of the convolution `node`, and of the site; x may lie apart in any dim. kUnsupported
  // where attributes and dims do not fit together, or sizes are too large.
  static Result<IntegerImages> Read(const HostSite& site, const Node& node, const HostOperand& x,
                                    const HostOperand& filters, const HostOperand& y);

  int64_t groups() const { return groups_; }
  int64_t depth() const { return static_cast<int64_t>(offsets_.size()); }
  int64_t pixels() const { return pixel_rows_.count * row_pixels_; }
  uint64_t padded_bytes() const { return static_cast<uint64_t>(planes_.count * plane_ + kRoom); }

  // Copies all images, `fill` around them, to `padded`.
  void Pad(Team* team, const uint8_t* x, uint8_t fill, uint8_t* padded) const;
  // Columns first to first + columns - 1 of the matrix of a group of an image (counted together, groups fastest), row
  // by row. row_stride: kRoom beyond the columns, at least.
  void Gather(const uint8_t* padded, int64_t matrix, int64_t first, int64_t columns, uint8_t* rows,
              int64_t row_stride) const;
  // The same columns of one row of numbers, one for each row of the matrix, times the matrix: `call` says all but
  // pixels and columns.
  void Sum(const IntegerPanels& math, const uint8_t* padded, int64_t matrix, int64_t first, int64_t columns,
           IntegerWindowCall call) const;

 private:
  // f(pixels, how many, how many before) for stretches of these columns that lie in one row of a result.
  template <typename F>
  void ForStretches(const uint8_t* padded, int64_t matrix, int64_t first, int64_t columns, const F& f) const;
  // n pixels that lie in one row of a result, for each element of a filter.
  void GatherPixels(const uint8_t* pixels, int64_t n, uint8_t* rows, int64_t row_stride) const;

  int64_t groups_ = 1, channels_ = 0;  // of a group
  Walk<2> planes_;                     // of all images: offsets in x and among the padded planes
  int64_t plane_ = 0;                  // bytes of a padded one
  Walk<2> lines_;                      // of a plane: offsets in x and in the padded plane
  int64_t line_ = 0, line_stride_ = 1;
  int64_t inside_ = 0;            // where the image begins in a padded plane
  std::vector<int64_t> offsets_;  // of a filter's elements, among the padded planes of a group
  Walk<1> pixel_rows_;            // of a result: offsets in a padded plane
  int64_t row_pixels_ = 1, pixel_stride_ = 1;
};

}  // namespace pt::host
