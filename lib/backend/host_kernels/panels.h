// Products with a matrix that was packed into panels, for operands that stay in cache. Vectorised, float32; on the
// calling core. Strides are in elements.
#pragma once

#include <cstdint>

namespace pt::host {

// B in panels: stretches of columns, one after another, each row by row. The last is filled up with zeros.
struct PackCall {
  const float* b = nullptr;
  int64_t row_stride = 0, column_stride = 1;
  int64_t depth = 0, columns = 0;
  float* panels = nullptr;  // depth · columns, these rounded up to PanelProducts::columns; 64-byte aligned
};

// C = A · B + bias, row r times row_scales[r], then within bounds.
struct ProductCall {
  const float* a = nullptr;  // rows x depth
  int64_t a_row_stride = 0, a_column_stride = 1;
  const float* panels = nullptr;  // of B, depth x columns
  const float* bias = nullptr;    // columns, filled up to whole panels; null: none
  int64_t rows = 0, depth = 0, columns = 0;
  float* c = nullptr;  // rows x columns; nothing beside it is written, unless c_has_room
  int64_t c_row_stride = 0, c_column_stride = 1;
  bool c_has_room = false;            // each row may be filled up to whole panels
  const float* row_scales = nullptr;  // null: none
  // Results are kept within these; what is NaN stays so.
  bool bounded = false;
  float low = 0, high = 0;
};

struct PanelProducts {
  int64_t columns = 0;  // of a panel; a multiple of the vectors' lanes
  void (*pack)(const PackCall&) = nullptr;
  void (*multiply)(const ProductCall&) = nullptr;  // each element is one sum in order of depth, from the bias on
};

// For the processor it is called on.
PanelProducts FindPanelProducts();

}  // namespace pt::host
