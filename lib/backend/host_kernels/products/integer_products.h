// A product of integers as it runs: what is multiplied, where it lies, and in which parts. Made by integer_product.cc.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "lib/backend/host_kernels/convolutions/integer_images.h"
#include "lib/backend/host_kernels/elementwise/rest.h"
#include "lib/backend/host_kernels/kernels/bounds.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "lib/backend/host_kernels/products/integer_panels.h"

namespace pt::host {

// What walks give an offset of: A and its zero points, B and its zero points, the result.
enum IntegerSide : size_t { kA, kAZero, kB, kBZero, kC, kOffsets };
using IntegerOffsets = std::array<int64_t, kOffsets>;

// Zero points of one side, moved like its numbers.
struct IntegerZeros {
  std::optional<size_t> place;  // into the site's inputs; nullopt: 0
  DataType type = DataType::kUint8;
  int32_t moved = 0;

  int32_t At(const HostCall& run, int64_t offset) const {
    if (!place) return moved;
    const int32_t zero =
        type == DataType::kInt8 ? run.input<int8_t>(*place)[offset] : run.input<uint8_t>(*place)[offset];
    return zero + moved;
  }
};

// Something real for each column or each row (of a convolution: channel), or one for all of them.
struct IntegerFactor {
  size_t place = 0;  // into the site's inputs
  bool is_one = true;
  int64_t stride = 0;

  float At(const HostCall& run, int64_t i) const { return run.input<float>(place)[is_one ? 0 : i * stride]; }
};

// The work in items: some rows by some columns of one matrix of the result.
struct IntegerDivision {
  int64_t rows = 1, blocks = 0;     // of an item; of each matrix
  int64_t columns = 1, chunks = 0;  // whole panels except for the last; of each matrix
  int64_t rows_at_once = 1;         // fit into the inner cache with what follows
};

struct IntegerProducts {
  IntegerPanels math;
  bool a_flips = false, b_flips = false;
  size_t a = 0, b = 0;  // into the site's inputs
  IntegerZeros a_zero, b_zero;
  int64_t a_channels = 0;  // rows of all groups of a convolution
  int64_t depth = 0, columns = 0;
  int64_t b_row_stride = 0, b_zero_stride = 0;
  bool may_have_column_zeros = true;  // after they were moved
  Walk<kOffsets> matrices, rows;      // all of them; of each
  // B where it is constant, as one matrix after the other, and its panels.
  std::optional<Tensor> constant;
  std::shared_ptr<DeviceBuffer> packed;
  std::optional<IntegerImages> images;
  // The result.
  bool by_row = false;  // scales and bias
  bool is_real = false;
  std::vector<IntegerFactor> scales;
  std::vector<float> bias;  // for each, columns filled up to whole panels; empty: none
  std::optional<Bounds> bounds;
  Walk<1> column_walk;  // of the result
  std::optional<ElementwiseRest> rest;
  IntegerDivision division;
  double work = 0;  // nanoseconds of one item

  int64_t packed_depth() const { return (depth + kQuad - 1) / kQuad * kQuad; }
  int64_t padded(int64_t count) const { return (count + math.columns - 1) / math.columns * math.columns; }
  int64_t matrix_bytes() const { return packed_depth() * padded(columns); }
  // Of one row by images: sums of windows, without panels.
  bool is_by_window() const { return images && rows.count == 1; }
  bool is_direct() const { return !rest && column_walk.is_contiguous(); }
};

uint64_t ScratchBytes(const IntegerProducts& products, uint32_t width);
void RunIntegerProducts(const IntegerProducts& products, const HostCall& run);

}  // namespace pt::host
