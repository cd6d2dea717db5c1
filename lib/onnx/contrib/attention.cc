// Attention of several heads, with the projections (of integers too) or without, as ONNX's Attention. Masks become
// numbers that are added to the scores, since one that hides all keys of a row leaves their scores as they are here,
// and nothing to ONNX.
#include <limits>
#include <optional>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/quantized_parts.h"
#include "partitiontuner/support/checked.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

// A value's dim as a tensor of one element.
std::string DimAsTensor(Rewrite& r, const std::string& value, int64_t axis) {
  return r.Add("Shape", {value}, {IntAttribute("start", axis), IntAttribute("end", axis + 1)});
}

struct Mask {
  int input;            // of the node
  std::string batch;    // how many entries, as a tensor of one element
  std::string keys;     // how many keys each has, those of the past among them
  float hidden;         // what is added to scores of keys that do not count
  int32_t type;         // of scores
  bool starts = false;  // whether lengths may be followed by where the keys begin
};

// 0 where `counts`, which is [..., keys], holds, else mask.hidden. Zeros of that many keys refuse masks of others.
std::string Bias(Rewrite& r, const Mask& mask, const std::string& counts) {
  const std::string zeros = r.Add("Expand", {r.AddZero(mask.type), mask.keys});
  return r.Add("Where", {counts, zeros, r.AddScalar(mask.type, mask.hidden)});
}

// Lengths, one an entry of the batch, and behind them starts. Keys from the length on, or before the start, are hidden.
std::string LengthBias(Rewrite& r, const Mask& mask) {
  constexpr int32_t kInt = proto::TensorProto::INT32;
  const std::string end = r.Add("Cast", {r.Add("Squeeze", {mask.keys})}, {IntAttribute("to", kInt)});
  const std::string positions = r.Add("Range", {r.AddZero(kInt), end, r.AddScalar(kInt, 1)});
  const auto in_column = [&](const std::string& vector) { return r.Add("Unsqueeze", {vector, r.AddInts({1})}); };
  const std::string& given = r.in(mask.input);
  std::string ends = given, starts;
  if (mask.starts) {
    // [2 · batch], or [batch] with starts of 0.
    const std::string lines = r.Add("Concat", {r.AddInts({-1}), mask.batch}, {IntAttribute("axis", 0)});
    const std::string none =
        r.Add("Expand", {r.AddZero(kInt), r.Add("Concat", {r.AddInts({1}), mask.batch}, {IntAttribute("axis", 0)})});
    const std::string both = r.Add("Concat", {r.Add("Reshape", {given, lines}), none}, {IntAttribute("axis", 0)});
    ends = r.Add("Gather", {both, r.AddScalar(proto::TensorProto::INT64, 0)});
    starts = r.Add("Gather", {both, r.AddScalar(proto::TensorProto::INT64, 1)});
  }
  std::string counts = r.Add("Less", {positions, in_column(ends)});
  if (mask.starts) counts = r.Add("And", {counts, r.Add("GreaterOrEqual", {positions, in_column(starts)})});
  return r.Add("Unsqueeze", {Bias(r, mask, counts), r.AddInts({1, 2})});
}

// The mask as what is added to scores [batch, heads, queries, keys]; "" for one that hides nothing.
Result<std::string> MaskBias(Rewrite& r, const Mask& mask) {
  const std::string& given = r.in(mask.input);
  if (given.empty()) return std::string();
  PT_ASSIGN(const int64_t rank, r.NeedRank(given, "the mask"));
  if (rank == 1) return LengthBias(r, mask);
  if (rank != 2 && rank != 3) {
    return Rewrite::Unsupported("a mask of " + std::to_string(rank) +
                                " dims is not supported: 1, 2 and 3 are, as in ONNX Runtime's kernel for processors");
  }
  const int32_t type = r.element_type(given).value_or(proto::TensorProto::INT32);
  std::string counts = r.Add("Greater", {given, r.AddZero(type)});
  if (rank == 2) {
    // One element for all keys of an entry hides none, whatever it is.
    const auto columns = r.dim(given, 1);
    if (columns == 1) return std::string();
    if (!columns) counts = r.Add("Or", {counts, r.Add("Equal", {DimAsTensor(r, given, 1), r.AddInts({1})})});
  }
  return r.Add("Unsqueeze", {Bias(r, mask, counts), rank == 2 ? r.AddInts({1, 2}) : r.AddInts({1})});
}

