// GroupQueryAttention: attention of query heads that share key heads, with a cache of keys and values, as ONNX's
// RotaryEmbedding and Attention. Entries of the batch may have different numbers of tokens; those of each stand at the
// beginning of its rows of the cache. As in ONNX Runtime, as many new tokens as there are in all are a first prompt.
#include <limits>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

constexpr int32_t kInt = proto::TensorProto::INT64;

enum Input {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCosines,
  kSines,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kQueryLengths
};

// Where tokens stand: int64 scalars, and columns [batch, 1].
struct Tokens {
  std::string fresh;      // new ones of each entry
  std::string total;      // most that an entry has with these
  std::string kept;       // rows of the past that is given
  std::string begins;     // column: how many of these an entry has
  std::string ends;       // column: how many it has with the new ones
  std::string positions;  // [batch, fresh]
};

std::string AsScalar(Rewrite& r, const std::string& x) { return r.Add("Reshape", {x, r.AddInts({})}); }

std::string DimsOf(Rewrite& r, const std::string& x, int64_t begin, int64_t end) {
  return r.Add("Shape", {x}, {IntAttribute("start", begin), IntAttribute("end", end)});
}

std::string CountFromZero(Rewrite& r, const std::string& count) {
  return r.Add("Range", {r.AddZero(kInt), count, r.AddScalar(kInt, 1)});
}

std::string ToInt(Rewrite& r, const std::string& x) { return r.Add("Cast", {x}, {IntAttribute("to", kInt)}); }

bool IsPacked(const Rewrite& r) { return !r.has(kKey); }

Tokens CountTokens(Rewrite& r) {
  Tokens t;
  t.fresh = AsScalar(r, DimsOf(r, r.in(kQuery), 1, 2));
  t.total = AsScalar(r, ToInt(r, r.in(kTotal)));
  t.kept = r.has(kPastKey) ? AsScalar(r, DimsOf(r, r.in(kPastKey), 2, 3)) : r.AddZero(kInt);
  const std::string lasts = r.Add("Reshape", {ToInt(r, r.in(kLengths)), r.AddInts({-1, 1})});
  t.ends = r.Add("Add", {lasts, r.AddScalar(kInt, 1)});
  const std::string is_prompt = r.Add("Equal", {t.fresh, t.total});
  t.begins = r.Add("Where", {is_prompt, r.AddZero(kInt), r.Add("Sub", {t.ends, t.fresh})});
  t.positions = r.Add("Add", {t.begins, CountFromZero(r, t.fresh)});
  return t;
}

// ---- queries, keys and values ----

// What this spelling out has no nodes for.
Status CheckTaken(const Rewrite& r) {
  if (r.Int("qk_output", 0) != 0) return Rewrite::Unsupported("qk_output is not supported");
  if (r.Int("sliding_window_cache", 0) != 0) return Rewrite::Unsupported("sliding_window_cache is not supported");
  if (r.has(kQueryLengths)) return Rewrite::Unsupported("query_seqlens is not supported");
  if (r.Text("k_quant_type", "NONE") != "NONE" || r.Text("v_quant_type", "NONE") != "NONE" || r.has(kKeyScale) ||
      r.has(kValueScale) || r.Int("kv_cache_bit_width", 0) != 0) {
    return Rewrite::Unsupported("quantised keys and values are not supported");
  }
  return {};
}

