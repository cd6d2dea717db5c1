// Products with a matrix that was packed into panels, for operands that stay in cache. Vectorised; on the calling core.
// T is what factors are stored in: float, or Bfloat16 on processors with instructions for it. Sums are float32. Strides
// are in elements.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/backend/host_kernels/kernels/bounds.h"
#include "partitiontuner/graph/half.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/result.h"

namespace pt::host {

// B in panels: stretches of columns, one after another, each row by row (of bfloat16: each two rows, element by
// element). The last is filled up with zeros.
template <typename T>
struct PackCall {
  const T* b = nullptr;
  int64_t row_stride = 0, column_stride = 1;
  int64_t depth = 0, columns = 0;
  T* panels = nullptr;  // 64-byte aligned
};

// C = A · B + bias, row r times row_scales[r], plus the residual, then within bounds.
template <typename T>
struct ProductCall {
  const T* a = nullptr;                           // rows x depth
  int64_t a_row_stride = 0, a_column_stride = 1;  // of bfloat16: columns side by side
  const T* panels = nullptr;                      // of B, depth x columns
  const float* bias = nullptr;                    // columns, filled up to whole panels; null: none
  int64_t rows = 0, depth = 0, columns = 0;
  float* c = nullptr;           // rows x columns; nothing beside it is written, unless c_has_room
  Bfloat16* short_c = nullptr;  // of bfloat16, where this is not null: gets the results, rounded, instead of c
  int64_t c_row_stride = 0, c_column_stride = 1;
  bool c_has_room = false;            // each row may be filled up to whole panels
  const float* row_scales = nullptr;  // null: none
  const float* residual = nullptr;    // rows x columns, columns side by side as those of C; may be C. Null: none
  int64_t residual_row_stride = 0;
  std::optional<Bounds> bounds = {};  // of the results
};

template <typename T>
struct PanelProducts {
  int64_t columns = 0;  // of a panel; a multiple of the vectors' lanes
  int64_t rows = 1;     // of a panel that lie between each other: the depth is filled up to whole ones
  void (*pack)(const PackCall<T>&) = nullptr;
  // Each element is one sum in order of depth, from the bias on. Null where the processor has no instructions for it.
  void (*multiply)(const ProductCall<T>&) = nullptr;

  // kUnsupported where the processor has no instructions for it.
  Status CheckProcessor() const {
    if (multiply != nullptr) return {};
    return MakeError(ErrorCode::kUnsupported, "host.instructions", "this processor has no products of such numbers");
  }
  // Elements of a packed matrix.
  std::optional<int64_t> PackedCount(int64_t depth, int64_t matrix_columns) const {
    const auto up = [](int64_t n, int64_t to) {
      return CheckedAlignUp(static_cast<uint64_t>(n), static_cast<uint64_t>(to));
    };
    const auto deep = up(depth, rows), wide = up(matrix_columns, columns);
    return deep && wide ? CheckedMul(static_cast<int64_t>(*deep), static_cast<int64_t>(*wide)) : std::nullopt;
  }
};

// For the processor it is called on.
template <typename T>
PanelProducts<T> FindPanelProducts();
template <>
PanelProducts<float> FindPanelProducts();
template <>
PanelProducts<Bfloat16> FindPanelProducts();

}  // namespace pt::host