// What hides keys behind each query where there are more new keys than queries: ONNX Runtime lets the last query see
// them all. `queries` is their number, `past` how many keys come before, "" for none.
std::string CausalBias(Rewrite& r, const Mask& mask, const std::string& queries, const std::string& past) {
  constexpr int32_t kInt = proto::TensorProto::INT64;
  const std::string zero = r.AddZero(kInt), one = r.AddScalar(kInt, 1);
  const auto range = [&](const std::string& count) { return r.Add("Range", {zero, r.Add("Squeeze", {count}), one}); };
  const std::string query = r.Add("Unsqueeze", {range(queries), r.AddInts({1})});
  const std::string last = past.empty() ? query : r.Add("Add", {query, past});
  const std::string seen = r.Add("LessOrEqual", {range(mask.keys), last});
  const std::string sees_all = r.Add("Equal", {query, r.Add("Sub", {queries, one})});
  const float lowest = std::numeric_limits<float>::lowest();
  const std::string bias =
      r.Add("Where", {r.Add("Or", {seen, sees_all}), r.AddZero(mask.type), r.AddScalar(mask.type, lowest)});
  return r.Add("Unsqueeze", {bias, r.AddInts({0, 1})});
}

// What all of these add to the scores, "" for nothing: the mask, the bias of the node, and another one.
Result<std::string> AttentionMask(Rewrite& r, const Mask& mask, int bias, const std::string& other) {
  PT_ASSIGN(std::string sum, MaskBias(r, mask));
  if (r.has(bias)) {
    if (const auto rank = r.rank(r.in(bias)); rank && *rank != 4)
      return Rewrite::Invalid("attention_bias has " + std::to_string(*rank) + " dims; it needs 4");
  }
  for (const std::string& term : {r.in(bias), other}) {
    if (!term.empty()) sum = sum.empty() ? term : r.Add("Add", {sum, term});
  }
  return sum;
}

Attributes AttentionAttributes(const Rewrite& r, bool flat, bool causal) {
  const int64_t heads = r.Int("num_heads", 0);
  Attributes attributes;
  if (flat) attributes = {IntAttribute("q_num_heads", heads), IntAttribute("kv_num_heads", heads)};
  if (const float scale = r.Float("scale", 0); scale != 0) attributes.push_back(FloatAttribute("scale", scale));
  if (causal) attributes.push_back(IntAttribute("is_causal", 1));
  return attributes;
}

bool IsCausal(const Rewrite& r) { return r.Int("unidirectional", 0) == 1; }

Status NeedHeads(const Rewrite& r) {
  if (r.Int("num_heads", 0) > 0) return {};
  return Rewrite::Invalid("num_heads is " + std::to_string(r.Int("num_heads", 0)) + "; it needs to be positive");
}

// ---- Attention, and QAttention on integers ----

// Where they have their inputs.
struct AttentionInputs {
  int mask, past, bias;  // bias: what is added to scores
};
constexpr int kNone = 1 << 20;  // more inputs than any node has
constexpr int kInput = 0, kWeights = 1, kProjectionBias = 2;