Status CheckNode(const Rewrite& r) {
  PT_CHECK_OK(CheckTaken(r));
  const int64_t heads = r.Int("num_heads", 0), groups = r.Int("kv_num_heads", 0),
                window = r.Int("local_window_size", -1), causal = r.Int("causal", 1);
  if (groups < 1 || heads < 1 || heads % groups != 0) {
    return Rewrite::Invalid("num_heads is " + std::to_string(heads) + " and kv_num_heads " + std::to_string(groups) +
                            "; the first must be a positive multiple of the second");
  }
  if (window != -1 && window < 1)
    return Rewrite::Invalid("local_window_size is " + std::to_string(window) + "; it needs to be -1 or positive");
  if (causal != 0 && causal != 1)
    return Rewrite::Invalid("causal is " + std::to_string(causal) + "; it needs to be 0 or 1");
  if (causal == 0 && window != -1) return Rewrite::Invalid("local_window_size needs causal to be 1");
  if (r.has(kKey) != r.has(kValue)) return Rewrite::Invalid("key and value come together");
  if (r.has(kPastKey) != r.has(kPastValue)) return Rewrite::Invalid("past_key and past_value come together");
  if (r.has(kQueryNorm) != r.has(kKeyNorm)) return Rewrite::Invalid("q_norm_weight and k_norm_weight come together");
  if (r.Int("do_rotary", 0) != 0 && (!r.has(kCosines) || !r.has(kSines)))
    return Rewrite::Invalid("do_rotary needs cos_cache and sin_cache");
  for (const Input input : {kQuery, kKey, kValue}) {
    if (!r.has(input)) continue;
    PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(input), "input " + std::to_string(input)));
    if (rank != 3) return Rewrite::Unsupported("input " + std::to_string(input) + " of other than three dims");
  }
  return {};
}

// Elements of a head; nothing where the model does not say it.
std::optional<int64_t> HeadSize(const Rewrite& r) {
  const auto width = r.dim(r.in(kQuery), 2);
  if (!width) return std::nullopt;
  return *width / (r.Int("num_heads", 0) + (IsPacked(r) ? 2 * r.Int("kv_num_heads", 0) : 0));
}

// Each [batch, tokens, heads · size].
Result<std::vector<std::string>> Projections(Rewrite& r) {
  if (!IsPacked(r)) return std::vector<std::string>{r.in(kQuery), r.in(kKey), r.in(kValue)};
  const int64_t heads = r.Int("num_heads", 0), groups = r.Int("kv_num_heads", 0);
  const auto width = r.dim(r.in(kQuery), 2), size = HeadSize(r);
  if (!size) {
    // Split refuses what is not a multiple.
    const std::string in_a_head = r.Add("Div", {DimsOf(r, r.in(kQuery), 2, 3), r.AddInts({heads + 2 * groups})});
    const std::string sizes = r.Add("Mul", {in_a_head, r.AddInts({heads, groups, groups})});
    return r.AddMany("Split", {r.in(kQuery), sizes}, 3, {IntAttribute("axis", -1)});
  }
  if (*size < 1 || *width % *size != 0 || *width / *size != heads + 2 * groups) {
    return Rewrite::Invalid("the " + std::to_string(*width) + " columns of packed queries are not " +
                            std::to_string(heads + 2 * groups) + " heads");
  }
  const std::string sizes = r.AddInts({heads * *size, groups * *size, groups * *size});
  return r.AddMany("Split", {r.in(kQuery), sizes}, 3, {IntAttribute("axis", -1)});
}

// Of a first prompt the given positions count from their first element on.
std::string RotaryPositions(Rewrite& r, const Tokens& t) {
  if (!r.has(kPositions)) return t.positions;
  const std::string flat = r.Add("Reshape", {r.in(kPositions), r.AddInts({-1})});
  const std::string first = r.Add("Gather", {flat, r.AddZero(kInt)});
  const std::string is_prompt = r.Add("Equal", {t.fresh, t.total});
  return r.Add("Where", {is_prompt, r.Add("Add", {first, t.positions}), r.in(kPositions)});
}

// Each head by its own root mean square, where the node has weights for that.
std::string NormaliseHeads(Rewrite& r, const std::string& x, Input weight, const char* epsilon, int64_t heads) {
  if (!r.has(weight)) return x;
  const float added = r.Float(epsilon, r.Float("qk_norm_epsilon", 1e-6F));
  const std::string split = r.Add("Reshape", {x, r.AddInts({0, 0, heads, -1})});
  const std::string normal =
      r.Add("RMSNormalization", {split, r.in(weight)}, {IntAttribute("axis", -1), FloatAttribute("epsilon", added)});
  return r.Add("Reshape", {normal, r.AddInts({0, 0, -1})});
}

