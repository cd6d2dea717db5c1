// Products of matrices whose elements are found while they are multiplied (implicit GEMM): a block of threads makes a
// tile of the result from slices in shared memory. Of real numbers, summed in float32, or of 8-bit integers, four of
// which are multiplied and summed at once in 32 bits.
#pragma once

#include "plugins/cuda/operators.h"

namespace pt::cuda {

// What is multiplied, for each of `batches` a matrix of rows x depth by one of depth x columns. Texts are C++ in which
// `Index` is the type of every number.
struct TiledProduct {
  int64_t batches = 1, rows = 0, columns = 0, depth = 0;
  bool wide = false;  // Index has 64 bits

  std::string row;      // statements about the row of the left matrix whose number is in `output`, of batch b0
  std::string left;     // its element at depth `at`: "in1[output * 9 + at]"
  std::string column;   // statements about the column of the right matrix whose number is in `gathered`, of batch b0
  std::string deep;     // statements about the depth `at`
  std::string inside;   // whether the right matrix has an element there; empty: always
  std::string right;    // that element
  std::string place;    // statements that define c0, c1, … of the result's row `m` and column `place`, of batch b0
  std::string written;  // statements that take `sum`, or `total` of integers, and write the result's element there
};

// How 8-bit integers lie, and what their zero points are. Those of uint8 are read as numbers of int8, 128 less, their
// zero points likewise.
struct TiledBytes {
  DataType left = DataType::kUndefined, right = DataType::kUndefined;
  std::string left_zero = {}, right_zero = {};  // expressions of c0, c1, …; empty where it is known to be 0
  std::string outside = {};    // what the right matrix has where `inside` is false; empty: nothing is outside
  bool left_by_words = false;  // four of a row's elements can be read at once, from every fourth on
};

// Sizes of tiles worth trying, the most promising first: "64x64".
std::vector<std::string> FittingTiles(int64_t rows, int64_t columns);
// bytes: null for real numbers. kUnsupported where there is no such tile.
Result<KernelText> TileKernel(const CudaSite& site, const TiledProduct& product, std::string_view tile,
                              const TiledBytes* bytes = nullptr);

}  // namespace pt::cuda
