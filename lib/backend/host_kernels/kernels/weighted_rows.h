// Sums of weighted rows, and of weighted elements of one row. Sums of float are in float; all others in double, each
// product and sum rounded as plain code would, so that they are bit for bit those of the reference library.
#pragma once

#include <cstdint>

namespace pt::host {

// y[i] = sum over k of weights[k] · x[offsets[k] + i], i below n. At least one tap.
template <typename From, typename W>
struct RowsCall {
  const From* x = nullptr;
  const int64_t* offsets = nullptr;
  const W* weights = nullptr;
  int64_t taps = 0, n = 0;
  W* y = nullptr;
};
void WeighRows(const RowsCall<float, float>& call);
void WeighRows(const RowsCall<double, double>& call);
void WeighRows(const RowsCall<uint8_t, double>& call);
void WeighRows(const RowsCall<int8_t, double>& call);

// y[i] = sum over k of weights[k · n + i] · x[places[k · n + i]]. Results are made a vector at a time: where all that
// one is made of lies within as many elements as it has, windows[vector] is the first of these, and places are looked
// up in a register; elsewhere it is -1.
template <typename W>
struct ElementsCall {
  const W* x = nullptr;
  const int32_t* places = nullptr;
  const W* weights = nullptr;
  const int32_t* windows = nullptr;  // of the whole vectors
  int64_t taps = 0, n = 0;
  W* y = nullptr;
};
void WeighElements(const ElementsCall<float>& call);
void WeighElements(const ElementsCall<double>& call);
// Elements of the vectors on this processor.
template <typename W>
int64_t VectorElements();

// y[i] = ResizedElement(x[i]).
void StoreResized(const double* x, uint8_t* y, int64_t n);
void StoreResized(const double* x, int8_t* y, int64_t n);

}  // namespace pt::host
