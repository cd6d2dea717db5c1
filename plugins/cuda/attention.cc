#include "plugins/cuda/attention.h"

#include <array>
#include <cmath>

#include "partitiontuner/backend/attention_pattern.h"
#include "partitiontuner/graph/operators/attention.h"
#include "partitiontuner/support/checked.h"
#include "plugins/cuda/index_space.h"

namespace pt::cuda {
namespace {

using Dims = std::vector<int64_t>;

// The operator's tensors: [batch, heads, length, size], or [batch, length, heads · size].
struct Heads {
  const CudaOperand* operand = nullptr;
  int64_t batch = 0, heads = 0, length = 0, size = 0;
  std::array<int64_t, 4> strides{};  // of these
};

Result<Heads> ReadHeads(const CudaSite& site, const CudaOperand* operand, int64_t flat_heads) {
  if (operand == nullptr) return site.Unsupported("an input is missing");
  if (!IsReal(operand->type())) return site.Unsupported("it is not of float32, float16 or bfloat16");
  const Dims &d = operand->dims(), &s = operand->strides();
  if (d.size() == 4) return Heads{operand, d[0], d[1], d[2], d[3], {s[0], s[1], s[2], s[3]}};
  if (d.size() != 3 || flat_heads < 1 || d[2] % flat_heads != 0) {
    return site.Unsupported("its tensors do not have three or four dims with whole heads");
  }
  const int64_t size = d[2] / flat_heads;
  return Heads{operand, d[0], flat_heads, d[1], size, {s[0], size * s[2], s[1], s[2]}};
}

// The node Attention.
class OperatorReader {
 public:
  explicit OperatorReader(const CudaSite& site) : site_(site), node_(site.node()), said_(ReadAttentionNode(node_)) {}

  Result<Attention> Read() {
    PT_CHECK_OK(NeedPlain());
    PT_ASSIGN(const Heads q, ReadHeads(site_, site_.Input(0), said_.q_heads));
    PT_ASSIGN(const Heads k, ReadHeads(site_, site_.Input(1), said_.kv_heads));
    PT_ASSIGN(const Heads v, ReadHeads(site_, site_.Input(2), said_.kv_heads));
    const CudaOperand* const result = site_.Output(0);
    if (result == nullptr) return site_.Unsupported("its first result is not asked for");
    PT_ASSIGN(const Heads y, ReadHeads(site_, result, said_.q_heads));
    const bool fits = q.batch == k.batch && q.batch == v.batch && k.heads == v.heads && k.length == v.length &&
                      q.size == k.size && k.heads > 0 && q.heads % k.heads == 0 && y.batch == q.batch &&
                      y.heads == q.heads && y.length == q.length && y.size == v.size;
    if (!fits) return site_.Unsupported("queries, keys and values do not fit each other");
    // Several heads of queries may share one of keys and values.
    shared_ = q.heads / k.heads;
    made_.batch = {q.batch, k.heads, shared_};
    made_.queries = q.length;
    made_.keys = k.length;
    if (HasInput(4) || HasInput(5)) PT_CHECK_OK(ReadPast(k, v));
    made_.depth = q.size;
    made_.columns = v.size;
    made_.q = ForQueries(q);
    made_.y = ForQueries(y);
    made_.k = ForKeys(k);
    made_.v = ForKeys(v);
    made_.scale = said_.ScaleOf(q.size);
    made_.softcap = static_cast<double>(said_.softcap);
    made_.is_operator = true;
    PT_CHECK_OK(AddPresent(1, k, made_.past_k.operand));
    PT_CHECK_OK(AddPresent(2, v, made_.past_v.operand));
    SetWindow();
    if (node_.inputs.size() > 3 && node_.inputs[3].valid()) PT_CHECK_OK(ReadMask());
    return made_;
  }

 private:
  Status NeedPlain() const {
    if (HasInput(6)) return site_.Unsupported("it has lengths of entries");
    if (site_.Output(3) != nullptr) return site_.Unsupported("its scores are asked for");
    if (said_.softmax_type == DataType::kFloat64) return site_.Unsupported("its softmax is in float64");
    return {};
  }

