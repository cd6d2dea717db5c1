#include "lib/backend/onednn/operand_rule.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace pt::onednn {
namespace {

std::vector<size_t> RowMajorOrder(size_t rank) {
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

std::vector<size_t> ChannelsLastOrder(size_t rank) {
  std::vector<size_t> order = RowMajorOrder(rank);
  if (rank > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

// No gaps, outermost first in that order. Where dims of 1 stand means nothing.
bool LiesDense(const Desc& desc, const std::vector<size_t>& order) {
  if (desc.get_inner_nblks() != 0) return false;
  const Dims dims = desc.get_dims(), strides = desc.get_strides();
  int64_t dense = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (dims[order[i]] == 1) continue;
    if (strides[order[i]] != dense) return false;
    dense *= dims[order[i]];
  }
  return true;
}

// With blocks of channels, and no gaps.
bool LiesBlocked(const Desc& desc) {
  if (desc.get_inner_nblks() != 1 || desc.get_inner_idxs()[0] != 1) return false;
  const Dims padded = desc.get_padded_dims(), strides = desc.get_strides();
  int64_t dense = desc.get_inner_blks()[0];
  for (size_t d = padded.size(); d-- > 0;) {
    const int64_t positions = d == 1 ? padded[d] / desc.get_inner_blks()[0] : padded[d];
    if (positions != 1 && strides[d] != dense) return false;
    dense *= positions;
  }
  return true;
}

bool IsPixelImage(const Dims& dims) {
  return dims.size() > 2 && std::all_of(dims.begin() + 2, dims.end(), [](int64_t dim) { return dim == 1; });
}

// The orders in which kernels behind that primitive find a place in the operand from the place in the result.
bool LiesAsKnown(Followed followed, const Desc& desc) {
  const size_t rank = desc.get_dims().size();
  if (LiesRowMajor(desc)) return true;
  return followed != Followed::kProduct && (LiesDense(desc, ChannelsLastOrder(rank)) || LiesBlocked(desc));
}

}  // namespace

bool LiesRowMajor(const Desc& desc) { return LiesDense(desc, RowMajorOrder(desc.get_dims().size())); }

std::optional<std::string> WhyNoOperand(Followed followed, const Desc& result, const Desc& operand, bool slopes) {
  const Dims own = operand.get_dims(), dims = result.get_dims();
  // oneDNN takes type and layout of slopes for granted, and not each kernel the same.
  const auto varying = std::ranges::count_if(own, [](int64_t dim) { return dim != 1; });
  if (slopes && (varying > 1 || operand.get_data_type() != dnnl::memory::data_type::f32 ||
                 !LiesDense(operand, RowMajorOrder(own.size())))) {
    return "the slopes of a post-operation are not float32 along one dim";
  }
  if (varying == 0) return std::nullopt;
  // Of binary operations oneDNN compares the two layouts itself.
  if (own == dims && !slopes) return std::nullopt;
  if (!LiesAsKnown(followed, result)) {
    return "an operand broadcasts to a result whose dims lie in another order than theirs";
  }
  // Whatever its descriptor says, it is read as if it had no gaps.
  if (!LiesAsKnown(followed, operand)) return "an operand that broadcasts has gaps or another order of dims";
  if (followed == Followed::kBinary && IsPixelImage(dims) && dims[0] != 1) {
    return "an operand broadcasts along a batch of single pixels behind a binary operation";
  }
  return std::nullopt;
}

std::optional<std::string> WhyNoSlopes(const Desc& result, const Desc& slopes) {
  const Dims own = slopes.get_dims();
  const bool one = std::ranges::all_of(own, [](int64_t dim) { return dim == 1; });
  if (one || own == result.get_dims() || LiesAsKnown(Followed::kOther, result)) return std::nullopt;
  return "slopes broadcast to a result whose dims lie in another order than theirs";
}

}  // namespace pt::onednn
