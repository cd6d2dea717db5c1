// Products of 8-bit integers with a matrix in panels, exact in 32 bits that wrap around. Vectorised; on the calling
// core. Within a product the left side counts as uint8 and the right one as int8: numbers of the other type are moved
// by 128
// (`flips`) as they are read or packed, and so are their zero points.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/backend/host_kernels/kernels/bounds.h"

namespace pt::host {

// Rows of a panel that lie between each other.
inline constexpr int64_t kQuad = 4;

// B in panels: stretches of columns, one after another, each four rows by four rows, element by element. What is beyond
// the rows and columns of B is zero.
struct IntegerPackCall {
  const uint8_t* b = nullptr;  // rows x columns, the columns side by side
  int64_t row_stride = 0;
  int64_t depth = 0, columns = 0;
  bool flips = false;              // B is of uint8
  int8_t* panels = nullptr;        // 64-byte aligned
  int32_t* column_sums = nullptr;  // of B as packed; filled up to whole panels
};

// sum = A · B - row_zeros · column_terms - row_sums · column_zeros, and C is that sum or its real number.
struct IntegerCall {
  const uint8_t* a = nullptr;  // rows x depth, the elements of a row side by side
  int64_t a_row_stride = 0;
  bool flips = false;              // A is of int8
  const int8_t* panels = nullptr;  // of B, depth x columns
  int64_t rows = 0, depth = 0, columns = 0;
  const int32_t* row_zeros = nullptr;
  const int32_t* column_terms = nullptr;  // filled up to whole panels, as everything that is given by column
  const int32_t* row_sums = nullptr;      // null: the column zeros are all 0
  const int32_t* column_zeros = nullptr;
  // C = sum, or sum · scale + bias: a scale and a bias for each column or each row, the others null.
  int32_t* integers = nullptr;
  float* reals = nullptr;  // instead of `integers`
  int64_t c_row_stride = 0;
  const float *column_scales = nullptr, *row_scales = nullptr;
  const float *column_bias = nullptr, *row_bias = nullptr;
  std::optional<Bounds> bounds = {};  // of real results
};

// Sums of rows, as they are multiplied.
struct IntegerRowCall {
  const uint8_t* a = nullptr;
  int64_t a_row_stride = 0;
  bool flips = false;
  int64_t rows = 0, depth = 0;
  int32_t* sums = nullptr;
};

// One row of numbers by windows of pixels: sum j = start + the numbers · pixels[offsets + j · step].
struct IntegerWindowCall {
  static constexpr int64_t kRoom = 32;  // bytes behind the pixels that may be read

  const uint8_t* pixels = nullptr;
  bool flips = false;  // of int8
  int64_t step = 1;
  const int64_t* offsets = nullptr;  // depth of them
  const int32_t* numbers = nullptr;  // likewise
  int64_t depth = 0, columns = 0;
  int32_t start = 0;
  int32_t* sums = nullptr;  // room for kRoom more
};

struct IntegerPanels {
  int64_t columns = 0;  // of a panel
  void (*pack)(const IntegerPackCall&) = nullptr;
  void (*multiply)(const IntegerCall&) = nullptr;
  void (*sum_rows)(const IntegerRowCall&) = nullptr;
  void (*sum_windows)(const IntegerWindowCall&) = nullptr;
};

// For the processor it is called on: the best, or all that it can run, the best first.
IntegerPanels FindIntegerPanels();
std::vector<IntegerPanels> IntegerPanelsOfProcessor();

}  // namespace pt::host