// The turned part of each head is twice as wide as the tables.
std::string Turn(Rewrite& r, const std::string& x, int64_t heads, const std::string& positions) {
  Attributes attributes = {IntAttribute("num_heads", heads),
                           IntAttribute("interleaved", r.Int("rotary_interleaved", 0))};
  const auto half = r.dim(r.in(kCosines), 1), size = HeadSize(r);
  if (half && (!size || 2 * *half != *size)) attributes.push_back(IntAttribute("rotary_embedding_dim", 2 * *half));
  return r.Add("RotaryEmbedding", {x, r.in(kCosines), r.in(kSines), positions}, attributes);
}

// [batch, tokens, heads · size] as [batch, heads, tokens, size].
std::string SplitHeads(Rewrite& r, const std::string& x, int64_t heads) {
  return r.Add("Transpose", {r.Add("Reshape", {x, r.AddInts({0, 0, heads, -1})})},
               {IntsAttribute("perm", {0, 2, 1, 3})});
}

// ---- the cache ----

// Adds to `wrong` where two dims of inputs differ that must agree; kInvalidInput where that is known.
Status CheckEqual(Rewrite& r, Input a, Input b, int64_t axis, std::string& wrong) {
  if (!r.has(a) || !r.has(b) || r.same_dim(r.in(a), axis, r.in(b), axis)) return {};
  const auto one = r.dim(r.in(a), axis), other = r.dim(r.in(b), axis);
  if (one && other) {
    return Rewrite::Invalid("dim " + std::to_string(axis) + " of input " + std::to_string(b) + " is " +
                            std::to_string(*other) + " where input " + std::to_string(a) + " has " +
                            std::to_string(*one));
  }
  const std::string equal = r.Add("Equal", {DimsOf(r, r.in(a), axis, axis + 1), DimsOf(r, r.in(b), axis, axis + 1)});
  wrong = r.Add("Or", {wrong, r.Add("Not", {equal})});
  return {};
}

// By entry and row of the cache: which row of the past, the new tokens and a row of zeros behind them is there. Lengths
// that contradict each other name rows that no tensor has, which Gather refuses.
Result<std::string> CacheRows(Rewrite& r, const Tokens& t) {
  const std::string count = r.Add("Max", {t.kept, t.total}), row = CountFromZero(r, count);
  const std::string is_new = r.Add("Less", {row, r.Add("Add", {t.begins, t.fresh})});
  const std::string new_row = r.Add("Add", {r.Add("Sub", {row, t.begins}), t.kept});
  const std::string other = r.Add("Where", {is_new, new_row, r.Add("Add", {t.kept, t.fresh})});
  const std::string rows = r.Add("Where", {r.Add("Less", {row, t.begins}), row, other});
  std::string wrong = r.Add("Or", {r.Add("Less", {t.begins, r.AddZero(kInt)}), r.Add("Greater", {t.begins, t.kept})});
  wrong = r.Add("Or", {wrong, r.Add("Greater", {t.ends, t.total})});
  wrong = r.Add("Or", {wrong, r.Add("Less", {t.ends, r.AddScalar(kInt, 1)})});
  PT_CHECK_OK(CheckEqual(r, kQuery, kKey, 1, wrong));
  PT_CHECK_OK(CheckEqual(r, kKey, kValue, 1, wrong));
  PT_CHECK_OK(CheckEqual(r, kPastKey, kPastValue, 2, wrong));
  return r.Add("Where", {wrong, r.AddScalar(kInt, -0x1p63F), rows});
}

