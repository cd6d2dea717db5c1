// The operator Attention, with caches of keys and values that are outputs as well.
#include <cmath>
#include <limits>

#include "lib/backend/host_kernels/attention/attention.h"
#include "partitiontuner/graph/operators/attention.h"

namespace pt::host {
namespace {

// [batch, heads, length, size], or [batch, length, heads · size], as [batch, heads, length, size].
Result<AttentionOperand> SeeHeads(const HostSite& site, size_t place, const HostOperand& operand, int64_t flat_heads) {
  const std::vector<int64_t>&dims = operand.dims(), &strides = operand.strides();
  if (dims.size() == 4) return AttentionOperand{place, dims, strides};
  if (dims.size() != 3 || flat_heads < 1 || dims[2] % flat_heads != 0) {
    return site.Unsupported("its tensors do not have three or four dims with whole heads");
  }
  const int64_t size = dims[2] / flat_heads;
  return AttentionOperand{place, {dims[0], flat_heads, dims[1], size}, {strides[0], size, strides[1], strides[2]}};
}

// Whether only what this kernel makes is asked for.
Status NeedTaken(const HostSite& site) {
  if (site.has(6)) return site.Unsupported("it has lengths of entries");
  if (site.out.size() > 3 && site.out[3].present()) return site.Unsupported("its scores are an output");
  if (ReadAttentionNode(site.node()).softmax_type != DataType::kFloat32)
    return site.Unsupported("its softmax is not float32");
  const auto has_out = [&](size_t i) { return i < site.out.size() && site.out[i].present(); };
  if (site.has(4) != site.has(5) || (site.has(4) && (!has_out(1) || !has_out(2))))
    return site.Unsupported("its past goes into no output");
  return {};
}

// Of keys (0) or values (1): the whole cache where there is one, and then what is to be written of it.
Result<AttentionOperand> ReadKeys(const HostSite& site, size_t which, AttentionOperands& operands) {
  const size_t fresh_place = 1 + which, past_place = 4 + which, present_place = 1 + which;
  PT_ASSIGN(AttentionOperand fresh,
            SeeHeads(site, fresh_place, site.in[fresh_place], ReadAttentionNode(site.node()).kv_heads));
  if (present_place >= site.out.size() || !site.out[present_place].present()) return fresh;
  const HostOperand& whole = site.out[present_place];
  AttentionCache cache{
      std::nullopt, {fresh_place, fresh.dims, fresh.strides}, {present_place, whole.dims(), whole.strides()}};
  if (site.has(past_place)) cache.past = {past_place, site.in[past_place].dims(), site.in[past_place].strides()};
  operands.caches.push_back(std::move(cache));
  if (!site.has(past_place)) return fresh;
  return AttentionOperand{present_place, whole.dims(), whole.strides(), true};
}

// The mask under [batch, heads, queries, keys].
Result<AttentionMask> SeeMask(const HostSite& site, int64_t keys) {
  const HostOperand& operand = site.in[3];
  // A shorter mask hides the keys behind it.
  if (operand.rank() < 1 || operand.rank() > 4 || operand.dims().back() != keys)
    return site.Unsupported("its mask does not have one element a key");
  AttentionMask mask{3,
                     operand.type() == DataType::kBool,
                     true,
                     -std::numeric_limits<float>::infinity(),
                     operand.dims(),
                     operand.strides()};
  const size_t missing = 4 - mask.dims.size();
  mask.dims.insert(mask.dims.begin(), missing, 1);
  mask.strides.insert(mask.strides.begin(), missing, 0);
  return mask;
}

Result<HostRoutine> AttentionOperator(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 7));
  PT_CHECK_OK(NeedTaken(site));
  AttentionOperands operands;
  const AttentionNode node = ReadAttentionNode(site.node());
  PT_ASSIGN(operands.q, SeeHeads(site, 0, site.in[0], node.q_heads));
  PT_ASSIGN(operands.y, SeeHeads(site, 0, site.out[0], node.q_heads));
  PT_ASSIGN(operands.k, ReadKeys(site, 0, operands));
  PT_ASSIGN(operands.v, ReadKeys(site, 1, operands));
  const std::vector<int64_t> q = operands.q.dims, k = operands.k.dims, v = operands.v.dims;
  if (q[0] != k[0] || k[0] != v[0] || k[1] != v[1] || k[2] != v[2] || k[1] == 0 || q[1] % k[1] != 0) {
    return site.Unsupported("queries, keys and values differ in batch, heads or length");
  }
  operands.scale = node.ScaleOf(q[3]);
  operands.softcap = static_cast<double>(node.softcap);
  operands.offset = site.has(4) ? site.in[4].dims()[2] : 0;
  operands.left = node.left;
  operands.right = node.is_causal ? 0 : node.right;
  std::swap(operands.k.dims[2], operands.k.dims[3]);
  std::swap(operands.k.strides[2], operands.k.strides[3]);
  operands.blind_is_zero = true;
  if (site.has(3)) {
    PT_ASSIGN(AttentionMask mask, SeeMask(site, v[2]));
    operands.masks.push_back(std::move(mask));
  }
  if (q[1] != k[1]) ShareKeys(operands, q[1] / k[1]);
  return MakeAttention(site, operands);
}

constexpr std::array kAttentionOperators = {HostRow{"Attention", AttentionOperator}};

}  // namespace

std::span<const HostRow> AttentionOperators() { return kAttentionOperators; }

}  // namespace pt::host
