// Query heads that share keys and values.
#include "lib/backend/host_kernels/attention/attention.h"

namespace pt::host {
namespace {

// [batch, heads, …] as [batch, key heads, heads of each, …]: of the queries' tensors `each` is how many share one.
void SplitHeads(std::vector<int64_t>& dims, std::vector<int64_t>& strides, int64_t each) {
  const bool one = dims[1] == 1;  // of a mask: for all heads
  dims[1] /= one ? 1 : each;
  dims.insert(dims.begin() + 2, one ? 1 : each);
  strides.insert(strides.begin() + 2, strides[1]);
  strides[1] *= one ? 1 : each;
}

}  // namespace

void ShareKeys(AttentionOperands& operands, int64_t each) {
  const bool single = operands.q.dims[2] == 1;
  SplitHeads(operands.q.dims, operands.q.strides, each);
  SplitHeads(operands.y.dims, operands.y.strides, each);
  for (AttentionMask& mask : operands.masks) SplitHeads(mask.dims, mask.strides, each);
  const auto drop = [](std::vector<int64_t>& numbers, ptrdiff_t at) { numbers.erase(numbers.begin() + at); };
  if (single) {
    for (AttentionOperand* x : {&operands.q, &operands.y}) {
      drop(x->dims, 3);
      drop(x->strides, 3);
    }
    for (AttentionMask& mask : operands.masks) {
      drop(mask.dims, 3);
      drop(mask.strides, 3);
    }
    operands.one_position = true;
    return;
  }
  for (AttentionOperand* x : {&operands.k, &operands.v}) {
    x->dims.insert(x->dims.begin() + 2, 1);
    x->strides.insert(x->strides.begin() + 2, 0);
  }
}

}  // namespace pt::host
