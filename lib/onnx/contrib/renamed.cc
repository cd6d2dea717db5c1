// Operators that ONNX has as well, perhaps in later opsets, and that ONNX Runtime had before or has in other words.
#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;
constexpr int32_t kInt64 = proto::TensorProto::INT64;

// The input as int64 with those dims.
Result<std::string> Integers(Rewrite& r, int input, const std::string& what, const std::vector<int64_t>& dims) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(input), what));
  std::string value = r.in(input);
  if (type != kInt64) value = r.Add("Cast", {value}, {IntAttribute("to", kInt64)});
  return r.Add("Reshape", {value, r.AddInts(dims)});
}

Status Trilu(Rewrite& r) {
  std::vector<std::string> inputs = {r.in(0)};
  if (r.has(1)) {
    PT_ASSIGN(const std::string k, Integers(r, 1, "k", {}));
    inputs.push_back(k);
  }
  r.Finish(0, "Trilu", inputs, r.Copies({"upper"}));
  return {};
}

Status ExpandDims(Rewrite& r) {
  PT_ASSIGN(const std::string axis, Integers(r, 1, "axis", {1}));
  r.Finish(0, "Unsqueeze", {r.in(0), axis});
  return {};
}

Status GatherNd(Rewrite& r) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(1), "indices"));
  std::string indices = r.in(1);
  if (type != kInt64) indices = r.Add("Cast", {indices}, {IntAttribute("to", kInt64)});
  r.Finish(0, "GatherND", {r.in(0), indices});
  return {};
}

// Numbers may have a dim of 1 there.
Status Range(Rewrite& r) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "start"));
  const auto number = [&](int input) { return r.Add("Reshape", {r.in(input), r.AddInts({})}); };
  r.Finish(0, "Range", {number(0), number(1), r.has(2) ? number(2) : r.AddScalar(type, 1)});
  return {};
}

Status Pad(Rewrite& r) {
  PT_ASSIGN(const std::string pads, Integers(r, 1, "pads", {-1}));
  std::vector<std::string> inputs = {r.in(0), pads};
  if (r.has(2)) inputs.push_back(r.Add("Reshape", {r.in(2), r.AddInts({})}));
  r.Finish(0, "Pad", inputs, r.Copies({"mode"}));
  return {};
}

// In the order in which they first occur.
Status Unique(Rewrite& r) {
  const std::vector<std::string> found = r.AddMany("Unique", {r.in(0)}, 4, {IntAttribute("sorted", 0)});
  r.Finish(0, "Identity", {found[0]});
  r.Finish(1, "Identity", {found[2]});
  r.Finish(2, "Identity", {found[3]});
  return {};
}

