// What an LSTM, GRU or RNN says (backend/recurrent_node.h: with its sizes and operands).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

enum class RecurrentCell : uint8_t { kLstm, kGru, kRnn };

// A function of a cell, of x.
enum class RecurrentFunction : uint8_t {
  kSigmoid,
  kTanh,
  kRelu,
  kAffine,           // alpha x + beta
  kLeakyRelu,        // alpha x below 0
  kThresholdedRelu,  // x above alpha, else 0
  kScaledTanh,       // alpha tanh(beta x)
  kHardSigmoid,      // alpha x + beta within 0 and 1
  kElu,              // alpha (e^x - 1) below 0
  kSoftsign,         // x / (1 + |x|)
  kSoftplus          // ln(1 + e^x)
};

// An activation of a recurrent cell, with its parameters.
struct RecurrentActivation {
  RecurrentFunction function = RecurrentFunction::kTanh;
  float alpha = 0, beta = 0;

  friend bool operator==(const RecurrentActivation&, const RecurrentActivation&) = default;
};

enum class RecurrenceDirection : uint8_t { kForward, kReverse, kBidirectional };

// The attributes of LSTM, GRU and RNN, read and checked.
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

// The functions of one direction of a cell where a node names none: of an LSTM those of its gates, of the cell's input
// and of its output; of a GRU those of its gates and of the hidden state; of an RNN its one. They have no parameters.
std::vector<RecurrentActivation> UsualActivations(RecurrentCell cell);

// The node's functions, direction by direction, in that order; those at the end that it does not name are the usual
// ones. Errors: kInvalidInput for more or fewer names than fit, kUnsupported for a name that ONNX does not have.
Result<std::vector<RecurrentActivation>> ActivationsOf(const RecurrenceNode& node, RecurrentCell cell);

}  // namespace pt
