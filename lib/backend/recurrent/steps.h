// The arithmetic of recurrent layers on packed weights, vectorised: the input part of all time steps, and one time
// step. Units (elements of the hidden state) are computed in blocks of as many as a vector has lanes, all gates of a
// block together.
#pragma once

#include <cstdint>

#include "partitiontuner/backend/recurrent_node.h"

namespace pt::recurrent {

// Lanes of a vector on this processor: the units of a block.
int64_t Lanes();

// Where the numbers of one direction of a layer lie. "Packed" is [block][depth][gate][lane], padded with zeros.
struct Direction {
  RecurrentCell cell = RecurrentCell::kLstm;
  bool relu = false;  // RNN
  int64_t time = 0, batch = 0, input = 0, hidden = 0, gates = 0, lanes = 0, blocks = 0;
  const float* w = nullptr;             // packed
  const float* r = nullptr;             // packed
  const float* bias = nullptr;          // [block][gate][lane]
  const float* product_bias = nullptr;  // GRU: of the recurrent product of the hidden gate, [block][lane]
  // X, of which the element (t, n, i) lies at t · x_time + n · x_batch + i.
  const float* x = nullptr;
  int64_t x_time = 0, x_batch = 0;
  // Y likewise, or null.
  float* y = nullptr;
  int64_t y_time = 0, y_batch = 0;
  float* parts = nullptr;  // [block][time · batch][gate][lane]: the input part
  float* c = nullptr;      // LSTM: [batch][padded()]
  float* h[2] = {};        // before and after a step, in turns: [batch][padded()]

  int64_t padded() const { return blocks * lanes; }
};

// Some blocks of units for some entries of the batch.
struct Share {
  int64_t first_block = 0, last_block = 0;  // past the end
  int64_t first_row = 0, last_row = 0;
};

// W·x + bias into `parts`, for all time steps.
void ComputeInputPart(const Direction& direction, const Share& share);

// Step number `step` of the direction, which reads h[step % 2] whole and writes its share of h[1 - step % 2], c and, at
// time `t`, Y.
void ComputeStep(const Direction& direction, const Share& share, int64_t step, int64_t t);

}  // namespace pt::recurrent
