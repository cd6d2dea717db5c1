// The arithmetic of recurrent layers on packed weights, vectorised: the input part of all time steps, and one time
// step. Units (elements of the hidden state) are computed in blocks of as many as a vector has lanes, all gates of a
// block together.
#pragma once

#include <array>
#include <cstdint>

#include "partitiontuner/backend/recurrent_node.h"

namespace pt::recurrent {

// Lanes of a vector on this processor: the units of a block.
int64_t Lanes();

// Where the numbers of one direction of a layer lie. "Packed" is [block][depth][gate][lane], padded with zeros.
struct Direction {
  RecurrentCell cell = RecurrentCell::kLstm;
  std::array<RecurrentActivation, 3> functions;  // of the cell, in the order of UsualActivations
  bool usual = true;                             // those are the usual ones, and nothing is clipped
  float clip = 0;                                // limits what goes into each function; 0: nothing does
  bool input_forget = false;                     // LSTM: the forget gate is 1 - the input gate
  int64_t time = 0, batch = 0, input = 0, hidden = 0, gates = 0, lanes = 0, blocks = 0;
  const float* w = nullptr;             // packed
  const float* r = nullptr;             // packed; of a GRU that resets before the product, of its two gates alone
  const float* hidden_r = nullptr;      // packed, of the hidden state of such a GRU; null: another cell
  const float* peephole = nullptr;      // LSTM: [block][input, output, forget][lane], or null
  const float* bias = nullptr;          // [block][gate][lane]
  const float* product_bias = nullptr;  // other GRU: of the recurrent product of the hidden state, [block][lane]
  // X, of which the element (t, n, i) lies at t · x_time + n · x_batch + i.
  const float* x = nullptr;
  int64_t x_time = 0, x_batch = 0;
  // Y likewise, or null.
  float* y = nullptr;
  int64_t y_time = 0, y_batch = 0;
  float* parts = nullptr;   // [block][time · batch][gate][lane]: the input part
  float* c = nullptr;       // LSTM: [batch][padded()]
  float* update = nullptr;  // GRU that resets before the product: its update gate, [batch][padded()]
  float* reset = nullptr;   // and its reset gate times h, likewise
  float* h[2] = {};         // before and after a step, in turns: [batch][padded()]
  bool backwards = false;   // from the last step of each entry of the batch to its first
  // How many steps an entry has; null: all have `time`.
  const int32_t* lengths = nullptr;
  int64_t length_stride = 0;

  int64_t padded() const { return blocks * lanes; }
  // A step's parts, each of which reads what the one before has made of all units.
  int phases() const { return hidden_r == nullptr ? 1 : 2; }
  int64_t LengthOf(int64_t row) const { return lengths == nullptr ? time : lengths[row * length_stride]; }
};

// Some blocks of units for some entries of the batch.
struct Share {
  int64_t first_block = 0, last_block = 0;  // past the end
  int64_t first_row = 0, last_row = 0;
};

// W·x + bias into `parts`, for all time steps of each entry.
void ComputeInputPart(const Direction& direction, const Share& share);

// A phase of step number `step` of those entries that have as many: reads their h[step % 2] whole and writes, in the
// last phase, the share's blocks of their h[1 - step % 2], c and, at the time of each, Y.
void ComputeStep(const Direction& direction, const Share& share, int64_t step, int phase);

}  // namespace pt::recurrent