// [batch, heads, rows, size] of the past, the new tokens, and zeros behind those.
std::string Cache(Rewrite& r, int output, const std::string& fresh, int past, const std::string& rows, int32_t type) {
  const std::string front = DimsOf(r, fresh, 0, 2), size = DimsOf(r, fresh, 3, 4);
  const Attributes first_axis = {IntAttribute("axis", 0)}, axis = {IntAttribute("axis", 2)};
  const std::string zeros =
      r.Add("Expand", {r.AddZero(type), r.Add("Concat", {front, r.AddInts({1}), size}, first_axis)});
  std::vector<std::string> parts = {fresh, zeros};
  if (r.has(past)) parts.insert(parts.begin(), r.in(past));
  const std::string all = r.Add("Concat", parts, axis);
  if (r.dim(r.in(kQuery), 0) == 1)
    return r.Finish(output, "Gather", {all, r.Add("Reshape", {rows, r.AddInts({-1})})}, axis);
  const std::string dims = r.Add("Concat", {front, DimsOf(r, rows, 1, 2), size}, first_axis);
  const std::string indices = r.Add("Expand", {r.Add("Unsqueeze", {rows, r.AddInts({1, 3})}), dims});
  return r.Finish(output, "GatherElements", {all, indices}, axis);
}

// The first `total` along the axis.
std::string UpTo(Rewrite& r, const std::string& x, const std::string& total, int64_t axis) {
  const std::string end = r.Add("Reshape", {total, r.AddInts({1})});
  return r.Add("Slice", {x, r.AddInts({0}), end, r.AddInts({axis})});
}

// What is added to the scores: the bias of the node, and what hides later keys and those before the window; without
// `causal`, what hides the keys behind an entry's last.
std::string ScoreBias(Rewrite& r, const Tokens& t, int32_t type) {
  const std::string key = CountFromZero(r, t.total), query = r.Add("Unsqueeze", {t.positions, r.AddInts({1, 3})});
  std::string seen = r.Int("causal", 1) != 0 ? r.Add("LessOrEqual", {key, query})
                                             : r.Add("Less", {key, r.Add("Unsqueeze", {t.ends, r.AddInts({1, 3})})});
  if (const int64_t window = r.Int("local_window_size", -1); window > 0) {
    const std::string before = r.Add("Sub", {query, r.AddInts({window})});
    seen = r.Add("And", {seen, r.Add("Greater", {key, before})});
  }
  const std::string shown = r.has(kBias) ? UpTo(r, r.in(kBias), t.total, 3) : r.AddZero(type);
  return r.Add("Where", {seen, shown, r.AddScalar(type, -std::numeric_limits<float>::infinity())});
}

// What the queries of Attention are given beside them.
struct Seen {
  std::string keys, values, bias;
};

// One more key and value, of zeros, with the head's sink as its score (0 for smooth_softmax alone): it takes its part
// of the softmax and adds nothing to the result.
void AddSink(Rewrite& r, int64_t heads, int32_t type, Seen& seen) {
  if (!r.has(kSink) && r.Int("smooth_softmax", 0) <= 0) return;
  const Attributes first_axis = {IntAttribute("axis", 0)};
  for (std::string* x : {&seen.keys, &seen.values}) {
    const std::string dims = r.Add("Concat", {DimsOf(r, *x, 0, 2), r.AddInts({1}), DimsOf(r, *x, 3, 4)}, first_axis);
    *x = r.Add("Concat", {*x, r.Add("Expand", {r.AddZero(type), dims})}, {IntAttribute("axis", 2)});
  }
  std::string sink = r.AddZero(type);
  if (r.has(kSink)) {
    sink = r.Add("Reshape", {r.in(kSink), r.AddInts({1, heads, 1, 1})});
    seen.bias = r.Add("Expand", {seen.bias, r.AddInts({1, heads, 1, 1})});
  }
  const std::string dims = r.Add("Concat", {DimsOf(r, seen.bias, 0, 3), r.AddInts({1})}, first_axis);
  seen.bias = r.Add("Concat", {seen.bias, r.Add("Expand", {sink, dims})}, {IntAttribute("axis", 3)});
}

