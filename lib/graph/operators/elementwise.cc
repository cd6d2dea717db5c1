#include "partitiontuner/graph/operators/elementwise.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "partitiontuner/support/text.h"

namespace pt {
namespace {

struct Parameter {
  std::string_view name;  // empty: there is none
  float otherwise = 0;

  float Of(const Node& node) const { return name.empty() ? 0 : node.float_or(name, otherwise); }
};

struct ParameterRow {
  std::string_view op;
  Parameter alpha, beta;
};

constexpr std::array kParameterRows = {
    ParameterRow{"Celu", {"alpha", 1.0F}, {}},
    ParameterRow{"Elu", {"alpha", 1.0F}, {}},
    ParameterRow{"HardSigmoid", {"alpha", 0.2F}, {"beta", 0.5F}},
    ParameterRow{"LeakyRelu", {"alpha", 0.01F}, {}},
    ParameterRow{"Selu", {"alpha", 1.67326319217681884765625F}, {"gamma", 1.05070102214813232421875F}},
    ParameterRow{"Shrink", {"lambd", 0.5F}, {"bias", 0.0F}},
    ParameterRow{"SwiGLU", {"alpha", 1.0F}, {}},
    ParameterRow{"Swish", {"alpha", 1.0F}, {}},
    ParameterRow{"ThresholdedRelu", {"alpha", 1.0F}, {}},
};

}  // namespace

ActivationNode ReadActivation(const Node& node) {
  const auto row = std::ranges::find(kParameterRows, node.op, &ParameterRow::op);
  return row == kParameterRows.end() ? ActivationNode{} : ActivationNode{row->alpha.Of(node), row->beta.Of(node)};
}

Result<GeluForm> ReadGelu(const Node& node) {
  const std::string form = node.string_or("approximate", "none");
  if (form == "none") return GeluForm::kErf;
  if (form == "tanh") return GeluForm::kTanh;
  return MakeError(ErrorCode::kInvalidInput, "graph.activation", UnknownWord("approximate", form, {"none", "tanh"}));
}

bool IsGelu(const Node& node, GeluForm form) {
  const Result<GeluForm> read = ReadGelu(node);
  return read.ok() && *read == form;
}

BoundsNode ReadNamedBounds(const Node& clip) {
  constexpr float kMost = std::numeric_limits<float>::infinity();
  return {clip.float_or("min", -kMost), clip.float_or("max", kMost)};
}

bool IsTruncatedModulo(const Node& node) { return node.int_or("fmod", 0) != 0; }

IsInfNode ReadIsInf(const Node& node) {
  return {node.int_or("detect_negative", 1) != 0, node.int_or("detect_positive", 1) != 0};
}

Result<bool> ShiftsLeft(const Node& node) {
  const std::string direction = node.string_or("direction", "");
  if (direction == "LEFT" || direction == "RIGHT") return direction == "LEFT";
  return MakeError(ErrorCode::kInvalidInput, "graph.shift", UnknownWord("direction", direction, {"LEFT", "RIGHT"}));
}

}  // namespace pt
