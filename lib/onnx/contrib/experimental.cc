// Operators that ONNX had on trial before opset 10, and that converters of that time wrote into the default domain.
// ONNX Runtime has kept them.
#include <optional>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

// alpha · x + beta
Status Affine(Rewrite& r) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "X"));
  const std::string scaled = r.Add("Mul", {r.in(0), r.AddScalar(type, r.Float("alpha", 1))});
  r.Finish(0, "Add", {scaled, r.AddScalar(type, r.Float("beta", 0))});
  return {};
}

Status Scale(Rewrite& r) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "input"));
  r.Finish(0, "Mul", {r.in(0), r.AddScalar(type, r.Float("scale", 1))});
  return {};
}

// alpha · f(beta · x)
Status OfScaled(Rewrite& r, const char* f) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "input"));
  const std::string inner = r.Add(f, {r.Add("Mul", {r.in(0), r.AddScalar(type, r.Float("beta", 1))})});
  r.Finish(0, "Mul", {inner, r.AddScalar(type, r.Float("alpha", 1))});
  return {};
}
Status ScaledTanh(Rewrite& r) { return OfScaled(r, "Tanh"); }
Status ParametricSoftplus(Rewrite& r) { return OfScaled(r, "Softplus"); }

Status NeedImage(const Rewrite& r) {
  PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(0), "input"));
  if (rank == 4) return {};
  return Rewrite::Invalid("its input has " + std::to_string(rank) + " dims; it needs four");
}

// scale · x + bias, with one of the latter a channel.
Status ImageScaler(Rewrite& r) {
  PT_CHECK_OK(NeedImage(r));
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "input"));
  const std::vector<float> bias = r.Floats("bias");
  const auto count = static_cast<int64_t>(bias.size());
  const auto channels = r.dim(r.in(0), 1);
  if (!channels) return Rewrite::Unsupported("the channels of its input are not known when the model loads");
  if (*channels != count) {
    return Rewrite::Invalid("its bias has " + std::to_string(count) + " elements where its input has " +
                            std::to_string(*channels) + " channels");
  }
  const std::string by_channel =
      r.Add("Cast", {r.AddTensor(Tensor::Float32({count, 1, 1}, bias))}, {IntAttribute("to", type)});
  const std::string scaled = r.Add("Mul", {r.in(0), r.AddScalar(type, r.Float("scale", 1))});
  r.Finish(0, "Add", {scaled, by_channel});
  return {};
}

// Where the rest of `size` rows or columns ends: `least` before it are cut off, and what a scale says remains of the
// others, or all but `most` at the end. Nothing when that is not there.
std::optional<int64_t> EndOf(int64_t size, int64_t least, int64_t most, std::optional<int64_t> remain) {
  if (least < 0 || most < 0 || least >= size) return std::nullopt;
  if (!remain) return most < size - least ? std::optional(size - most) : std::nullopt;
  return *remain >= 1 && *remain <= size - least ? std::optional(least + *remain) : std::nullopt;
}

// border: what is cut off at the left, top, right and bottom.
Status Crop(Rewrite& r) {
  PT_CHECK_OK(NeedImage(r));
  const std::vector<int64_t> border = r.Ints("border"), scale = r.Ints("scale");
  if (border.size() != 4) return Rewrite::Invalid("its border needs four elements");
  if (!scale.empty() && scale.size() != 2) return Rewrite::Invalid("its scale needs two elements, rows and columns");
  const auto rows = r.dim(r.in(0), 2), columns = r.dim(r.in(0), 3);
  if (!rows || !columns) return Rewrite::Unsupported("the size of its input is not known when the model loads");
  const auto remain = [&](size_t axis) { return scale.empty() ? std::nullopt : std::optional(scale[axis]); };
  const auto bottom = EndOf(*rows, border[1], border[3], remain(0));
  const auto right = EndOf(*columns, border[0], border[2], remain(1));
  if (!bottom || !right) return Rewrite::Invalid("it cuts off what its input does not have");
  r.Finish(0, "Slice", {r.in(0), r.AddInts({border[1], border[0]}), r.AddInts({*bottom, *right}), r.AddInts({2, 3})});
  return {};
}

Status DynamicSlice(Rewrite& r) {
  std::vector<std::string> inputs = {r.in(0), r.in(1), r.in(2)};
  if (r.has(3)) inputs.push_back(r.in(3));
  r.Finish(0, "Slice", inputs);
  return {};
}

void InferCropped(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  SetShape(context, 0, {DimOf(context, 0, 0), DimOf(context, 0, 1), {}, {}});
}

void InferSlice(proto::InferenceContext& context) { CopyElementType(context, 0, 0); }

}  // namespace

std::vector<Row> ExperimentalRows() {
  return {
      {"Affine", {"X"}, {"Y"}, {{"alpha", A::FLOAT}, {"beta", A::FLOAT}}, LikeFirst, Affine},
      {"Crop", {"input"}, {"output"}, {{"border", A::INTS, true}, {"scale", A::INTS}}, InferCropped, Crop},
      {"DynamicSlice", {"data", "starts", "ends", "axes?"}, {"output"}, {}, InferSlice, DynamicSlice},
      {"ImageScaler", {"input"}, {"output"}, {{"bias", A::FLOATS, true}, {"scale", A::FLOAT}}, LikeFirst, ImageScaler},
      {"ParametricSoftplus",
       {"X"},
       {"Y"},
       {{"alpha", A::FLOAT, true}, {"beta", A::FLOAT, true}},
       LikeFirst,
       ParametricSoftplus},
      {"Scale", {"input"}, {"output"}, {{"scale", A::FLOAT}}, LikeFirst, Scale},
      {"ScaledTanh",
       {"input"},
       {"output"},
       {{"alpha", A::FLOAT, true}, {"beta", A::FLOAT, true}},
       LikeFirst,
       ScaledTanh},
  };
}

}  // namespace pt::contrib
