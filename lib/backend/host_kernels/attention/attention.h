// Attention as one kernel: softmax(q · k · scale + masks) · v of float32, with the scores held in cache. What is stored
// as bfloat16 is multiplied so, summed in float32, and softened in float32. Groups of nodes (attention_pattern.h) and
// the operator Attention become this.
#pragma once

#include <vector>

#include "lib/backend/host_kernels/attention/attention_caches.h"
#include "partitiontuner/backend/attention_pattern.h"

namespace pt::host {

// A tensor as a product has it: batch dims, which broadcast to the result's, then a matrix.
struct AttentionOperand {
  size_t place = 0;  // into HostSite::in; of the result, into HostSite::out
  std::vector<int64_t> dims, strides;
  bool is_output = false;  // into HostSite::out: a cache that this kernel has written
};

// Scores + mask, or scores where the condition is `keep_where` and `otherwise` elsewhere. Broadcasts to the scores.
struct AttentionMask {
  size_t place = 0;  // into HostSite::in
  bool is_condition = false, keep_where = true;
  float otherwise = 0;
  std::vector<int64_t> dims = {}, strides = {};  // as it is seen; none: those of the operand
};

struct AttentionOperands {
  AttentionOperand q, k, v, y;  // queries x depth, depth x keys, keys x size, queries x size
  double scale = 1;
  std::vector<AttentionMask> masks;  // in order; kMostAttentionMasks of them at most
  double softcap = 0;                // scores become softcap · tanh(score / softcap), before masks; 0: as they are
  // Query i stands at key i + offset: how many keys before that and behind it it sees; less than 0: all.
  int64_t offset = 0, left = -1, right = -1;
  bool one_position = false;  // all queries stand at key `offset`
  std::vector<AttentionCache> caches;
  bool blind_is_zero = false;  // a query that sees no key gives zeros, not NaN
  bool nan_is_zero = false;    // a query whose weights are NaN gives zeros
};

// Neighbouring query heads, `each` of them, share keys and values: rows of one product where each is a single query.
// All operands have four dims, heads are dim 1; those of k and v, and of masks for all heads, are not repeated.
void ShareKeys(AttentionOperands& operands, int64_t each);

// kUnsupported where types or dims do not fit.
Result<HostRoutine> MakeAttention(const HostSite& site, const AttentionOperands& operands);
// The site's nodes, which the pattern was read from.
Result<HostRoutine> MakeAttention(const HostSite& site, const AttentionPattern& pattern);

}  // namespace pt::host
