// What an LSTM, GRU or RNN says (backend/recurrent_node.h: the usual ones, with their sizes and operands).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  // Names in any case, one for each function of a cell, direction by direction; empty: the usual ones. What their
  // parameters are, in the same order, but for those only that have any.
  std::vector<std::string> activations;
  std::vector<float> alphas, betas;

  int64_t directions() const { return direction == RecurrenceDirection::kBidirectional ? 2 : 1; }
  friend bool operator==(const RecurrenceNode&, const RecurrenceNode&) = default;
};
// Errors: kInvalidInput for an unknown direction, and where names or parameters of activations are not lists of such.
// Whether there are such activations, and as many as the cell has, is not looked at.
Result<RecurrenceNode> ReadRecurrence(const Node& node);

}  // namespace pt
