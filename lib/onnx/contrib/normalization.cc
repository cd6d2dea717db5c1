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

Status SimplifiedLayerNormalization(Rewrite& r) {
  r.Finish(0, "RMSNormalization", {r.in(0), r.in(1)}, r.Copies({"axis", "epsilon", "stash_type"}));
  return {};
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
  r.Finish(0, "LayerNormalization", inputs,
           {IntAttribute("axis", -1), FloatAttribute("epsilon", r.Float("epsilon", kSkipEpsilon))});
  return {};
}

Status SkipSimplifiedLayerNormalization(Rewrite& r) {
  PT_ASSIGN(const std::string sum, Sum(r, 3, 3));
  r.Finish(0, "RMSNormalization", {sum, r.in(2)},
           {IntAttribute("axis", -1), FloatAttribute("epsilon", r.Float("epsilon", kSkipEpsilon))});
  return {};
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
       {"Y", "-inv_std_var"},
       layer,
       LikeFirst,
       SimplifiedLayerNormalization},
      {"SkipLayerNormalization",
       {"input", "skip", "gamma", "beta?", "bias?"},
       {"output", "-mean", "-inv_std_var", "input_skip_bias_sum"},
       {{"epsilon", A::FLOAT}},
       InferSkip,
       SkipLayerNormalization},
      {"SkipSimplifiedLayerNormalization",
       {"input", "skip", "gamma", "bias?"},
       {"output", "-mean", "-inv_std_var", "input_skip_bias_sum"},
       {{"epsilon", A::FLOAT}},
       InferSkip,
       SkipSimplifiedLayerNormalization},
  };
}

}  // namespace pt::contrib
