// What an LSTM, GRU or RNN node says, read once for the libraries that have fast kernels for the usual ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

enum class RecurrentCell : uint8_t { kLstm, kGru, kRnn };

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
  bool relu = false;                 // RNN: Relu in place of Tanh

  Tensor w, r;                     // [directions, gates · hidden, input or hidden], gates in the order of ONNX
  std::optional<Tensor> bias;      // [directions, 2 · gates · hidden]: of W, then of R
  std::optional<Tensor> peephole;  // [directions, 3 · hidden]: input, output, forget

  ValueId x;
  // int32 [batch]: how many steps each entry of the batch has; invalid: all `time` of them.
  ValueId lengths;
  ValueId initial_h, initial_c;  // invalid: zeros
  ValueId y, y_h, y_c;           // invalid: not needed
};

// Which sequence_lens are taken: those that are known to be full alone, which are as good as none; or any.
enum class SequenceLengths : uint8_t { kFull, kAny };

// kUnsupported with the reason for what is not usual: weights that are not float32 constants, activations other than
// the default ones (and Relu in RNN), clipping, input_forget, lengths that are not taken, sizes unknown or zero.
Result<RecurrentNode> ReadRecurrentNode(const Graph& graph, const Node& node,
                                        SequenceLengths taken = SequenceLengths::kFull);

// The sum of the biases of W and R, or zeros: directions · gates · hidden elements.
std::vector<float> SummedBias(const RecurrentNode& node);

}  // namespace pt