  bool HasInput(size_t i) const { return i < node_.inputs.size() && node_.inputs[i].valid(); }
  Status ReadPast(const Heads& k, const Heads& v) {
    PT_ASSIGN(const Heads keys, ReadHeads(site_, site_.Input(4), 0));
    PT_ASSIGN(const Heads values, ReadHeads(site_, site_.Input(5), 0));
    const auto fits = [&](const Heads& past, const Heads& own) {
      return past.operand->dims().size() == 4 && past.batch == own.batch && past.heads == own.heads &&
             past.size == own.size && past.length == keys.length;
    };
    if (!fits(keys, k) || !fits(values, v)) return site_.Unsupported("the past does not fit keys and values");
    made_.past = keys.length;
    const std::optional<int64_t> all = CheckedAdd(keys.length, k.length);
    if (!all) return site_.Unsupported("it has too many keys");
    made_.keys = *all;
    made_.past_k = ForKeys(keys);
    made_.past_v = ForKeys(values);
    return {};
  }

  Status AddPresent(size_t output, const Heads& own, const CudaOperand* past) {
    const CudaOperand* const operand = site_.Output(output);
    if (operand == nullptr) return {};
    const Dims dims = {own.batch, own.heads, made_.keys, own.size};
    if (operand->dims() != dims || !IsReal(operand->type())) {
      return site_.Unsupported("a result does not fit keys and values");
    }
    AttentionPresent present{operand, past, own.operand, {}, dims, {}, Dims(own.strides.begin(), own.strides.end())};
    present.own_dims[2] = own.length;
    if (past != nullptr) {
      present.past_dims = past->dims();
      present.past_strides = past->strides();
    }
    made_.presents.push_back(std::move(present));
    return {};
  }

  AttentionMatrix ForQueries(const Heads& heads) const {
    return {heads.operand,
            {heads.strides[0], heads.strides[1] * shared_, heads.strides[1]},
            heads.strides[2],
            heads.strides[3]};
  }
  static AttentionMatrix ForKeys(const Heads& heads) {
    return {heads.operand, {heads.strides[0], heads.strides[1], 0}, heads.strides[2], heads.strides[3]};
  }

  void SetWindow() {
    if (said_.left >= 0) made_.before = said_.left;
    if (said_.right >= 0) made_.behind = said_.right;
    if (said_.is_causal) made_.behind = 0;
  }

  // Broadcasts to [batch, heads, queries, keys], but for its last dim, which may be shorter.
  Status ReadMask() {
    const CudaOperand* const operand = site_.Input(3);
    if (operand == nullptr) return site_.Unsupported("its mask is made within the group");
    const bool is_condition = operand->type() == DataType::kBool;
    const Dims full = {made_.batch[0], made_.batch[1] * shared_, made_.queries, made_.keys};
    const Dims& dims = operand->dims();
    if ((!is_condition && !IsReal(operand->type())) || dims.empty() || dims.back() > made_.keys) {
      return site_.Unsupported("its mask must be numeric or boolean and fit its keys");
    }
    TensorLayout leading = operand->layout;
    leading.dims.pop_back();
    leading.strides.pop_back();
    const auto strides = BroadcastStrides(leading, std::span(full).first(3));
    if (!strides) return site_.Unsupported("its mask does not broadcast to its scores");
    MaskTensor mask;
    mask.at = {
        operand, {(*strides)[0], (*strides)[1] * shared_, (*strides)[1]}, (*strides)[2], operand->strides().back()};
    mask.kind = is_condition ? MaskTensor::Kind::kHiding : MaskTensor::Kind::kAdded;
    mask.keys = dims.back();
    made_.masks.push_back(mask);
    return {};
  }

  const CudaSite& site_;
  const Node& node_;
  const AttentionNode said_;
  Attention made_;
  int64_t shared_ = 1;
};

// Nodes around a Softmax.
class PatternReader {
 public:
  PatternReader(const CudaSite& site, const AttentionPattern& pattern) : site_(site), pattern_(pattern) {}

