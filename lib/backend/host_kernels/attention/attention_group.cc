// Attention that is spelled out in nodes.
#include <algorithm>

#include "lib/backend/host_kernels/attention/attention.h"

namespace pt::host {
namespace {

// The mask under the scores' four dims.
Status SeeFourDims(const HostSite& site, AttentionMask& mask) {
  const HostOperand& operand = site.in[mask.place];
  if (operand.rank() > 4) return site.Unsupported("a mask has more dims than the scores");
  const auto missing = static_cast<size_t>(4 - operand.rank());
  mask.dims.assign(missing, 1);
  mask.strides.assign(missing, 0);
  mask.dims.insert(mask.dims.end(), operand.dims().begin(), operand.dims().end());
  mask.strides.insert(mask.strides.end(), operand.strides().begin(), operand.strides().end());
  return {};
}

}  // namespace

Result<HostRoutine> MakeAttention(const HostSite& site, const AttentionPattern& pattern) {
  const auto place_of = [&](ValueId value) {
    return static_cast<size_t>(std::ranges::find(site.in, value, &HostOperand::value) - site.in.begin());
  };
  const auto see = [](size_t place, const HostOperand& operand, const std::vector<size_t>& dims) {
    AttentionOperand seen{place, {}, {}};
    for (size_t dim : dims) {
      seen.dims.push_back(operand.dims()[dim]);
      seen.strides.push_back(operand.strides()[dim]);
    }
    return seen;
  };
  const auto read = [&](const AttentionPattern::Matrices& matrices) {
    const size_t place = place_of(matrices.value);
    return see(place, site.in[place], matrices.dims);
  };
  AttentionOperands operands;
  operands.q = read(pattern.q);
  operands.k = read(pattern.k);
  operands.v = read(pattern.v);
  operands.y = see(0, site.out[0], pattern.y.dims);
  operands.scale = pattern.scale;
  operands.softcap = pattern.softcap;
  operands.nan_is_zero = pattern.nan_is_zero;
  for (const AttentionPattern::Mask& mask : pattern.masks) {
    operands.masks.push_back({place_of(mask.value), mask.is_condition, mask.keep_where, mask.otherwise});
    if (pattern.each != 1) PT_CHECK_OK(SeeFourDims(site, operands.masks.back()));
  }
  if (pattern.each != 1) {
    if (operands.q.dims[1] != operands.k.dims[1] * pattern.each) return site.Unsupported("its heads do not fit");
    ShareKeys(operands, pattern.each);
  }
  return MakeAttention(site, operands);
}

}  // namespace pt::host
