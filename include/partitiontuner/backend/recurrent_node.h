// What an LSTM, GRU or RNN node says, read once for the libraries that have fast kernels for constant weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/graph/operators/recurrence.h"
#include "partitiontuner/support/result.h"

namespace pt {

// An LSTM, GRU or RNN with all its sizes, for kernels.
struct RecurrentNode {
  RecurrentCell cell = RecurrentCell::kLstm;
  int64_t time = 0, batch = 0, input = 0, hidden = 0;
  int64_t gates = 1;       // blocks of `hidden` rows in W and R
  int64_t directions = 1;  // 2: bidirectional
  bool reverse = false;    // the one direction runs from the end
  // Layout 1: X [batch, time, input], Y [batch, time, directions, hidden], states [batch, directions, hidden]. Else X
  // [time, batch, input], Y [time, directions, batch, hidden], states [directions, batch, hidden].
  bool batch_first = false;
  bool linear_before_reset = false;  // GRU
  bool input_forget = false;         // LSTM: the forget gate is 1 - the input gate
  float clip = 0;                    // limits what goes into each function; 0: nothing does
  // As many as UsualActivations of the cell for each direction, one direction after the other.
  std::vector<RecurrentActivation> activations;

  Tensor w, r;                     // [directions, gates · hidden, input or hidden], gates in the order of ONNX
  std::optional<Tensor> bias;      // [directions, 2 · gates · hidden]: of W, then of R
  std::optional<Tensor> peephole;  // [directions, 3 · hidden]: input, output, forget

  ValueId x;
  // int32 [batch]: how many steps each entry of the batch has; invalid: all `time` of them.
  ValueId lengths;
  ValueId initial_h, initial_c;  // invalid: zeros
  ValueId y, y_h, y_c;           // invalid: not needed
};

// kUnsupported with the reason for weights that are not float32 constants, and for sizes unknown or zero.
Result<RecurrentNode> ReadRecurrentNode(const Graph& graph, const Node& node);

// For libraries whose kernels know no more: kUnsupported with the reason for sequence_lens, clipping, input_forget, and
// functions other than the usual ones, but for an RNN of Relu alone.
Status NeedUsual(const RecurrentNode& node);

// The sum of the biases of W and R, or zeros: directions · gates · hidden elements.
std::vector<float> SummedBias(const RecurrentNode& node);

}  // namespace pt