  Result<Attention> Read() {
    if (site_.out.size() != 1) return site_.Unsupported("something else reads what is within the group");
    PT_ASSIGN(const TensorLayout y, Seen(site_.out[0], pattern_.y));
    made_.batch = Dims(y.dims.begin(), y.dims.end() - 2);
    made_.queries = y.dims[y.dims.size() - 2];
    made_.columns = y.dims.back();
    PT_ASSIGN(made_.y, MatrixOf(site_.out[0], y, made_.queries, made_.columns));
    PT_ASSIGN(const CudaOperand* const q, Need(pattern_.q.value));
    PT_ASSIGN(const CudaOperand* const k, Need(pattern_.k.value));
    PT_ASSIGN(const CudaOperand* const v, Need(pattern_.v.value));
    PT_ASSIGN(const TensorLayout queries, Seen(*q, pattern_.q));
    PT_ASSIGN(const TensorLayout keys, Seen(*k, pattern_.k));
    PT_ASSIGN(const TensorLayout values, Seen(*v, pattern_.v));
    made_.depth = queries.dims.back();
    made_.keys = keys.dims.back();
    if (made_.keys == 0 || made_.depth == 0) return site_.Unsupported("it has no keys, or its products have no depth");
    PT_ASSIGN(made_.q, MatrixOf(*q, queries, made_.queries, made_.depth));
    PT_ASSIGN(made_.k, MatrixOf(*k, keys, made_.depth, made_.keys));
    PT_ASSIGN(made_.v, MatrixOf(*v, values, made_.keys, made_.columns));
    std::swap(made_.k.row, made_.k.column);
    made_.scale = pattern_.scale;
    for (const AttentionPattern::Mask& mask : pattern_.masks) PT_CHECK_OK(TakeMask(mask));
    return made_;
  }

 private:
  Result<const CudaOperand*> Need(ValueId value) const {
    const std::optional<uint32_t> at = site_.FindInput(value);
    if (!at) return site_.Unsupported("an input is made within the group");
    return &site_.in[*at];
  }

  // As the products see it.
  Result<TensorLayout> Seen(const CudaOperand& operand, const AttentionPattern::Matrices& matrices) const {
    if (!IsReal(operand.type())) return site_.Unsupported("it is not of float32, float16 or bfloat16");
    TensorLayout seen;
    seen.type = operand.type();
    for (const size_t dim : matrices.dims) {
      seen.dims.push_back(operand.dims()[dim]);
      seen.strides.push_back(operand.strides()[dim]);
    }
    return seen;
  }

  Result<AttentionMatrix> MatrixOf(const CudaOperand& operand, const TensorLayout& seen, int64_t rows,
                                   int64_t columns) const {
    Dims dims = made_.batch;
    dims.insert(dims.end(), {rows, columns});
    const auto strides = BroadcastStrides(seen, dims);
    if (!strides) return site_.Unsupported("its matrices do not fit each other");
    return AttentionMatrix{&operand, Dims(strides->begin(), strides->end() - 2), (*strides)[dims.size() - 2],
                           strides->back()};
  }

  Status TakeMask(const AttentionPattern::Mask& pattern) {
    PT_ASSIGN(const CudaOperand* const operand, Need(pattern.value));
    const bool fits = pattern.is_condition ? operand->type() == DataType::kBool : IsReal(operand->type());
    if (!fits || std::isnan(pattern.otherwise)) return site_.Unsupported("no kernel takes this mask");
    MaskTensor mask;
    PT_ASSIGN(mask.at, MatrixOf(*operand, operand->layout, made_.queries, made_.keys));
    mask.kind = pattern.is_condition ? MaskTensor::Kind::kReplacing : MaskTensor::Kind::kAdded;
    mask.keys = made_.keys;
    mask.keep_where = pattern.keep_where;
    mask.otherwise = pattern.otherwise;
    made_.masks.push_back(mask);
    return {};
  }

  const CudaSite& site_;
  const AttentionPattern& pattern_;
  Attention made_;
};

bool IsOperator(const Node& node) { return node.domain.empty() && node.op == "Attention"; }

// What these kernels know of such a pattern.
bool IsTaken(const AttentionPattern& pattern) { return pattern.softcap == 0 && !pattern.nan_is_zero; }

}  // namespace

bool IsAttention(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.size() == 1) return IsOperator(graph.node(nodes.front()));
  const std::optional<AttentionPattern> pattern = ReadAttention(graph, nodes);
  return pattern && IsTaken(*pattern);
}

Result<Attention> MakeAttention(const CudaSite& site) {
  if (IsOperator(site.node()) && site.nodes.size() == 1) return OperatorReader(site).Read();
  const std::optional<AttentionPattern> pattern = ReadAttention(site.graph, site.nodes);
  if (!pattern || !IsTaken(*pattern)) return site.Unsupported("its nodes are not an attention");
  return PatternReader(site, *pattern).Read();
}

}  // namespace pt::cuda
