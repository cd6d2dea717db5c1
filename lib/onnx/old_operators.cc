#include "lib/onnx/old_operators.h"

#include <algorithm>
#include <vector>

namespace pt {
namespace {

using contrib::Attributes;
using contrib::FloatAttribute;
using contrib::IntAttribute;
using contrib::Rewrite;
using contrib::TextAttribute;

// ---- Upsample, and Resize of opset 10: pixels are points, and fractions are cut off ----

Attributes Sampling(const std::string& mode, const std::string& nearest) {
  Attributes attributes = {TextAttribute("mode", mode), TextAttribute("coordinate_transformation_mode", "asymmetric")};
  if (mode == "nearest") attributes.push_back(TextAttribute("nearest_mode", nearest));
  return attributes;
}

Status ExpandUpsample(Rewrite& node) {
  const std::string mode = node.Text("mode", "nearest") == "nearest" ? "nearest" : "linear";
  std::string scales = node.in(1);
  if (scales.empty()) {
    std::vector<float> numbers = node.Floats("scales");
    if (numbers.empty()) numbers = {1, 1, node.Float("height_scale", 1), node.Float("width_scale", 1)};
    scales = node.AddTensor(Tensor::Float32({static_cast<int64_t>(numbers.size())}, numbers));
  }
  node.Finish(0, "Resize", {node.in(0), "", scales}, Sampling(mode, "floor"));
  return {};
}

// The nearest is the one before where an axis grows, and the one behind where it shrinks, as ONNX's cases of that opset
// and ONNX Runtime have it; later opsets have one rule for all axes.
Status ExpandResize(Rewrite& node) {
  const std::string mode = node.Text("mode", "nearest");
  if (mode != "nearest") {
    node.Finish(0, "Resize", {node.in(0), "", node.in(1)}, Sampling("linear", ""));
    return {};
  }
  PT_ASSIGN(const Tensor* const constant, node.Constant(node.in(1)));
  if (constant == nullptr || constant->type() != DataType::kFloat32)
    return Rewrite::Unsupported("its scales are not constant, and what is the nearest depends on them");
  std::vector<float> grows, shrinks;
  for (const float scale : constant->values<float>()) {
    grows.push_back(std::max(scale, 1.0f));
    shrinks.push_back(std::min(scale, 1.0f));
  }
  const auto count = static_cast<int64_t>(grows.size());
  const auto is_one = [](float scale) { return scale == 1; };
  const bool any_grows = !std::all_of(grows.begin(), grows.end(), is_one);
  if (std::all_of(shrinks.begin(), shrinks.end(), is_one)) {
    node.Finish(0, "Resize", {node.in(0), "", node.in(1)}, Sampling(mode, "floor"));
    return {};
  }
  std::string from = node.in(0);
  if (any_grows)
    from = node.Add("Resize", {from, "", node.AddTensor(Tensor::Float32({count}, grows))}, Sampling(mode, "floor"));
  node.Finish(0, "Resize", {from, "", node.AddTensor(Tensor::Float32({count}, shrinks))}, Sampling(mode, "ceil"));
  return {};
}

// ---- Hardmax before opset 13: one maximum of all dims from the axis on ----

Status ExpandHardmax(Rewrite& node) {
  const int64_t axis = node.Int("axis", 1);
  const auto rank = node.rank(node.in(0));
  if (axis == -1 || (rank && axis == *rank - 1)) {
    node.Finish(0, "Hardmax", {node.in(0)}, {IntAttribute("axis", -1)});
    return {};
  }
  const std::string flat = node.Add("Flatten", {node.in(0)}, {IntAttribute("axis", axis)});
  const std::string chosen = node.Add("Hardmax", {flat}, {IntAttribute("axis", -1)});
  node.Finish(0, "Reshape", {chosen, node.Add("Shape", {node.in(0)})});
  return {};
}

// ---- broadcasting before opset 7 ----

// The value with dims of 1 behind its own, so that its first is axis `axis` of a value of that rank.
std::string AlignedTo(Rewrite& node, const std::string& value, int64_t own_rank, int64_t rank, int64_t axis) {
  std::vector<int64_t> added;
  for (int64_t i = own_rank; i < rank - axis; ++i) added.push_back(i);
  return added.empty() ? value : node.Add("Unsqueeze", {value, node.AddInts(added)});
}

Status ExpandBroadcast(Rewrite& node, const std::string& op) {
  std::string b = node.in(1);
  const auto given = node.Int("axis", INT64_MAX);
  if (node.Int("broadcast", 0) != 0 && given != INT64_MAX) {
    PT_ASSIGN(const int64_t rank, node.NeedRank(node.in(0), "its first input"));
    PT_ASSIGN(const int64_t own, node.NeedRank(b, "its second input"));
    const int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis + own > rank)
      return Rewrite::Invalid("its axis " + std::to_string(given) + " does not fit its inputs");
    b = AlignedTo(node, b, own, rank, axis);
  }
  node.Finish(0, op, {node.in(0), b});
  return {};
}

template <const char* kOp>
Status Broadcast(Rewrite& node) {
  return ExpandBroadcast(node, kOp);
}

// The slope is of channels, or one for all.
Status ExpandPRelu(Rewrite& node) {
  PT_ASSIGN(const int64_t rank, node.NeedRank(node.in(0), "its first input"));
  PT_ASSIGN(const int64_t own, node.NeedRank(node.in(1), "its slope"));
  const auto size = own == 1 ? node.dim(node.in(1), 0) : std::optional<int64_t>(0);
  if (!size) return Rewrite::Unsupported("it is not known how many slopes it has");
  const bool of_channels = own == 1 && *size != 1 && rank > 1;
  node.Finish(0, "PRelu", {node.in(0), of_channels ? AlignedTo(node, node.in(1), 1, rank, 1) : node.in(1)});
  return {};
}

// ---- others ----

// Its defaults had fewer digits.
Status ExpandSelu(Rewrite& node) {
  node.Finish(
      0, "Selu", {node.in(0)},
      {FloatAttribute("alpha", node.Float("alpha", 1.6732f)), FloatAttribute("gamma", node.Float("gamma", 1.0507f))});
  return {};
}

// The value was an attribute, whatever the type of the data, of which it is an input now.
Status ExpandPad(Rewrite& node) {
  std::vector<std::string> inputs = {node.in(0), node.AddInts(node.Ints("pads"))};
  if (node.Text("mode", "constant") == "constant") {
    PT_ASSIGN(const int32_t type, node.NeedElementType(node.in(0), "its first input"));
    inputs.push_back(node.AddScalar(type, node.Float("value", 0)));
  }
  node.Finish(0, "Pad", inputs, node.Copies({"mode"}));
  return {};
}

struct OldRow {
  std::string_view op;
  int64_t first, last;  // opsets
  OldOperator expand;
};

constexpr char kAdd[] = "Add", kAnd[] = "And", kDiv[] = "Div", kEqual[] = "Equal", kGreater[] = "Greater",
               kLess[] = "Less", kMul[] = "Mul", kOr[] = "Or", kPow[] = "Pow", kSub[] = "Sub", kXor[] = "Xor";

constexpr OldRow kRows[] = {
    {kAdd, 1, 6, Broadcast<kAdd>},
    {kAnd, 1, 6, Broadcast<kAnd>},
    {kDiv, 1, 6, Broadcast<kDiv>},
    {kEqual, 1, 6, Broadcast<kEqual>},
    {kGreater, 1, 6, Broadcast<kGreater>},
    {"Hardmax", 1, 12, ExpandHardmax},
    {kLess, 1, 6, Broadcast<kLess>},
    {kMul, 1, 6, Broadcast<kMul>},
    {kOr, 1, 6, Broadcast<kOr>},
    {"PRelu", 1, 6, ExpandPRelu},
    {"Pad", 2, 10, ExpandPad},
    {kPow, 1, 6, Broadcast<kPow>},
    {"Resize", 10, 10, ExpandResize},
    {"Selu", 1, 5, ExpandSelu},
    {kSub, 1, 6, Broadcast<kSub>},
    {"Upsample", 1, 9, ExpandUpsample},
    {kXor, 1, 6, Broadcast<kXor>},
};

}  // namespace

OldOperator FindOldOperator(const std::string& op, int64_t opset) {
  for (const OldRow& row : kRows) {
    if (row.op == op && opset >= row.first && opset <= row.last) return row.expand;
  }
  return nullptr;
}

}  // namespace pt