// The columns of queries, keys and values.
Result<std::vector<int64_t>> ProjectionSizes(const Rewrite& r) {
  const int64_t heads = r.Int("num_heads", 0);
  std::vector<int64_t> sizes = r.Ints("qkv_hidden_sizes");
  const auto width = r.dim(r.in(kWeights), 1);
  if (!sizes.empty()) {
    if (sizes.size() != 3 || sizes[0] != sizes[1] || sizes[0] < 1 || sizes[2] < 1 || sizes[0] % heads != 0 ||
        sizes[2] % heads != 0) {
      return Rewrite::Invalid(
          "qkv_hidden_sizes needs three positive multiples of num_heads, of which the first two are equal");
    }
    if (width && (sizes[0] > *width || sizes[2] > *width || sizes[0] + sizes[1] + sizes[2] != *width)) {
      return Rewrite::Invalid("qkv_hidden_sizes do not sum up to the " + std::to_string(*width) +
                              " columns of weights");
    }
    return sizes;
  }
  if (!width) return Rewrite::Unsupported("the dims of weights are not known when the model loads");
  if (*width % 3 != 0 || *width / 3 % heads != 0) {
    return Rewrite::Invalid("the " + std::to_string(*width) + " columns of weights are not three times " +
                            std::to_string(heads) + " heads");
  }
  return std::vector<int64_t>(3, *width / 3);
}

Status CheckProjected(const Rewrite& r) {
  PT_CHECK_OK(NeedHeads(r));
  if (r.Int("do_rotary", 0) != 0) return Rewrite::Unsupported("do_rotary is not supported");
  if (r.Int("past_present_share_buffer", 0) != 0)
    return Rewrite::Unsupported("past_present_share_buffer is not supported: outputs share no memory with inputs");
  return {};
}

Result<Mask> ProjectedMask(Rewrite& r, const AttentionInputs& at, int32_t type) {
  std::string keys = DimAsTensor(r, r.in(kInput), 1);
  if (r.has(at.past)) keys = r.Add("Add", {keys, DimAsTensor(r, r.in(at.past), 3)});
  Mask mask = {at.mask, DimAsTensor(r, r.in(kInput), 0), keys, r.Float("mask_filter_value", -10000.0F), type, true};
  const auto entries = r.dim(r.in(kInput), 0), lengths = r.dim(r.in(at.mask), 0);
  if (entries && lengths && r.rank(r.in(at.mask)) == 1) {
    mask.starts = *lengths != *entries;
    if (mask.starts && *lengths != 2 * *entries) {
      return Rewrite::Unsupported("mask_index has " + std::to_string(*lengths) + " elements for " +
                                  std::to_string(*entries) + " entries: one or two for each are supported");
    }
  }
  return mask;
}

// all: queries, keys and values beside each other, [batch, length, columns].
Status FinishAttention(Rewrite& r, const AttentionInputs& at, const std::string& all, int32_t type) {
  PT_ASSIGN(const std::vector<int64_t> sizes, ProjectionSizes(r));
  std::vector<std::string> inputs = r.AddMany("Split", {all, r.AddInts(sizes)}, 3, {IntAttribute("axis", -1)});
  PT_ASSIGN(const Mask mask, ProjectedMask(r, at, type));
  PT_ASSIGN(const std::string bias, AttentionMask(r, mask, at.bias, ""));
  inputs.push_back(bias);
  if (r.has(at.past)) {
    for (float half : {0.0F, 1.0F})
      inputs.push_back(r.Add("Gather", {r.in(at.past), r.AddScalar(proto::TensorProto::INT64, half)}));
  }
  const Attributes attributes = AttentionAttributes(r, true, IsCausal(r));
  if (!r.wants(1)) {
    r.Finish(0, "Attention", inputs, attributes);
    return {};
  }
  const std::vector<std::string> results = r.AddMany("Attention", inputs, 3, attributes);
  r.Finish(0, "Identity", {results[0]});
  const std::string front = r.AddInts({0});
  r.Finish(1, "Concat", {r.Add("Unsqueeze", {results[1], front}), r.Add("Unsqueeze", {results[2], front})},
           {IntAttribute("axis", 0)});
  return {};
}

