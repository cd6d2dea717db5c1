// The operator Attention, without caches of keys and values.
#include <cmath>
#include <limits>

#include "lib/backend/host_kernels/attention.h"

namespace pt::host {
namespace {

// [batch, heads, length, size], or [batch, length, heads · size], as [batch, heads, length, size].
Result<AttentionOperand> SeeHeads(const Site& site, size_t place, const Operand& operand, int64_t flat_heads) {
  const std::vector<int64_t>&dims = operand.dims(), &strides = operand.strides();
  if (dims.size() == 4) return AttentionOperand{place, dims, strides};
  if (dims.size() != 3 || flat_heads < 1 || dims[2] % flat_heads != 0) {
    return site.Unsupported("its tensors do not have three or four dims with whole heads");
  }
  const int64_t size = dims[2] / flat_heads;
  return AttentionOperand{place, {dims[0], flat_heads, dims[1], size}, {strides[0], size, strides[1], strides[2]}};
}

// Whether only the plain result of plain operands is asked for.
Status NeedPlain(const Site& site) {
  for (size_t i = 4; i < site.in.size(); ++i) {
    if (site.has(i)) return site.Unsupported("it has a cache of keys and values, or lengths of entries");
  }
  for (size_t i = 1; i < site.out.size(); ++i) {
    if (site.out[i].present()) return site.Unsupported("it has more than one output");
  }
  const Node& node = site.node();
  if (node.float_or("softcap", 0.0F) != 0) return site.Unsupported("it has a softcap");
  if (node.int_or("left_window_size", -1) >= 0 || node.int_or("right_window_size", -1) >= 0) {
    return site.Unsupported("it has a window");
  }
  if (node.int_or("softmax_precision", 1) != 1) return site.Unsupported("its softmax is not float32");
  return {};
}

Result<Routine> Attention(const Site& site) {
  PT_CHECK_OK(site.NeedInputs(3, 7));
  PT_CHECK_OK(NeedPlain(site));
  const int64_t q_heads = site.node().int_or("q_num_heads", 0), kv_heads = site.node().int_or("kv_num_heads", 0);
  AttentionOperands operands;
  PT_ASSIGN(operands.q, SeeHeads(site, 0, site.in[0], q_heads));
  PT_ASSIGN(operands.k, SeeHeads(site, 1, site.in[1], kv_heads));
  PT_ASSIGN(operands.v, SeeHeads(site, 2, site.in[2], kv_heads));
  PT_ASSIGN(operands.y, SeeHeads(site, 0, site.out[0], q_heads));
  const std::vector<int64_t> q = operands.q.dims, k = operands.k.dims, v = operands.v.dims;
  if (q[0] != k[0] || q[1] != k[1] || k[0] != v[0] || k[1] != v[1] || k[2] != v[2]) {
    return site.Unsupported("queries, keys and values differ in batch, heads or length");
  }
  operands.causal = site.node().int_or("is_causal", 0) != 0;
  if (operands.causal && q[2] != k[2]) return site.Unsupported("it is causal, with other numbers of keys and queries");
  const auto scale = static_cast<double>(site.node().float_or("scale", 0.0F));
  operands.scale = site.node().find("scale") != nullptr ? scale : 1 / std::sqrt(static_cast<double>(q[3]));
  std::swap(operands.k.dims[2], operands.k.dims[3]);
  std::swap(operands.k.strides[2], operands.k.strides[3]);
  operands.blind_is_zero = true;
  if (site.has(3)) {
    const std::vector<int64_t>& mask = site.in[3].dims();
    // A shorter mask hides the keys behind it.
    if (mask.empty() || mask.back() != v[2]) return site.Unsupported("its mask does not have one element a key");
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    operands.masks.push_back({3, site.in[3].type() == DataType::kBool, true, kHidden});
  }
  return MakeAttention(site, operands);
}

constexpr std::array kRows = {OperatorRow{"Attention", Attention}};

}  // namespace

std::span<const OperatorRow> AttentionOperators() { return kRows; }

}  // namespace pt::host
