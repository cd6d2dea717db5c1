// Normalisations of layers: after a sum, without a mean, and of sums of embeddings.
#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

constexpr float kSkipEpsilon = 1e-12F;  // of the operators that sum; the others follow ONNX

// As ONNX has it from opset 17 on.
Status LayerNormalization(Rewrite& r) {
  std::vector<std::string> inputs = {r.in(0), r.in(1)};
  if (r.has(2)) inputs.push_back(r.in(2));
  r.FinishAll("LayerNormalization", inputs, r.Copies({"axis", "epsilon", "stash_type"}));
  return {};
}

// What ONNX Runtime saves of rows for training, in float32: 1 / √(mean of squares + epsilon), over the axes from `axis`
// on, of the sum of those inputs.
Status FinishInverse(Rewrite& r, int output, std::initializer_list<int> terms, int64_t axis, float epsilon) {
  std::vector<int64_t> axes = {axis};
  if (axis != -1) {
    PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(0), "X"));
    if (axis < -rank || axis >= rank) {
      return Rewrite::Invalid("axis is " + std::to_string(axis) + " of a tensor of " + std::to_string(rank) + " dims");
    }
    for (int64_t next = axis + 1; next < (axis < 0 ? 0 : rank); ++next) axes.push_back(next);
  }
  std::string real;
  for (const int term : terms) {
    if (!r.has(term)) continue;
    const std::string next = r.Add("Cast", {r.in(term)}, {IntAttribute("to", proto::TensorProto::FLOAT)});
    real = real.empty() ? next : r.Add("Add", {real, next});
  }
  const std::string squares = r.Add("ReduceMean", {r.Add("Mul", {real, real}), r.AddInts(axes)});
  const std::string shifted = r.Add("Add", {squares, r.AddScalar(proto::TensorProto::FLOAT, epsilon)});
  r.Finish(output, "Reciprocal", {r.Add("Sqrt", {shifted})});
  return {};
}

Status SimplifiedLayerNormalization(Rewrite& r) {
  r.Finish(0, "RMSNormalization", {r.in(0), r.in(1)}, r.Copies({"axis", "epsilon", "stash_type"}));
  return r.wants(1) ? FinishInverse(r, 1, {0}, r.Int("axis", -1), r.Float("epsilon", 1e-5F)) : Status();
}

// input + skip + bias, which is an output of its own if it is asked for. `skip` may lack the batch, or have one of 1.
Result<std::string> Sum(Rewrite& r, int bias, int output) {
  for (int64_t axis : {-1, -2, -3}) {
    const auto x = r.dim(r.in(0), axis), skip = r.dim(r.in(1), axis);
    if (x && skip && *x != *skip && (*skip != 1 || axis != -3)) {
      return Rewrite::Invalid("dim " + std::to_string(axis) + " of skip is " + std::to_string(*skip) +
                              " where input has " + std::to_string(*x));
    }
  }
  std::vector<std::string> terms = {r.in(0), r.in(1)};
  if (r.has(bias)) terms = {r.Add("Add", terms), r.in(bias)};
  if (!r.wants(output)) return r.Add("Add", terms);
  return r.Finish(output, "Add", terms);
}

Status SkipLayerNormalization(Rewrite& r) {
  PT_ASSIGN(const std::string sum, Sum(r, 4, 3));
  std::vector<std::string> inputs = {sum, r.in(2)};
  if (r.has(3)) inputs.push_back(r.in(3));
  r.FinishFirst(3, "LayerNormalization", inputs,
                {IntAttribute("axis", -1), FloatAttribute("epsilon", r.Float("epsilon", kSkipEpsilon))});
  return {};
}

Status SkipSimplifiedLayerNormalization(Rewrite& r) {
  constexpr int kBias = 3;
  PT_ASSIGN(const std::string sum, Sum(r, kBias, 3));
  const float epsilon = r.Float("epsilon", kSkipEpsilon);
  r.Finish(0, "RMSNormalization", {sum, r.in(2)}, {IntAttribute("axis", -1), FloatAttribute("epsilon", epsilon)});
  // Rows have no mean: ONNX Runtime gives zeros.
  if (r.wants(1)) {
    const std::string rows = r.Add("Shape", {sum}, {IntAttribute("end", -1)});
    const std::string dims = r.Add("Concat", {rows, r.AddInts({1})}, {IntAttribute("axis", 0)});
    r.Finish(1, "Expand", {r.AddZero(proto::TensorProto::FLOAT), dims});
  }
  return r.wants(2) ? FinishInverse(r, 2, {0, 1, kBias}, -1, epsilon) : Status();
}

// Tokens that count in each entry of the batch, for Attention.
void FinishMaskIndex(Rewrite& r) {
  constexpr int kMask = 7, kMaskIndex = 1;
  const std::string batch = r.Add("Shape", {r.in(0)}, {IntAttribute("start", 0), IntAttribute("end", 1)});
  if (!r.has(kMask)) {
    r.Finish(kMaskIndex, "Expand", {r.AddZero(proto::TensorProto::INT32), batch});
    return;
  }
  const std::string one = r.AddScalar(proto::TensorProto::INT32, 1);
  const std::string counts =
      r.Add("Cast", {r.Add("Equal", {r.in(kMask), one})}, {IntAttribute("to", proto::TensorProto::INT32)});
  r.Finish(kMaskIndex, "ReduceSum", {counts, r.AddInts({1})}, {IntAttribute("keepdims", 0)});
}

