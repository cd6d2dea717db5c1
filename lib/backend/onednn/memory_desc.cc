#include "lib/backend/onednn/memory_desc.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/hash.h"

namespace pt::onednn {
namespace {

using Tag = dnnl::memory::format_tag;

struct TagRow {
  std::string_view text;
  Tag tag;
};
// The blocked formats that activations may have.
constexpr TagRow kBlockedTags[] = {
    {"aBc4b", Tag::aBc4b},   {"aBcd4b", Tag::aBcd4b},   {"aBcde4b", Tag::aBcde4b},
    {"aBc8b", Tag::aBc8b},   {"aBcd8b", Tag::aBcd8b},   {"aBcde8b", Tag::aBcde8b},
    {"aBc16b", Tag::aBc16b}, {"aBcd16b", Tag::aBcd16b}, {"aBcde16b", Tag::aBcde16b},
};

Error NoFormat(const TensorLayout& tensor) {
  return MakeError(ErrorCode::kUnsupported, "onednn.layout",
                   "oneDNN has no format for a slice or block of layout " + ToString(tensor.layout));
}

bool IsPixel(const TensorLayout& tensor) {
  return tensor.dims.size() > 2 &&
         std::all_of(tensor.dims.begin() + 2, tensor.dims.end(), [](int64_t dim) { return dim == 1; });
}

// The tensor's elements lie the same in both orders: only dims of 1 change places.
bool IsAlsoIn(const Layout& layout, const TensorLayout& tensor) {
  if (!layout.blocks.empty() || !tensor.layout.blocks.empty()) return false;
  const auto moving = [&](const Layout& of) {
    std::vector<uint8_t> dims;
    std::copy_if(of.order.begin(), of.order.end(), std::back_inserter(dims),
                 [&](uint8_t dim) { return tensor.dims[dim] != 1; });
    return dims;
  };
  return layout.order.size() == tensor.layout.order.size() && moving(layout) == moving(tensor.layout);
}

// One order for all layouts in which the tensor's elements lie the same. oneDNN chooses an implementation by where dims
// of 1 stand, and its cache of primitives then answers for every other place they might stand at: what was compiled
// first would decide which kernel runs.
TensorLayout InOneOrder(TensorLayout tensor, const TensorLayout* like) {
  const size_t rank = tensor.dims.size();
  std::vector<Layout> orders = {RowMajor(rank)};
  if (rank > 2) orders.push_back(ChannelsLast(rank));
  if (IsPixel(tensor)) {
    std::swap(orders.front(), orders.back());
    if (like != nullptr && !IsPixel(*like)) orders.insert(orders.begin(), like->layout);
  }
  const auto order =
      std::find_if(orders.begin(), orders.end(), [&](const Layout& layout) { return IsAlsoIn(layout, tensor); });
  if (order != orders.end()) tensor.layout = *order;
  return tensor;
}

// Strides with those of dims of extent 1 replaced by what a dense tensor would have: they are never
// used for addressing, but oneDNN's implementations compare them.
std::vector<int64_t> CanonicalStrides(const TensorLayout& tensor, const std::vector<int64_t>& extents,
                                      int64_t innermost) {
  std::vector<int64_t> strides = tensor.strides;
  int64_t dense = innermost;
  for (size_t i = tensor.layout.order.size(); i-- > 0;) {
    const size_t d = tensor.layout.order[i];
    if (extents[d] == 1) strides[d] = dense;
    dense = strides[d] * extents[d];
  }
  return strides;
}

Result<Desc> BlockedDesc(const TensorLayout& tensor, dnnl::memory::data_type type) {
  const std::string text = ToString(tensor.layout);
  const auto* row =
      std::find_if(std::begin(kBlockedTags), std::end(kBlockedTags), [&](const TagRow& r) { return r.text == text; });
  if (row == std::end(kBlockedTags) || tensor.layout.blocks.size() != 1) return NoFormat(tensor);
  const size_t blocked = tensor.layout.blocks[0].dim;
  const int64_t block = tensor.layout.blocks[0].size;
  std::vector<int64_t> extents = tensor.dims;
  extents[blocked] = (extents[blocked] + block - 1) / block;
  const std::vector<int64_t> strides = CanonicalStrides(tensor, extents, block);

  // oneDNN makes strided blocked formats only as part of a dense parent: find that parent's dims.
  Dims parent(tensor.dims.begin(), tensor.dims.end());
  bool sliced = false;
  int64_t inner = block;
  for (size_t i = tensor.layout.order.size(); i-- > 0;) {
    const size_t d = tensor.layout.order[i];
    if (strides[d] != inner) {
      if (i + 1 == tensor.layout.order.size()) return NoFormat(tensor);
      const size_t within = tensor.layout.order[i + 1];
      if (strides[within] == 0 || strides[d] % strides[within] != 0) return NoFormat(tensor);
      const int64_t positions = strides[d] / strides[within];
      if (positions < extents[within]) return NoFormat(tensor);
      if (within == blocked && tensor.dims[blocked] % block != 0) return NoFormat(tensor);
      parent[within] = within == blocked ? positions * block : positions;
      sliced = true;
    }
    inner = strides[d] * extents[d];
  }
  const Desc dense(parent, type, row->tag);
  if (!sliced) return dense;
  const Desc slice = dense.submemory_desc(Dims(tensor.dims.begin(), tensor.dims.end()), Dims(tensor.dims.size(), 0),
                                          /*allow_empty=*/true);
  if (slice.is_zero()) return NoFormat(tensor);
  return slice;
}

}  // namespace

std::optional<dnnl::memory::data_type> TypeOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return dnnl::memory::data_type::f32;
    case DataType::kBfloat16:
      return dnnl::memory::data_type::bf16;
    case DataType::kFloat16:
      return dnnl::memory::data_type::f16;
    case DataType::kInt32:
      return dnnl::memory::data_type::s32;
    case DataType::kInt8:
      return dnnl::memory::data_type::s8;
    case DataType::kUint8:
      return dnnl::memory::data_type::u8;
    default:
      return std::nullopt;
  }
}

