// Rows of depthwise convolutions of 8-bit integers on pixels whose channels lie together, summed exactly. Vectorised;
// on the calling core. Strides are in elements.
//
// What four rows of the kernel see of a channel is one word of four bytes, so that one instruction adds the products of
// them all. The words of a row of the result are gathered first, those beside the image as well: there lie zero
// points, which stand for 0.
#pragma once

#include <cstdint>
#include <vector>

namespace pt::host {

struct QuantisedDepthwiseRow {
  // The input's row for each row of the kernel; null: outside the image.
  const uint8_t* const* rows = nullptr;
  int64_t kernel_rows = 0;
  int64_t kernel_columns = 0, stride = 1, dilation = 1;  // along the row
  int64_t from = 0;  // the input's pixel under the first element of the first window; may be negative
  int64_t in_pixels = 0, in_pixel_stride = 0;
  uint8_t zero = 0;    // of the input, as it is stored
  bool flips = false;  // the input is of int8; counts as uint8, moved by 128
  int64_t channels = 0;

  // In blocks of as many channels as a vector has lanes, the last filled up. A word has a weight for each of four rows,
  // the first in its lowest byte, and 0 for rows that the kernel lacks: a block has as many words as lanes for each
  // column, for each four rows.
  const uint32_t* weights = nullptr;
  const int32_t* starts = nullptr;                 // of the sums: less what the zero point adds
  const float *scales = nullptr, *bias = nullptr;  // real result = sum · scale + bias
  float low = 0, high = 0;                         // between which that is kept; NaN stays NaN
  int32_t result_zero = 0;                         // of bytes; low and high keep these within their type
  uint8_t* bytes = nullptr;                        // the result, rounded half to even
  float* reals = nullptr;                          // instead of `bytes`
  int64_t out_pixels = 0, out_pixel_stride = 0;
  uint32_t* words = nullptr;  // room for WordsOf(row, lanes), 64-byte aligned
};

struct QuantisedDepthwiseRows {
  int64_t lanes = 0;
  void (*compute)(const QuantisedDepthwiseRow&) = nullptr;
};

// Columns of the input that are gathered for one row of the result: of a few pixels more than it has, since tiles are
// always whole.
constexpr int64_t ColumnsOf(const QuantisedDepthwiseRow& row) {
  constexpr int64_t kSpare = 3;
  return (row.out_pixels + kSpare - 1) * row.stride + (row.kernel_columns - 1) * row.dilation + 1;
}
constexpr int64_t WordsOf(const QuantisedDepthwiseRow& row, int64_t lanes) {
  return (row.kernel_rows + 3) / 4 * ColumnsOf(row) * lanes;
}

// For the processor it is called on: the best, or all that it can run, the best first.
QuantisedDepthwiseRows FindQuantisedDepthwiseRows();
std::vector<QuantisedDepthwiseRows> QuantisedDepthwiseRowsOfProcessor();

}  // namespace pt::host
