// Products of rows with a matrix of 2, 4 or 8 bits an element that stays as small as it is: elements become real
// numbers in registers. Vectorised; on the calling core. Strides are in elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "lib/backend/host_kernels/kernels/bounds.h"
#include "partitiontuner/graph/packed_matrix.h"

namespace pt::host {

// The matrix in tiles of as many columns as vectors have lanes, each block by block: scales, zero points unless all lie
// in the middle of the type's range, then for each column 32 bits of neighbouring elements after another. Elements
// count from that middle. What fills up the last tile and the last word of a block is zero.
struct BlockMatrix {
  int64_t depth = 0, columns = 0, block = 0;
  int bits = 0;
  bool has_zero_points = false;
  const std::byte* tiles = nullptr;  // 64-byte aligned
};

// C = A · B + bias, within bounds. Elements that lie beside each other: of A along the depth, of C along the columns.
struct BlockCall {
  const float* a = nullptr;  // rows x depth
  int64_t a_stride = 0;
  BlockMatrix b;
  int64_t first = 0, columns = 0;  // of B's columns: those to compute; `first` is one of a tile
  const float* bias = nullptr;     // of these columns; null: none
  int64_t rows = 0;
  float* c = nullptr;  // rows x columns
  int64_t c_stride = 0;
  std::optional<Bounds> bounds = {};  // of the results
};

struct BlockProducts {
  int64_t columns = 0;  // that are computed side by side: a multiple of a tile's
  // Everything but the tiles of how the matrix is packed.
  BlockMatrix (*describe)(const PackedMatrix&) = nullptr;
  std::optional<uint64_t> (*bytes)(const BlockMatrix&) = nullptr;  // of the tiles; nullopt where they do not fit
  void (*pack)(const PackedMatrix&, std::byte* tiles) = nullptr;
  // Of one row each block is summed and then multiplied by its scale; of several each element is multiplied before. A
  // block's sum may therefore be infinite where numbers of A are beyond 1e36.
  void (*multiply)(const BlockCall&) = nullptr;
};

// For the processor it is called on.
BlockProducts FindBlockProducts();

}  // namespace pt::host
