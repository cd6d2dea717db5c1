#include "partitiontuner/candidate/layout.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

constexpr uint8_t kLetters = 26;

Error BadLayout(std::string_view text, std::string_view why) {
  return MakeError(ErrorCode::kInvalidInput, "layout.text", "layout \"" + std::string(text) + "\" " + std::string(why));
}

// Dims beyond the alphabet are written "(27)"; none of them is ever blocked.
void AppendDim(std::string& text, uint8_t dim, bool blocked) {
  if (dim >= kLetters) {
    text += "(" + std::to_string(dim) + ")";
  } else {
    text += static_cast<char>((blocked ? 'A' : 'a') + dim);
  }
}

// Reads digits at `at` and moves past them; nullopt when there are none or they do not fit.
std::optional<uint32_t> ReadNumber(std::string_view text, size_t& at) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  at = static_cast<size_t>(end - text.data());
  return number;
}

// Product of a dim's blocks; 1 when it has none.
int64_t BlockOf(const Layout& layout, size_t dim) {
  int64_t product = 1;
  for (const Layout::Block& block : layout.blocks) {
    if (block.dim == dim) product *= block.size;
  }
  return product;
}

int64_t OuterExtent(const TensorLayout& tensor, size_t dim) {
  const int64_t block = BlockOf(tensor.layout, dim);
  return tensor.dims[dim] / block + (tensor.dims[dim] % block != 0 ? 1 : 0);
}

bool HasNoElements(const TensorLayout& tensor) {
  return std::find(tensor.dims.begin(), tensor.dims.end(), 0) != tensor.dims.end();
}

}  // namespace

bool Layout::is_row_major() const { return blocks.empty() && std::is_sorted(order.begin(), order.end()); }

Layout RowMajor(size_t rank) {
  Layout layout;
  layout.order.resize(rank);
  for (size_t d = 0; d < rank; ++d) layout.order[d] = static_cast<uint8_t>(d);
  return layout;
}

Layout ChannelsLast(size_t rank) {
  Layout layout = RowMajor(rank);
  if (rank > 2) std::rotate(layout.order.begin() + 1, layout.order.begin() + 2, layout.order.end());
  return layout;
}

Layout ChannelBlocked(size_t rank, uint32_t block) {
  Layout layout = RowMajor(rank);
  layout.blocks.push_back({1, block});
  return layout;
}

std::string ToString(const Layout& layout) {
  std::string text;
  for (uint8_t dim : layout.order) AppendDim(text, dim, BlockOf(layout, dim) != 1);
  for (const Layout::Block& block : layout.blocks) {
    text += std::to_string(block.size);
    AppendDim(text, block.dim, false);
  }
  return text;
}

Result<Layout> LayoutFromString(std::string_view text) {
  Layout layout;
  std::vector<uint8_t> blocked;  // dims written as capitals
  size_t at = 0;
  for (; at < text.size() && !(text[at] >= '0' && text[at] <= '9');) {
    const char c = text[at];
    if (c >= 'a' && c <= 'z') {
      layout.order.push_back(static_cast<uint8_t>(c - 'a'));
      ++at;
    } else if (c >= 'A' && c <= 'Z') {
      layout.order.push_back(static_cast<uint8_t>(c - 'A'));
      blocked.push_back(layout.order.back());
      ++at;
    } else if (c == '(') {
      const std::optional<uint32_t> dim = ReadNumber(text, ++at);
      if (!dim || *dim > 255 || at >= text.size() || text[at] != ')')
        return BadLayout(text, "has a bad dim in brackets");
      layout.order.push_back(static_cast<uint8_t>(*dim));
      ++at;
    } else {
      return BadLayout(text, "holds a character that is not a dim");
    }
  }
  std::vector<uint8_t> sorted = layout.order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < sorted.size(); ++d) {
    if (sorted[d] != d) return BadLayout(text, "does not name each dim once");
  }
  while (at < text.size()) {
    const std::optional<uint32_t> size = ReadNumber(text, at);
    if (!size || *size < 2 || *size > 1024) return BadLayout(text, "has a block size outside 2..1024");
    if (at >= text.size() || text[at] < 'a' || text[at] > 'z') return BadLayout(text, "has a block without a dim");
    const auto dim = static_cast<uint8_t>(text[at++] - 'a');
    if (dim >= layout.order.size()) return BadLayout(text, "blocks a dim it does not have");
    layout.blocks.push_back({dim, *size});
  }
  if (layout.blocks.size() > 4) return BadLayout(text, "has more than four blocks");
  for (uint8_t dim = 0; dim < layout.order.size(); ++dim) {
    const bool capital = std::find(blocked.begin(), blocked.end(), dim) != blocked.end();
    if (capital != (BlockOf(layout, dim) != 1)) return BadLayout(text, "has capitals that do not match its blocks");
  }
  return layout;
}