Status GroupQueryAttention(Rewrite& r) {
  PT_CHECK_OK(CheckNode(r));
  const int64_t heads = r.Int("num_heads", 0), groups = r.Int("kv_num_heads", 0);
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kQuery), "query"));
  PT_ASSIGN(std::vector<std::string> x, Projections(r));
  const Tokens tokens = CountTokens(r);
  x[kQuery] = NormaliseHeads(r, x[kQuery], kQueryNorm, "q_norm_epsilon", heads);
  x[kKey] = NormaliseHeads(r, x[kKey], kKeyNorm, "k_norm_epsilon", groups);
  if (r.Int("do_rotary", 0) != 0) {
    const std::string positions = RotaryPositions(r, tokens);
    x[kQuery] = Turn(r, x[kQuery], heads, positions);
    x[kKey] = Turn(r, x[kKey], groups, positions);
  }
  PT_ASSIGN(const std::string rows, CacheRows(r, tokens));
  const std::string keys = Cache(r, 1, SplitHeads(r, x[kKey], groups), kPastKey, rows, type),
                    values = Cache(r, 2, SplitHeads(r, x[kValue], groups), kPastValue, rows, type);
  Attributes attributes = r.Copies({"softcap"});
  if (const float scale = r.Float("scale", 0); scale != 0) attributes.push_back(FloatAttribute("scale", scale));
  Seen seen = {UpTo(r, keys, tokens.total, 2), UpTo(r, values, tokens.total, 2), ScoreBias(r, tokens, type)};
  AddSink(r, heads, type, seen);
  const std::string y =
      r.Add("Attention", {SplitHeads(r, x[kQuery], heads), seen.keys, seen.values, seen.bias}, attributes);
  const std::string joined = r.Add("Transpose", {y}, {IntsAttribute("perm", {0, 2, 1, 3})});
  r.Finish(0, "Reshape", {joined, r.AddInts({0, 0, -1})});
  return {};
}

void InferGroupQueryAttention(proto::InferenceContext& context) {
  const A *heads = context.getAttribute("num_heads"), *groups = context.getAttribute("kv_num_heads");
  InferenceDim hidden = DimOf(context, kQuery, 2), size, group_count;
  const int64_t packed = context.getNumInputs() > kKey && context.getInputType(kKey) != nullptr ? 0 : 2;
  if (heads != nullptr && groups != nullptr && heads->i() > 0 && groups->i() > 0 && groups->i() <= heads->i() &&
      heads->i() < (int64_t{1} << 31)) {
    group_count.set_dim_value(groups->i());
    if (hidden.has_dim_value()) {
      size.set_dim_value(hidden.dim_value() / (heads->i() + packed * groups->i()));
      if (packed != 0) hidden.set_dim_value(size.dim_value() * heads->i());
    } else if (packed != 0) {
      hidden.Clear();
    }
  }
  CopyElementType(context, 0, kQuery);
  SetShape(context, 0, {DimOf(context, kQuery, 0), DimOf(context, kQuery, 1), hidden});
  for (const size_t present : {size_t{1}, size_t{2}}) {
    CopyElementType(context, present, kQuery);
    SetShape(context, present, {DimOf(context, kQuery, 0), group_count, {}, size});
  }
}

}  // namespace

std::vector<Row> GroupedAttentionRows() {
  return {
      {"GroupQueryAttention",
       {"query", "key?", "value?", "past_key?", "past_value?", "seqlens_k", "total_sequence_length", "cos_cache?",
        "sin_cache?", "position_ids?", "attention_bias?", "head_sink?", "k_scale?", "v_scale?", "q_norm_weight?",
        "k_norm_weight?", "query_seqlens?"},
       {"output", "present_key", "present_value", "-output_qk"},
       {{"causal", A::INT},
        {"do_rotary", A::INT},
        {"k_norm_epsilon", A::FLOAT},
        {"k_quant_type", A::STRING},
        {"kv_cache_bit_width", A::INT},
        {"kv_num_heads", A::INT, true},
        {"local_window_size", A::INT},
        {"num_heads", A::INT, true},
        {"q_norm_epsilon", A::FLOAT},
        {"qk_norm_epsilon", A::FLOAT},
        {"qk_output", A::INT},
        {"rotary_interleaved", A::INT},
        {"scale", A::FLOAT},
        {"sliding_window_cache", A::INT},
        {"smooth_softmax", A::INT},
        {"softcap", A::FLOAT},
        {"v_quant_type", A::STRING}},
       InferGroupQueryAttention,
       GroupQueryAttention},
  };
}

}  // namespace pt::contrib
