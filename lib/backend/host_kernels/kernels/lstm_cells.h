// What an LSTM makes of its gates, for some units of one entry of the batch. Vectorised; on the calling core.
#pragma once

#include <cstdint>

namespace pt::host {

// As many `units` as are a multiple of all vectors' lanes (16). The gates, in the order input, output, forget and cell,
// each `units` numbers, are the sum of `parts` and `sums`. The states are changed in place: c becomes
// sigmoid(forget) c + sigmoid(input) tanh(cell), h sigmoid(output) tanh(c).
void AdvanceLstmCells(const float* parts, const float* sums, int64_t units, float* c, float* h);

}  // namespace pt::host
