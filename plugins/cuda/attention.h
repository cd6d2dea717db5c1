// Attention, the operator or spelled out in nodes, as one computation on the tensors where they lie:
// softmax(q · k · scale + masks) · v. What runs it is chosen elsewhere.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "plugins/cuda/site.h"

namespace pt::cuda {

// A matrix for each index of Attention::batch.
struct AttentionMatrix {
  const CudaOperand* operand = nullptr;
  std::vector<int64_t> batch;   // strides; 0 where the same matrix is used again and again
  int64_t row = 0, column = 0;  // strides
};

struct MaskTensor {
  enum class Kind : uint8_t {
    kAdded,      // numbers
    kHiding,     // a key is hidden where it is false
    kReplacing,  // scores where it is `keep_where`, `otherwise` elsewhere
  };
  AttentionMatrix at;  // a row a query, a column a key
  Kind kind = Kind::kAdded;
  int64_t keys = 0;  // its columns; keys behind them are hidden
  bool keep_where = true;
  float otherwise = 0;
};

// Keys or values that the operator gives out, those of the past before its own: [batch, heads, length, size].
struct AttentionPresent {
  const CudaOperand* operand = nullptr;
  // Where it is from, with strides as its dims; `past` of `past_dims` is null where there is none.
  const CudaOperand *past = nullptr, *own = nullptr;
  std::vector<int64_t> past_dims, own_dims, past_strides, own_strides;
};

struct Attention {
  std::vector<int64_t> batch;
  int64_t queries = 0, keys = 0, depth = 0, columns = 0;  // columns: of values and result
  AttentionMatrix q, k, v, y;                             // k: a row a key; k and v: behind the past
  int64_t past = 0;                        // keys before those of k, among `keys`; query i is number past + i
  AttentionMatrix past_k, past_v;          // where there is a past
  std::vector<AttentionPresent> presents;  // that are asked for
  double scale = 1, softcap = 0;           // softcap: 0 for none
  std::vector<MaskTensor> masks;           // in order
  // The query of number i sees the keys from i - before to i + behind.
  int64_t before = std::numeric_limits<int64_t>::max(), behind = std::numeric_limits<int64_t>::max();
  // A query that sees no key gives zeros and a hidden key counts as minus infinity, as the operator wants it; else it
  // gives NaN, as what is spelled out does.
  bool is_operator = false;

  bool sees_all() const { return std::min(before, behind) == std::numeric_limits<int64_t>::max(); }
};

// Whether the nodes are the operator Attention, or nodes that spell attention out.
bool IsAttention(const Graph& graph, std::span<const NodeId> nodes);

// kUnsupported with the reason where the nodes ask for more than the above (lengths of entries, scores as a result), or
// types or dims do not fit.
Result<Attention> MakeAttention(const CudaSite& site);

}  // namespace pt::cuda