Status Attention(Rewrite& r) {
  PT_CHECK_OK(CheckProjected(r));
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kWeights), "weights"));
  std::string all = r.Add("MatMul", {r.in(kInput), r.in(kWeights)});
  if (r.has(kProjectionBias)) all = r.Add("Add", {all, r.in(kProjectionBias)});
  return FinishAttention(r, {3, 4, 5}, all, type);
}

Status QAttention(Rewrite& r) {
  enum Input { kInputScale = 3, kWeightScale, kMask, kInputZero, kWeightZero, kPast };
  PT_CHECK_OK(CheckProjected(r));
  PT_CHECK_OK(NeedBytes(r, kInput, "input"));
  for (int real : {kProjectionBias, static_cast<int>(kInputScale), static_cast<int>(kWeightScale)}) {
    const auto type = r.element_type(r.in(real));
    if (type && *type != proto::TensorProto::FLOAT)
      return Rewrite::Unsupported("bias and scales of another type than float32 are not supported");
  }
  DequantizedProduct product = {r.in(kInput), "", "", kWeights, kWeightScale, kWeightZero, kProjectionBias};
  PT_ASSIGN(product.a_scale, OneNumber(r, kInputScale, "input_scale"));
  if (r.has(kInputZero)) {
    PT_ASSIGN(product.a_zero_point, OneNumber(r, kInputZero, "input_zero_point"));
  }
  PT_ASSIGN(const std::string all, MultiplyIntegers(r, product, false));
  return FinishAttention(r, {kMask, kPast, kNone}, all, proto::TensorProto::FLOAT);
}

// ---- MultiHeadAttention ----

enum HeadsInput { kQuery, kKey, kValue, kHeadsBias, kKeyMask, kHeadsAttentionBias, kPastKey, kPastValue };

// The three parts of the bias are as long as the rows they are added to.
void AddHeadsBias(Rewrite& r, std::string& query, std::string& key, std::string& value) {
  const std::string zero = r.AddInts({0}), axis = r.AddInts({0});
  const std::string first = DimAsTensor(r, r.in(kQuery), 2),
                    second = r.Add("Add", {first, DimAsTensor(r, r.in(kKey), 2)});
  const std::string third = r.Add("Add", {second, DimAsTensor(r, r.in(kValue), 2)});
  const auto part = [&](const std::string& from, const std::string& to) {
    return r.Add("Slice", {r.in(kHeadsBias), from, to, axis});
  };
  query = r.Add("Add", {query, part(zero, first)});
  key = r.Add("Add", {key, part(first, second)});
  value = r.Add("Add", {value, part(second, third)});
}

// [batch, length, heads · size] as [batch, heads, length, size].
std::string SplitHeads(Rewrite& r, const std::string& x) {
  const std::string split = r.Add("Reshape", {x, r.AddInts({0, 0, r.Int("num_heads", 0), -1})});
  return r.Add("Transpose", {split}, {IntsAttribute("perm", {0, 2, 1, 3})});
}

Status CheckHeadsBias(const Rewrite& r) {
  const auto length = r.dim(r.in(kHeadsBias), 0);
  std::optional<int64_t> rows = 0;
  for (const int input : {kQuery, kKey, kValue}) {
    const auto row = r.dim(r.in(input), 2);
    if (!row || !length) return {};
    if (rows) rows = CheckedAdd(*rows, *row);
  }
  if (rows == length) return {};
  return Rewrite::Invalid("the bias has " + std::to_string(*length) +
                          " elements; rows of query, key and value together have " +
                          (rows ? std::to_string(*rows) : "more"));
}

