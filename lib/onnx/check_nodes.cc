#include "lib/onnx/check_nodes.h"

#include <onnx/checker.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "lib/onnx/einsum.h"
#include "lib/onnx/opset_domain.h"

namespace pt {
namespace {

using Values = std::span<const std::string_view>;

// Attributes whose text chooses among a few, over all opsets. The operators' definitions in libonnx list the choices in
// prose only.
struct ChoiceRow {
  std::string_view op, attribute;
  Values values;
};

// An empty auto_pad is what some exporters write for NOTSET.
constexpr std::string_view kAutoPad[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", ""};
constexpr std::string_view kBitShift[] = {"LEFT", "RIGHT"};
constexpr std::string_view kCastRound[] = {"up", "down", "nearest"};
constexpr std::string_view kDepth[] = {"DCR", "CRD"};
constexpr std::string_view kDirection[] = {"forward", "reverse", "bidirectional"};
constexpr std::string_view kGelu[] = {"none", "tanh"};
constexpr std::string_view kGrid[] = {"bilinear", "nearest", "bicubic", "linear", "cubic"};
constexpr std::string_view kGridPadding[] = {"zeros", "border", "reflection"};
constexpr std::string_view kLossReduction[] = {"none", "sum", "mean"};
constexpr std::string_view kPad[] = {"constant", "reflect", "edge", "wrap"};
constexpr std::string_view kResize[] = {"nearest", "linear", "cubic"};
constexpr std::string_view kResizeAspect[] = {"stretch", "not_larger", "not_smaller"};
constexpr std::string_view kResizeCoordinates[] = {"half_pixel",        "half_pixel_symmetric", "pytorch_half_pixel",
                                                   "align_corners",     "asymmetric",           "tf_half_pixel_for_nn",
                                                   "tf_crop_and_resize"};
constexpr std::string_view kResizeNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
constexpr std::string_view kRoiAlign[] = {"avg", "max"};
constexpr std::string_view kRoiAlignCoordinates[] = {"half_pixel", "output_half_pixel"};
constexpr std::string_view kScatter[] = {"none", "add", "mul", "max", "min"};
constexpr std::string_view kTensorScatter[] = {"linear", "circular"};
constexpr std::string_view kUpsample[] = {"nearest", "linear", "bilinear"};

constexpr ChoiceRow kChoices[] = {
    {"AveragePool", "auto_pad", kAutoPad},
    {"BitShift", "direction", kBitShift},
    {"Cast", "round_mode", kCastRound},
    {"CastLike", "round_mode", kCastRound},
    {"Conv", "auto_pad", kAutoPad},
    {"ConvInteger", "auto_pad", kAutoPad},
    {"ConvTranspose", "auto_pad", kAutoPad},
    {"DepthToSpace", "mode", kDepth},
    {"GRU", "direction", kDirection},
    {"Gelu", "approximate", kGelu},
    {"GridSample", "mode", kGrid},
    {"GridSample", "padding_mode", kGridPadding},
    {"LSTM", "direction", kDirection},
    {"LpPool", "auto_pad", kAutoPad},
    {"MaxPool", "auto_pad", kAutoPad},
    {"NegativeLogLikelihoodLoss", "reduction", kLossReduction},
    {"Pad", "mode", kPad},
    {"QLinearConv", "auto_pad", kAutoPad},
    {"RNN", "direction", kDirection},
    {"Resize", "coordinate_transformation_mode", kResizeCoordinates},
    {"Resize", "keep_aspect_ratio_policy", kResizeAspect},
    {"Resize", "mode", kResize},
    {"Resize", "nearest_mode", kResizeNearest},
    {"RoiAlign", "coordinate_transformation_mode", kRoiAlignCoordinates},
    {"RoiAlign", "mode", kRoiAlign},
    {"ScatterElements", "reduction", kScatter},
    {"ScatterND", "reduction", kScatter},
    {"SoftmaxCrossEntropyLoss", "reduction", kLossReduction},
    {"SpaceToDepth", "mode", kDepth},
    {"TensorScatter", "mode", kTensorScatter},
    {"Upsample", "mode", kUpsample},
};

std::string ListOf(Values values) {
  std::string text;
  for (std::string_view value : values) {
    if (!value.empty()) text += (text.empty() ? "" : ", ") + std::string(value);
  }
  return text;
}

Status CheckChoice(const proto::NodeProto& node, const proto::AttributeProto& attribute, const std::string& label) {
  if (attribute.type() != proto::AttributeProto::STRING || !attribute.ref_attr_name().empty()) return {};
  const auto row = std::find_if(std::begin(kChoices), std::end(kChoices), [&](const ChoiceRow& r) {
    return r.attribute == attribute.name() && r.op == node.op_type();
  });
  if (row == std::end(kChoices)) return {};
  if (std::find(row->values.begin(), row->values.end(), attribute.s()) != row->values.end()) return {};
  return LoadError(ErrorCode::kInvalidInput, "onnx.attribute",
                   "unknown " + attribute.name() + " \"" + attribute.s() + "\" of " + node.op_type() +
                       "; expected one of " + ListOf(row->values),
                   label);
}

// `function`: whose body the node is in, null for graphs of the model.
Status CheckReference(const proto::AttributeProto& attribute, const proto::FunctionProto* function,
                      const std::string& label) {
  const std::string& name = attribute.ref_attr_name();
  if (name.empty()) return {};
  const auto refuse = [&](const std::string& why) {
    return LoadError(ErrorCode::kInvalidInput, "onnx.attribute",
                     "attribute " + attribute.name() + " refers to attribute \"" + name + "\" " + why, label);
  };
  if (function == nullptr) return refuse("of a function, but its node is in no function");
  const auto& plain = function->attribute();
  const auto& with_default = function->attribute_proto();
  const bool declared = std::find(plain.begin(), plain.end(), name) != plain.end() ||
                        std::any_of(with_default.begin(), with_default.end(),
                                    [&](const proto::AttributeProto& a) { return a.name() == name; });
  return declared ? Status() : refuse("which function " + function->name() + " does not have");
}

Status CheckEquation(const proto::NodeProto& node, const std::string& label) {
  std::string equation;
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() != "equation") continue;
    if (!attribute.ref_attr_name().empty()) return {};  // what a call gives is checked there
    equation = attribute.s();
  }
  const std::string fault = EinsumFault(equation, static_cast<size_t>(node.input_size()));
  if (fault.empty()) return {};
  return LoadError(ErrorCode::kInvalidInput, "onnx.attribute", "equation \"" + equation + "\" is not valid: " + fault,
                   label);
}

Status CheckNode(const proto::NodeProto& node, const proto::FunctionProto* function, const std::string& label) {
  // libonnx prints about these, and knows nothing of them.
  if (proto::checker::check_is_experimental_op(node)) {
    return LoadError(ErrorCode::kUnsupported, "onnx.unknown_op",
                     "operator " + node.op_type() + " is not defined by ONNX", label);
  }
  for (const proto::AttributeProto& attribute : node.attribute()) {
    PT_CHECK_OK(CheckReference(attribute, function, label));
    if (IsDefaultDomain(node.domain())) PT_CHECK_OK(CheckChoice(node, attribute, label));
  }
  if (node.op_type() == "Einsum" && IsDefaultDomain(node.domain())) return CheckEquation(node, label);
  return {};
}

// How many values a nested graph gives, by the node that holds it; it takes as many as the node does, but for branches.
struct NestedCounts {
  std::string_view op, attribute;
  int more_outputs = 0;  // than the node has itself
};

constexpr NestedCounts kNestedCounts[] = {
    {"If", "then_branch"}, {"If", "else_branch"},   {"Loop", "body", 1},  // the condition
    {"Scan", "body"},      {"SequenceMap", "body"},
};

std::string CountText(int count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Status CheckNestedCounts(const proto::NodeProto& node, int64_t opset, const std::string& label) {
  constexpr int64_t kScanWithoutLengths = 9;
  if (!IsDefaultDomain(node.domain())) return {};
  for (const proto::AttributeProto& attribute : node.attribute()) {
    const auto row = std::find_if(std::begin(kNestedCounts), std::end(kNestedCounts), [&](const NestedCounts& r) {
      return r.op == node.op_type() && r.attribute == attribute.name();
    });
    if (row == std::end(kNestedCounts) || !attribute.has_g()) continue;
    // An input that the body does not have.
    const bool lengths_first = row->op == "Scan" && opset > 0 && opset < kScanWithoutLengths;
    const int inputs = row->op == "If" ? 0 : node.input_size() - (lengths_first ? 1 : 0);
    const int outputs = node.output_size() + row->more_outputs;
    const auto refuse = [&](const std::string& has, const std::string& wants) {
      return LoadError(ErrorCode::kInvalidInput, "onnx.nested_graph",
                       attribute.name() + " of " + node.op_type() + " has " + has + "; expected " + wants, label);
    };
    if (attribute.g().input_size() != inputs) {
      return refuse(CountText(attribute.g().input_size(), "input"), row->op == "If" ? "none" : std::to_string(inputs));
    }
    if (attribute.g().output_size() != outputs) {
      return refuse(CountText(attribute.g().output_size(), "output"),
                    std::to_string(outputs) + " for the node's " + CountText(node.output_size(), "output"));
    }
  }
  return {};
}

Status CheckAll(const Nodes& nodes, const proto::FunctionProto* function, int64_t opset) {
  for (int i = 0; i < nodes.size(); ++i) {
    const std::string label = NodeLabel(nodes[i], static_cast<size_t>(i));
    PT_CHECK_OK(CheckNode(nodes[i], function, label));
    PT_CHECK_OK(CheckNestedCounts(nodes[i], opset, label));
    for (const auto& attribute : nodes[i].attribute()) {
      if (attribute.has_g()) PT_CHECK_OK(CheckAll(attribute.g().node(), function, opset));
      for (const auto& graph : attribute.graphs()) PT_CHECK_OK(CheckAll(graph.node(), function, opset));
    }
  }
  return {};
}

}  // namespace

Status CheckNodes(const proto::ModelProto& model) {
  PT_CHECK_OK(CheckAll(model.graph().node(), nullptr, DefaultOpset(model).value_or(0)));
  for (const proto::FunctionProto& function : model.functions()) {
    const int64_t opset = DefaultOpset(function).value_or(0);
    PT_CHECK_OK(CheckAll(function.node(), &function, opset));
    for (const auto& attribute : function.attribute_proto()) {
      PT_CHECK_OK(CheckAll(attribute.g().node(), nullptr, opset));
      for (const auto& graph : attribute.graphs()) PT_CHECK_OK(CheckAll(graph.node(), nullptr, opset));
    }
  }
  return {};
}

}  // namespace pt