Result<TensorLayout> DenseLayout(DataType type, std::vector<int64_t> dims, const Layout& layout) {
  if (layout.order.size() != dims.size()) {
    return MakeError(
        ErrorCode::kInvalidInput, "layout.rank",
        "layout \"" + ToString(layout) + "\" does not fit a tensor of rank " + std::to_string(dims.size()));
  }
  TensorLayout tensor{type, std::move(dims), layout, {}};
  tensor.strides.assign(tensor.dims.size(), 0);
  int64_t stride = 1;
  for (const Layout::Block& block : layout.blocks) stride *= block.size;
  for (size_t i = layout.order.size(); i-- > 0;) {
    const size_t dim = layout.order[i];
    tensor.strides[dim] = stride;
    const std::optional<int64_t> next = CheckedMul(stride, std::max<int64_t>(1, OuterExtent(tensor, dim)));
    if (tensor.dims[dim] < 0 || !next) {
      return MakeError(ErrorCode::kInvalidInput, "layout.size", "the size of a tensor does not fit 63 bits");
    }
    stride = *next;
  }
  PT_CHECK_OK(BytesOf(tensor));
  return tensor;
}

Result<uint64_t> BytesOf(const TensorLayout& tensor) {
  if (HasNoElements(tensor)) return uint64_t{0};
  int64_t elements = 1;
  for (const Layout::Block& block : tensor.layout.blocks) elements *= block.size;
  bool fits = true;
  for (size_t d = 0; d < tensor.dims.size() && fits; ++d) {
    const std::optional<int64_t> reach = CheckedMul(OuterExtent(tensor, d) - 1, tensor.strides[d]);
    const std::optional<int64_t> sum = reach ? CheckedAdd(elements, *reach) : std::nullopt;
    fits = sum.has_value();
    if (fits) elements = *sum;
  }
  const std::optional<int64_t> bits = fits ? CheckedMul(elements, BitsOf(tensor.type)) : std::nullopt;
  if (!bits || *bits > INT64_MAX - 7) {
    return MakeError(ErrorCode::kInvalidInput, "layout.size", "the size of a tensor does not fit 63 bits");
  }
  return static_cast<uint64_t>((*bits + 7) / 8);
}

int64_t OffsetOf(const TensorLayout& tensor, std::span<const int64_t> index) {
  int64_t offset = 0;
  int64_t inner_stride = 1;
  // A dim blocked twice is split from its innermost block outwards.
  std::vector<int64_t> rest(index.begin(), index.end());
  for (size_t i = tensor.layout.blocks.size(); i-- > 0;) {
    const Layout::Block& block = tensor.layout.blocks[i];
    offset += rest[block.dim] % block.size * inner_stride;
    rest[block.dim] /= block.size;
    inner_stride *= block.size;
  }
  for (size_t d = 0; d < rest.size(); ++d) offset += rest[d] * tensor.strides[d];
  return offset;
}

bool IsDense(const TensorLayout& tensor) {
  if (HasNoElements(tensor)) return true;
  const Result<TensorLayout> dense = DenseLayout(tensor.type, tensor.dims, tensor.layout);
  if (!dense.ok()) return false;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.strides[d] != dense->strides[d] && OuterExtent(tensor, d) > 1) return false;
  }
  return true;
}

}  // namespace pt