Status CheckHeadsInputs(const Rewrite& r, int64_t query, int64_t key, int64_t value) {
  if (query != 3 || key == 5) return Rewrite::Unsupported("packed queries, keys and values are not supported");
  if ((key != 3 && key != 4) || key != value) return Rewrite::Invalid("key and value need three dims both, or four");
  if (r.has(kPastKey) != r.has(kPastValue)) return Rewrite::Invalid("past_key and past_value come together");
  if (key == 4 && r.has(kHeadsBias)) return Rewrite::Invalid("a bias does not go with keys of four dims");
  if (key == 4 && r.has(kPastKey)) return Rewrite::Invalid("a past does not go with keys of four dims");
  const auto entries = r.dim(r.in(kQuery), 0), lengths = r.dim(r.in(kKeyMask), 0);
  if (r.rank(r.in(kKeyMask)) == 1 && entries && lengths && *entries != *lengths) {
    return Rewrite::Unsupported("key_padding_mask has " + std::to_string(*lengths) + " elements for " +
                                std::to_string(*entries) + " entries: one for each is supported");
  }
  if (r.rank(r.in(kKeyMask)) > 1 && entries && lengths && *entries != *lengths) {
    return Rewrite::Invalid("key_padding_mask has " + std::to_string(*lengths) + " rows for " +
                            std::to_string(*entries) + " entries");
  }
  return CheckHeadsBias(r);
}

// Of dims that are known, or equal by name.
bool HasNoMoreKeys(const Rewrite& r, bool flat) {
  const int64_t axis = flat ? 1 : 2;
  const auto queries = r.dim(r.in(kQuery), 1), keys = r.dim(r.in(kKey), axis);
  return r.same_dim(r.in(kQuery), 1, r.in(kKey), axis) || (queries && keys && *keys < *queries);
}

// What is added to the scores, "" for nothing; `causal`: so that keys behind a query are hidden, too.
Result<std::string> HeadsMask(Rewrite& r, bool flat, bool causal) {
  if (!r.has(kKeyMask) && !r.has(kHeadsAttentionBias) && !causal) return std::string();
  std::string keys = DimAsTensor(r, r.in(kKey), flat ? 1 : 2);
  const std::string past = r.has(kPastKey) ? DimAsTensor(r, r.in(kPastKey), 2) : std::string();
  if (!past.empty()) keys = r.Add("Add", {keys, past});
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kQuery), "query"));
  const Mask mask = {kKeyMask, "", keys, r.Float("mask_filter_value", -10000.0F), type, false};
  const std::string behind = causal ? CausalBias(r, mask, DimAsTensor(r, r.in(kQuery), 1), past) : std::string();
  return AttentionMask(r, mask, kHeadsAttentionBias, behind);
}

Status MultiHeadAttention(Rewrite& r) {
  PT_CHECK_OK(NeedHeads(r));
  if (!r.has(kKey) || !r.has(kValue))
    return Rewrite::Unsupported("packed queries, keys and values are not supported: key and value are needed");
  for (int i : {8, 9}) {
    if (r.has(i)) {
      return Rewrite::Unsupported(std::string(i == 8 ? "past_sequence_length" : "cache_indirection") +
                                  " is not supported: outputs share no memory with inputs");
    }
  }
  PT_ASSIGN(const int64_t query_rank, r.NeedRank(r.in(kQuery), "query"));
  PT_ASSIGN(const int64_t key_rank, r.NeedRank(r.in(kKey), "key"));
  PT_ASSIGN(const int64_t value_rank, r.NeedRank(r.in(kValue), "value"));
  PT_CHECK_OK(CheckHeadsInputs(r, query_rank, key_rank, value_rank));
  const bool flat = key_rank == 3;

  std::string query = r.in(kQuery), key = r.in(kKey), value = r.in(kValue);
  if (r.has(kHeadsBias)) AddHeadsBias(r, query, key, value);
  if (!flat) query = SplitHeads(r, query);
  const bool more_keys = IsCausal(r) && !HasNoMoreKeys(r, flat);
  PT_ASSIGN(const std::string bias, HeadsMask(r, flat, more_keys));
  std::vector<std::string> inputs = {query, key, value, bias};
  if (r.has(kPastKey)) inputs.insert(inputs.end(), {r.in(kPastKey), r.in(kPastValue)});
  const Attributes attributes = AttentionAttributes(r, flat, IsCausal(r) && !more_keys);
  if (flat) {
    r.FinishAll("Attention", inputs, attributes);
    return {};
  }
  // Keys of other inputs, made once: they are given out as they came.
  const std::string y = r.Add("Attention", inputs, attributes);
  const std::string joined = r.Add("Transpose", {y}, {IntsAttribute("perm", {0, 2, 1, 3})});
  r.Finish(0, "Reshape", {joined, r.AddInts({0, 0, -1})});
  if (r.wants(1)) r.Finish(1, "Identity", {key});
  if (r.wants(2)) r.Finish(2, "Identity", {value});
  return {};
}