// Rows of the table by ids from 0 on. Gather counts negative ones from the end and refuses what lies outside: the
// lowest number of the type stands for them.
Result<std::string> RowsById(Rewrite& r, const std::string& table, const std::string& ids, const std::string& what) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(ids, what));
  if (type != proto::TensorProto::INT32 && type != proto::TensorProto::INT64)
    return Rewrite::Invalid(what + " are not int32 or int64");
  const float lowest = type == proto::TensorProto::INT32 ? -0x1p31F : -0x1p63F;
  const std::string negative = r.Add("Less", {ids, r.AddZero(type)});
  return r.Add("Gather", {table, r.Add("Where", {negative, r.AddScalar(type, lowest), ids})});
}

Status EmbedLayerNormalization(Rewrite& r) {
  enum Input { kIds, kSegmentIds, kWords, kPositions, kSegments, kGamma, kBeta, kMask, kPositionIds };
  if (r.has(kSegmentIds) != r.has(kSegments))
    return Rewrite::Invalid("segment_ids and segment_embedding come together");
  if (const int64_t type = r.Int("mask_index_type", 0); type != 0 && type != 1)
    return Rewrite::Unsupported("mask_index_type " + std::to_string(type) + " is not supported: 0 and 1 are");
  PT_ASSIGN(const std::string words, RowsById(r, r.in(kWords), r.in(kIds), "input_ids"));
  std::string positions;
  if (r.has(kPositionIds)) {
    PT_ASSIGN(positions, RowsById(r, r.in(kPositions), r.in(kPositionIds), "position_ids"));
  } else {
    // One row a token, counted from 0. Gather refuses more tokens than rows, where a slice would be too short.
    const std::string length = r.Add("Shape", {r.in(kIds)}, {IntAttribute("start", 1), IntAttribute("end", 2)});
    const std::string end = r.Add("Squeeze", {length});
    const std::string counted =
        r.Add("Range", {r.AddZero(proto::TensorProto::INT64), end, r.AddScalar(proto::TensorProto::INT64, 1)});
    positions = r.Add("Gather", {r.in(kPositions), counted});
  }
  std::vector<std::string> terms = {words, positions};
  if (r.has(kSegments)) {
    PT_ASSIGN(const std::string segments, RowsById(r, r.in(kSegments), r.in(kSegmentIds), "segment_ids"));
    terms = {r.Add("Add", terms), segments};
  }
  const std::string sum = r.wants(2) ? r.Finish(2, "Add", terms) : r.Add("Add", terms);
  r.Finish(0, "LayerNormalization", {sum, r.in(kGamma), r.in(kBeta)},
           {IntAttribute("axis", -1), FloatAttribute("epsilon", r.Float("epsilon", kSkipEpsilon))});
  if (r.wants(1)) FinishMaskIndex(r);
  return {};
}

void InferSkip(proto::InferenceContext& context) {
  LikeFirst(context);
  CopyElementType(context, 3, 0);
  CopyShape(context, 3, 0);
  for (size_t saved : {1, 2}) SetElementType(context, saved, proto::TensorProto::FLOAT);
}

void InferSimplified(proto::InferenceContext& context) {
  LikeFirst(context);
  SetElementType(context, 1, proto::TensorProto::FLOAT);
}

void InferEmbed(proto::InferenceContext& context) {
  const InferenceDim batch = DimOf(context, 0, 0), length = DimOf(context, 0, 1), hidden = DimOf(context, 2, 1);
  for (size_t output : {size_t{0}, size_t{2}}) {
    CopyElementType(context, output, 2);
    SetShape(context, output, {batch, length, hidden});
  }
  SetElementType(context, 1, proto::TensorProto::INT32);
  SetShape(context, 1, {batch});
}

}  // namespace

std::vector<Row> NormalizationRows() {
  const std::vector<AttributeRow> layer = {{"axis", A::INT}, {"epsilon", A::FLOAT}, {"stash_type", A::INT}};
  return {
      {"EmbedLayerNormalization",
       {"input_ids", "segment_ids?", "word_embedding", "position_embedding", "segment_embedding?", "gamma", "beta",
        "mask?", "position_ids?"},
       {"output", "mask_index", "embedding_sum"},
       {{"epsilon", A::FLOAT}, {"mask_index_type", A::INT}},
       InferEmbed,
       EmbedLayerNormalization},
      {"LayerNormalization", {"X", "Scale", "B?"}, {"Y", "Mean", "InvStdDev"}, layer, LikeFirst, LayerNormalization},
      {"SimplifiedLayerNormalization",
       {"X", "scale"},
       {"Y", "inv_std_var"},
       layer,
       InferSimplified,
       SimplifiedLayerNormalization},
      {"SkipLayerNormalization",
       {"input", "skip", "gamma", "beta?", "bias?"},
       {"output", "mean", "inv_std_var", "input_skip_bias_sum"},
       {{"epsilon", A::FLOAT}},
       InferSkip,
       SkipLayerNormalization},
      {"SkipSimplifiedLayerNormalization",
       {"input", "skip", "gamma", "bias?"},
       {"output", "mean", "inv_std_var", "input_skip_bias_sum"},
       {{"epsilon", A::FLOAT}},
       InferSkip,
       SkipSimplifiedLayerNormalization},
  };
}

}  // namespace pt::contrib
