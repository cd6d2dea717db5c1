#include "partitiontuner/graph/operators/recurrence.h"

#include <string>

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

}  // namespace

Result<RecurrenceNode> ReadRecurrence(const Node& node) {
  RecurrenceNode recurrence;
  PT_ASSIGN(recurrence.direction, ReadDirection(node));
  recurrence.batch_first = node.int_or("layout", 0) != 0;
  recurrence.linear_before_reset = node.int_or("linear_before_reset", 0) != 0;
  recurrence.input_forget = node.int_or("input_forget", 0) != 0;
  recurrence.clip = node.float_or("clip", 0.0F);
  if (node.find("hidden_size") != nullptr) recurrence.hidden = node.int_or("hidden_size", 0);
  return recurrence;
}

}  // namespace pt