namespace {

Result<Desc> DescLike(const TensorLayout& given, const TensorLayout* like) {
  const TensorLayout tensor = InOneOrder(given, like);
  const auto type = TypeOf(tensor.type);
  const auto count = CheckedProduct(tensor.dims);
  if (!type || !count || *count == 0 || tensor.dims.size() > DNNL_MAX_NDIMS) {
    return MakeError(ErrorCode::kUnsupported, "onednn.tensor",
                     "oneDNN takes no " + std::string(DataTypeName(tensor.type)) + " tensor of these dims");
  }
  if (tensor.dims.empty()) return Desc({1}, *type, Dims{1});
  if (!tensor.layout.blocks.empty()) return BlockedDesc(tensor, *type);
  const std::vector<int64_t> strides = CanonicalStrides(tensor, tensor.dims, 1);
  return Desc(Dims(tensor.dims.begin(), tensor.dims.end()), *type, Dims(strides.begin(), strides.end()));
}

}  // namespace

Result<Desc> DescOf(const TensorLayout& tensor) { return DescLike(tensor, nullptr); }

Result<Desc> DescOf(const TensorLayout& tensor, const TensorLayout& like) { return DescLike(tensor, &like); }

Desc PlainDesc(const Dims& dims, DataType type) {
  if (dims.empty()) return PlainDesc({1}, type);
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return Desc(dims, *TypeOf(type), strides);
}

Desc AnyDesc(const Dims& dims, DataType type) { return Desc(dims, *TypeOf(type), Tag::any); }

TensorLayout WithRank(const TensorLayout& tensor, size_t rank) {
  if (tensor.dims.size() >= rank || !tensor.layout.is_row_major()) return tensor;
  TensorLayout grown{tensor.type, {}, RowMajor(rank), {}};
  const size_t missing = rank - tensor.dims.size();
  const int64_t whole = tensor.dims.empty() ? 1 : tensor.strides[0] * tensor.dims[0];
  grown.dims.assign(missing, 1);
  grown.strides.assign(missing, whole);
  grown.dims.insert(grown.dims.end(), tensor.dims.begin(), tensor.dims.end());
  grown.strides.insert(grown.strides.end(), tensor.strides.begin(), tensor.strides.end());
  return grown;
}

Result<Desc> ReshapedDesc(const TensorLayout& tensor, const Dims& dims) {
  if (std::equal(dims.begin(), dims.end(), tensor.dims.begin(), tensor.dims.end())) return DescOf(tensor);
  if (!tensor.layout.is_row_major() || !IsDense(tensor)) {
    return MakeError(ErrorCode::kUnsupported, "onednn.layout", "a slice cannot be seen under other dims");
  }
  return PlainDesc(dims, tensor.type);
}

std::string DescText(const Desc& desc) {
  std::string text = std::to_string(static_cast<int>(desc.get_data_type())) + "[";
  for (int64_t d : desc.get_dims()) text += std::to_string(d) + ",";
  text += "]/[";
  for (int64_t d : desc.get_padded_dims()) text += std::to_string(d) + ",";
  text += "]/[";
  for (int64_t s : desc.get_strides()) text += std::to_string(s) + ",";
  text += "]/";
  const Dims blocks = desc.get_inner_blks(), indices = desc.get_inner_idxs();
  for (size_t i = 0; i < blocks.size(); ++i) {
    text += std::to_string(blocks[i]) + static_cast<char>('a' + indices[i]);
  }
  // Weights of integer products have sums behind their elements, of one kind or another: only the bytes of the
  // descriptor tell which.
  uint64_t elements = 1;
  for (int64_t d : desc.get_padded_dims()) elements *= static_cast<uint64_t>(d);
  if (desc.get_size() > elements * dnnl::memory::data_type_size(desc.get_data_type())) {
    Desc copy = desc;
    const std::vector<uint8_t> blob = copy.get_blob();
    text += "+" + ToHex(HashBytes(std::as_bytes(std::span(blob))));
  }
  return text;
}

uint32_t PreferredBlock() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  constexpr auto kAvx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (isa & kAvx512) == kAvx512 ? 16 : 8;
}

}  // namespace pt::onednn