Status GridSample(Rewrite& r) {
  std::string mode = r.Text("mode", "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  if (mode == "cubic" && r.Text("padding_mode", "zeros") == "border")
    return Rewrite::Unsupported("mode bicubic with padding_mode border is not supported: ONNX Runtime and ONNX differ");
  Attributes attributes = r.Copies({"align_corners", "padding_mode"});
  attributes.push_back(TextAttribute("mode", mode));
  r.Finish(0, "GridSample", {r.in(0), r.in(1)}, attributes);
  return {};
}

// Distances of all rows of A from all rows of B, by their differences: sums of squares and products would cancel.
Status CDist(Rewrite& r) {
  const std::string metric = r.Text("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return Rewrite::Invalid("unknown metric \"" + metric + "\"; expected sqeuclidean or euclidean");
  for (const int input : {0, 1}) {
    const auto rank = r.rank(r.in(input));
    if (rank && *rank != 2) return Rewrite::Invalid("its inputs have two dims, not " + std::to_string(*rank));
  }
  const auto a = r.dim(r.in(0), 1), b = r.dim(r.in(1), 1);
  if (a && b && *a != *b)
    return Rewrite::Invalid("its inputs have " + std::to_string(*a) + " and " + std::to_string(*b) + " columns");
  const std::string apart =
      r.Add("Sub", {r.Add("Unsqueeze", {r.in(0), r.AddInts({1})}), r.Add("Unsqueeze", {r.in(1), r.AddInts({0})})});
  r.Finish(0, metric == "euclidean" ? "ReduceL2" : "ReduceSumSquare", {apart, r.AddInts({2})},
           {IntAttribute("keepdims", 0)});
  return {};
}

// An operator of images on x, whose channels lie last, and so they do in its result.
Status FinishChannelsLast(Rewrite& r, const std::string& op, std::vector<std::string> inputs,
                          const Attributes& attributes) {
  PT_ASSIGN(const int64_t rank, r.NeedRank(inputs[0], "x"));
  if (rank < 3) return Rewrite::Invalid("x has " + std::to_string(rank) + " dims; three or more are expected");
  std::vector<int64_t> first = {0, rank - 1}, last = {0};
  for (int64_t d = 1; d + 1 < rank; ++d) {
    first.push_back(d);
    last.push_back(d + 1);
  }
  last.push_back(1);
  inputs[0] = r.Add("Transpose", {inputs[0]}, {IntsAttribute("perm", first)});
  r.Finish(0, "Transpose", {r.Add(op, inputs, attributes)}, {IntsAttribute("perm", last)});
  return {};
}

Status NhwcMaxPool(Rewrite& r) {
  return FinishChannelsLast(r, "MaxPool", {r.in(0)},
                            r.Copies({"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"}));
}

Status QLinearConv(Rewrite& r) {
  std::vector<std::string> inputs;
  for (int i = 0; i < r.inputs() && r.has(i); ++i) inputs.push_back(r.in(i));
  const Attributes attributes = r.Copies({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  if (r.Int("channels_last", 0) != 0) return FinishChannelsLast(r, "QLinearConv", inputs, attributes);
  r.Finish(0, "QLinearConv", inputs, attributes);
  return {};
}

// No operators of ONNX say it: a kernel does.
Status Inverse(Rewrite& r) {
  r.Keep();
  return {};
}

void InferLikeElements(proto::InferenceContext& context) { CopyElementType(context, 0, 0); }

void InferExpanded(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  const Shape* x = ShapeOf(context, 0);
  if (x == nullptr) return;
  CopyShape(context, 0, 0);
  Shape& y = *context.getOutputType(0)->mutable_tensor_type()->mutable_shape();
  y.add_dim();
  for (auto& dim : *y.mutable_dim()) dim.Clear();  // only their number is certain
}

void InferRank(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  if (ShapeOf(context, 0) == nullptr) return;
  CopyShape(context, 0, 0);
  for (auto& dim : *context.getOutputType(0)->mutable_tensor_type()->mutable_shape()->mutable_dim()) dim.Clear();
}

void InferQuantized(proto::InferenceContext& context) {
  InferRank(context);
  CopyElementType(context, 0, 7);  // y_zero_point
}

void InferVector(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  SetShape(context, 0, {{}});
}

void InferUnique(proto::InferenceContext& context) {
  InferVector(context);
  for (const size_t output : {size_t{1}, size_t{2}}) {
    SetElementType(context, output, kInt64);
    SetShape(context, output, {{}});
  }
}

void InferDistances(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  SetShape(context, 0, {DimOf(context, 0, 0), DimOf(context, 1, 0)});
}

}  // namespace

std::vector<Row> RenamedRows() {
  return {
      {"CDist", {"A", "B"}, {"C"}, {{"metric", A::STRING}}, InferDistances, CDist},
      {"ExpandDims", {"X", "axis"}, {"Y"}, {}, InferExpanded, ExpandDims},
      {"GatherND", {"data", "indices"}, {"output"}, {}, InferLikeElements, GatherNd},
      {"GridSample",
       {"X", "Grid"},
       {"Y"},
       {{"align_corners", A::INT}, {"mode", A::STRING}, {"padding_mode", A::STRING}},
       InferRank,
       GridSample},
      {"NhwcMaxPool",
       {"x"},
       {"y"},
       {{"auto_pad", A::STRING},
        {"ceil_mode", A::INT},
        {"dilations", A::INTS},
        {"kernel_shape", A::INTS},
        {"pads", A::INTS},
        {"strides", A::INTS}},
       InferRank,
       NhwcMaxPool},
      {"Inverse", {"X"}, {"Y"}, {}, LikeFirst, Inverse},
      {"Pad", {"data", "pads", "value?"}, {"output"}, {{"mode", A::STRING}}, InferRank, Pad},
      {"QLinearConv",
       {"x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "B?"},
       {"y"},
       {{"auto_pad", A::STRING},
        {"channels_last", A::INT},
        {"dilations", A::INTS},
        {"group", A::INT},
        {"kernel_shape", A::INTS},
        {"pads", A::INTS},
        {"strides", A::INTS}},
       InferQuantized,
       QLinearConv},
      {"Range", {"start", "limit", "delta?"}, {"Y"}, {}, InferVector, Range},
      {"Trilu", {"X", "k?"}, {"Y"}, {{"upper", A::INT}}, LikeFirst, Trilu},
      {"Unique", {"x"}, {"y", "idx", "counts"}, {}, InferUnique, Unique},
  };
}

}  // namespace pt::contrib
