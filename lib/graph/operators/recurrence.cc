#include "partitiontuner/graph/operators/recurrence.h"

#include <string>
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

}  // namespace

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
