// What an LSTM, GRU or RNN says beside its activations (backend/recurrent_node.h reads those of the usual ones).
#pragma once

#include <cstdint>
#include <optional>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

enum class RecurrenceDirection : uint8_t { kForward, kReverse, kBidirectional };

struct RecurrenceNode {
  RecurrenceDirection direction = RecurrenceDirection::kForward;
  bool batch_first = false;          // layout 1
  bool linear_before_reset = false;  // GRU
  bool input_forget = false;         // LSTM: its input and forget gates are one
  float clip = 0;                    // 0: none
  std::optional<int64_t> hidden;     // not given: that of R

  int64_t directions() const { return direction == RecurrenceDirection::kBidirectional ? 2 : 1; }
  friend bool operator==(const RecurrenceNode&, const RecurrenceNode&) = default;
};
// Error: kInvalidInput for an unknown direction.
Result<RecurrenceNode> ReadRecurrence(const Node& node);

}  // namespace pt
