// RotaryEmbedding, as ONNX's of the same name, which wants a position for each token.
#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

enum RotaryInput { kTokens, kPositions, kCosines, kSines };

// Of tokens [batch, length, heads · size]: heads as the node says, or as many as are as large as the table turns.
Result<int64_t> HeadsOf(const Rewrite& r) {
  const int64_t given = r.Int("num_heads", 0);
  if (given < 0) return Rewrite::Invalid("num_heads is " + std::to_string(given));
  if (given > 0) return given;
  if (r.Int("rotary_embedding_dim", 0) > 0)
    return Rewrite::Invalid("num_heads is needed where rotary_embedding_dim is given");
  const auto width = r.dim(r.in(kTokens), 2), half = r.dim(r.in(kCosines), 1);
  if (!width || !half) {
    return Rewrite::Unsupported(
        "num_heads is not given, and the dims of input and cos_cache that would tell it are not known when the model "
        "loads");
  }
  if (*half < 1 || *width % (2 * *half) != 0) {
    return Rewrite::Invalid("the " + std::to_string(*width) + " columns of input are not heads of twice the " +
                            std::to_string(*half) + " columns of cos_cache");
  }
  return *width / (2 * *half);
}

// One position for all is where the first token stands.
std::string PositionsFrom(Rewrite& r, int64_t length_axis) {
  const auto dim = [&](int64_t axis) {
    return r.Add("Shape", {r.in(kTokens)}, {IntAttribute("start", axis), IntAttribute("end", axis + 1)});
  };
  const std::string first = r.Add("Reshape", {r.in(kPositions), r.AddInts({})}), length = dim(length_axis);
  const std::string last = r.Add("Add", {first, r.Add("Reshape", {length, r.AddInts({})})});
  const std::string row = r.Add("Range", {first, last, r.AddScalar(proto::TensorProto::INT64, 1)});
  return r.Add("Expand", {row, r.Add("Concat", {dim(0), length}, {IntAttribute("axis", 0)})});
}

Status RotaryEmbedding(Rewrite& r) {
  if (r.Int("is_packed_batching", 0) != 0) return Rewrite::Unsupported("is_packed_batching is not supported");
  if (r.Float("scale", 1) != 1) return Rewrite::Unsupported("a scale other than 1 is not supported");
  PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(kTokens), "input"));
  if (rank != 3 && rank != 4)
    return Rewrite::Invalid("input has " + std::to_string(rank) + " dims; it needs three or four");
  PT_ASSIGN(const int64_t position_rank, r.NeedRank(r.in(kPositions), "position_ids"));
  if (position_rank != 1 && position_rank != 2)
    return Rewrite::Invalid("position_ids has " + std::to_string(position_rank) + " dims; it needs one or two");
  Attributes attributes = r.Copies({"interleaved", "rotary_embedding_dim"});
  if (rank == 3) {
    PT_ASSIGN(const int64_t heads, HeadsOf(r));
    attributes.push_back(IntAttribute("num_heads", heads));
  }
  const std::string positions = position_rank == 2 ? r.in(kPositions) : PositionsFrom(r, rank == 3 ? 1 : 2);
  r.Finish(0, "RotaryEmbedding", {r.in(kTokens), r.in(kCosines), r.in(kSines), positions}, attributes);
  return {};
}

}  // namespace

std::vector<Row> RotaryEmbeddingRows() {
  return {
      {"RotaryEmbedding",
       {"input", "position_ids", "cos_cache", "sin_cache"},
       {"output"},
       {{"interleaved", A::INT},
        {"is_packed_batching", A::INT},
        {"num_heads", A::INT},
        {"rotary_embedding_dim", A::INT},
        {"scale", A::FLOAT}},
       LikeFirst,
       RotaryEmbedding},
  };
}

}  // namespace pt::contrib