// ---- types ----

void InferAttention(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  InferenceDim hidden;
  const A* sizes = context.getAttribute("qkv_hidden_sizes");
  const InferenceDim width = DimOf(context, 1, 1);
  if (sizes != nullptr && sizes->ints_size() == 3)
    hidden.set_dim_value(sizes->ints(2));
  else if (width.has_dim_value())
    hidden.set_dim_value(width.dim_value() / 3);
  SetShape(context, 0, {DimOf(context, 0, 0), DimOf(context, 0, 1), hidden});
  CopyElementType(context, 1, 0);
  SetShape(context, 1, {{}, {}, {}, {}, {}});
}

void InferQAttention(proto::InferenceContext& context) {
  InferAttention(context);
  for (const size_t output : {size_t{0}, size_t{1}}) SetElementType(context, output, proto::TensorProto::FLOAT);
}

void InferHeads(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  const Shape* value = ShapeOf(context, 2);
  const InferenceDim hidden = value != nullptr && value->dim_size() == 3 ? value->dim(2) : InferenceDim();
  SetShape(context, 0, {DimOf(context, 0, 0), DimOf(context, 0, 1), hidden});
  for (size_t present : {size_t{1}, size_t{2}}) {
    CopyElementType(context, present, 0);
    SetShape(context, present, {{}, {}, {}, {}});
  }
}

}  // namespace

std::vector<Row> AttentionRows() {
  return {
      {"Attention",
       {"input", "weights", "bias?", "mask_index?", "past?", "attention_bias?", "past_sequence_length?"},
       {"output", "present"},
       {{"do_rotary", A::INT},
        {"mask_filter_value", A::FLOAT},
        {"num_heads", A::INT, true},
        {"past_present_share_buffer", A::INT},
        {"qkv_hidden_sizes", A::INTS},
        {"rotary_embedding_dim", A::INT},
        {"scale", A::FLOAT},
        {"unidirectional", A::INT}},
       InferAttention,
       Attention},
      {"MultiHeadAttention",
       {"query", "key?", "value?", "bias?", "key_padding_mask?", "attention_bias?", "past_key?", "past_value?",
        "past_sequence_length?", "cache_indirection?"},
       {"output", "present_key", "present_value", "-qk"},
       {{"mask_filter_value", A::FLOAT}, {"num_heads", A::INT, true}, {"scale", A::FLOAT}, {"unidirectional", A::INT}},
       InferHeads,
       MultiHeadAttention},
      {"QAttention",
       {"input", "weight", "bias", "input_scale", "weight_scale", "mask_index?", "input_zero_point?",
        "weight_zero_point?", "past?"},
       {"output", "present"},
       {{"do_rotary", A::INT},
        {"mask_filter_value", A::FLOAT},
        {"num_heads", A::INT, true},
        {"past_present_share_buffer", A::INT},
        {"scale", A::FLOAT},
        {"unidirectional", A::INT}},
       InferQAttention,
       QAttention},
  };
}

}  // namespace pt::contrib
