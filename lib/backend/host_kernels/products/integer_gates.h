// Integer weights of a recurrent layer in panels (integer_panels.h): the gates of as many units as a panel has columns
// lie beside each other, so that a core computes all gates of its units by one product.
#pragma once

#include <memory>
#include <vector>

#include "lib/backend/host_kernels/operator.h"
#include "lib/backend/host_kernels/products/integer_panels.h"

namespace pt::host {

struct IntegerGates {
  static constexpr int64_t kGates = 4;

  IntegerPanels math;
  Tensor weights;  // [directions, depth, gates · units], int8 or uint8
  int64_t directions = 0, depth = 0, units = 0;
  bool flips = false;          // they are uint8
  std::vector<float> scales;   // [directions][columns()]: of the weights
  std::vector<int32_t> zeros;  // likewise, of the weights as they are packed
  bool has_zeros = false;      // one of them is not 0
  std::shared_ptr<DeviceBuffer> packed;
  std::vector<int32_t> terms;  // [directions][columns()]: the sums of columns, less depth times their zeros

  int64_t blocks() const { return (units + math.columns - 1) / math.columns; }
  int64_t block_columns() const { return kGates * math.columns; }
  int64_t columns() const { return blocks() * block_columns(); }  // filled up with zeros
  int64_t panel_bytes() const { return (depth + kQuad - 1) / kQuad * kQuad * columns(); }
  // Where the number of a gate of a unit lies among the columns.
  int64_t PlaceOf(int64_t gate, int64_t unit) const {
    return unit / math.columns * block_columns() + gate * math.columns + unit % math.columns;
  }

  // Once, before Multiply. Errors: kInvalidInput where it is too large.
  Status Pack(CompileContext& context);

  // Rows of bytes, which stand for (byte - zero) · scale.
  struct Rows {
    const uint8_t* bytes = nullptr;
    int64_t stride = 0, count = 0;
    const int32_t *zeros = nullptr, *sums = nullptr;  // one a row; the sums are read where has_zeros
    float scale = 0;
  };
  // c[row][block_columns()] = the rows times a block of units of a direction, as real numbers, plus bias, which may be
  // null and has block_columns() numbers.
  void Multiply(const Rows& rows, int64_t direction, int64_t block, const float* bias, float* c,
                int64_t c_stride) const;
};

// Reads the inputs `weights`, `scale` and `zero` of a node. kUnsupported where they are not constants of those types
// and dims.
Result<IntegerGates> ReadIntegerGates(const HostSite& site, size_t weights, size_t scale, size_t zero);

}  // namespace pt::host
