#include "partitiontuner/graph/operators/recurrence.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "partitiontuner/support/text.h"

namespace pt {
namespace {

Result<RecurrenceDirection> ReadDirection(const Node& node) {
  const std::string word = node.string_or("direction", "forward");
  if (word == "forward") return RecurrenceDirection::kForward;
  if (word == "reverse") return RecurrenceDirection::kReverse;
  if (word == "bidirectional") return RecurrenceDirection::kBidirectional;
  return MakeError(ErrorCode::kInvalidInput, "graph.recurrence",
                   UnknownWord("direction", word, {"forward", "reverse", "bidirectional"}));
}

template <typename T>
Result<std::vector<T>> ReadList(const Node& node, const char* attribute, const char* of) {
  const Attribute* given = node.find(attribute);
  if (given == nullptr) return std::vector<T>();
  if (const auto* list = std::get_if<std::vector<T>>(given)) return *list;
  return MakeError(ErrorCode::kInvalidInput, "graph.recurrence", std::string(attribute) + " is not a list of " + of);
}

struct FunctionRow {
  std::string_view name;
  RecurrentActivation usual;  // with the parameters of a node that gives none
  int parameters = 0;         // 1: alpha, 2: alpha and beta
};
using F = RecurrentFunction;
constexpr std::array kFunctions = {
    FunctionRow{"Sigmoid", {F::kSigmoid}},
    FunctionRow{"Tanh", {F::kTanh}},
    FunctionRow{"Relu", {F::kRelu}},
    FunctionRow{"Affine", {F::kAffine, 1, 0}, 2},
    FunctionRow{"LeakyRelu", {F::kLeakyRelu, 0.01F}, 1},
    FunctionRow{"ThresholdedRelu", {F::kThresholdedRelu, 1}, 1},
    FunctionRow{"ScaledTanh", {F::kScaledTanh, 1, 1}, 2},
    FunctionRow{"HardSigmoid", {F::kHardSigmoid, 0.2F, 0.5F}, 2},
    FunctionRow{"Elu", {F::kElu, 1}, 1},
    FunctionRow{"Softsign", {F::kSoftsign}},
    FunctionRow{"Softplus", {F::kSoftplus}},
};

const FunctionRow* FindFunction(std::string_view name) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  const auto* row =
      std::ranges::find_if(kFunctions, [&](const FunctionRow& r) { return std::ranges::equal(r.name, name, same); });
  return row == kFunctions.end() ? nullptr : row;
}

}  // namespace

std::vector<RecurrentActivation> UsualActivations(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::kLstm:
      return {{F::kSigmoid}, {F::kTanh}, {F::kTanh}};
    case RecurrentCell::kGru:
      return {{F::kSigmoid}, {F::kTanh}};
    case RecurrentCell::kRnn:
      break;
  }
  return {{F::kTanh}};
}

Result<std::vector<RecurrentActivation>> ActivationsOf(const RecurrenceNode& node, RecurrentCell cell) {
  const std::vector<RecurrentActivation> usual = UsualActivations(cell);
  std::vector<RecurrentActivation> activations;
  // Parameters are listed for those functions only that take them.
  size_t alpha = 0, beta = 0;
  for (const std::string& name : node.activations) {
    const FunctionRow* row = FindFunction(name);
    if (row == nullptr) {
      return MakeError(ErrorCode::kUnsupported, "graph.recurrence", "has the unknown activation \"" + name + "\"");
    }
    RecurrentActivation& activation = activations.emplace_back(row->usual);
    if (row->parameters > 0 && alpha < node.alphas.size()) activation.alpha = node.alphas[alpha++];
    if (row->parameters > 1 && beta < node.betas.size()) activation.beta = node.betas[beta++];
  }
  for (int64_t d = 0;
       d < node.directions() && activations.size() < usual.size() * static_cast<size_t>(node.directions()); ++d) {
    activations.insert(activations.end(), usual.begin(), usual.end());
  }
  if (activations.size() != usual.size() * static_cast<size_t>(node.directions())) {
    return MakeError(ErrorCode::kInvalidInput, "graph.recurrence", "activations do not fit its gates");
  }
  return activations;
}

Result<RecurrenceNode> ReadRecurrence(const Node& node) {
  RecurrenceNode recurrence;
  PT_ASSIGN(recurrence.direction, ReadDirection(node));
  recurrence.batch_first = node.int_or("layout", 0) != 0;
  recurrence.linear_before_reset = node.int_or("linear_before_reset", 0) != 0;
  recurrence.input_forget = node.int_or("input_forget", 0) != 0;
  recurrence.clip = node.float_or("clip", 0.0F);
  if (node.find("hidden_size") != nullptr) recurrence.hidden = node.int_or("hidden_size", 0);
  PT_ASSIGN(recurrence.activations, ReadList<std::string>(node, "activations", "names"));
  PT_ASSIGN(recurrence.alphas, ReadList<float>(node, "activation_alpha", "numbers"));
  PT_ASSIGN(recurrence.betas, ReadList<float>(node, "activation_beta", "numbers"));
  return recurrence;
}

}  // namespace pt
