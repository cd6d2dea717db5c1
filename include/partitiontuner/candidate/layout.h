// Layout: how the elements of a tensor lie in memory, apart from their type. Text form as in oneDNN:
// letters a, b, c… name dims 0, 1, 2…, outermost first; a capital letter is a dim that is also blocked;
// digits and a small letter are an inner block. "abcd" row-major, "acdb" channels-last, "aBcd16b" blocked by 16.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/graph/data_type.h"
#include "partitiontuner/support/result.h"

namespace pt {

struct Layout {
  // A dim cut into parts of `size` elements, which lie innermost.
  struct Block {
    uint8_t dim = 0;
    uint32_t size = 0;
    friend auto operator<=>(const Block&, const Block&) = default;
  };
  std::vector<uint8_t> order;  // outer dims, outermost first: a permutation of 0..rank-1
  std::vector<Block> blocks;   // inner blocks, outermost first

  bool is_row_major() const;
  friend auto operator<=>(const Layout&, const Layout&) = default;
};

Layout RowMajor(size_t rank);
Layout ChannelsLast(size_t rank);                        // "acdb" for 4 dims
Layout ChannelBlocked(size_t rank, uint32_t block);      // "aBcd16b"
std::string ToString(const Layout& layout);              // "" for rank 0
Result<Layout> LayoutFromString(std::string_view text);  // kInvalidInput when it is not one

// Where a tensor lies: strides of the outer dims in elements. dims[d] / (product of d's blocks, rounded up) positions
// along each. Dense unless it is a slice of a bigger tensor.
struct TensorLayout {
  DataType type = DataType::kUndefined;  // storage
  std::vector<int64_t> dims;
  Layout layout;
  std::vector<int64_t> strides;  // one per dim, in elements, of its outer part

  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;
};

// Dense strides. Errors: rank mismatch, overflow (kInvalidInput).
Result<TensorLayout> DenseLayout(DataType type, std::vector<int64_t> dims, const Layout& layout);
// Bytes from the first to past the last element (padded blocks count); checked.
Result<uint64_t> BytesOf(const TensorLayout& tensor);
// Element offset of an index; for tests, plain kernels and reorders.
int64_t OffsetOf(const TensorLayout& tensor, std::span<const int64_t> index);
bool IsDense(const TensorLayout& tensor);

}  // namespace pt
