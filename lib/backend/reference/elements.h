// Loops over elements of which only the innermost stretch knows the type: rows, strides and cores are dealt with once
// for all types and functions instead of being compiled again for each.
#pragma once

#include <functional>

#include "lib/backend/reference/broadcast.h"
#include "lib/backend/reference/operator.h"

namespace pt::reference {

// n elements of out, each from one of `in`.
struct Map {
  std::function<void(const void* in, void* out, int64_t n)> stretch;
  size_t in_bytes = 0, out_bytes = 0;  // of an element
  double work = 1;                     // nanoseconds an element, roughly
};
ReferenceRoutine MapRoutine(int64_t count, Map map);

// f(x) for each element x of type T.
template <typename T, typename F>
Map MapOf(double work, F f) {
  using Out = decltype(f(T{}));
  return {[f](const void* in, void* out, int64_t n) {
            for (int64_t i = 0; i < n; ++i) static_cast<Out*>(out)[i] = f(static_cast<const T*>(in)[i]);
          },
          sizeof(T), sizeof(Out), work};
}

// n elements of out, each from one of `a` and one of `b`; steps are 0 or any other number of elements.
struct Pairing {
  void (*row)(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out, int64_t n) = nullptr;
  size_t in_bytes = 0, out_bytes = 0;
  double work = 1;
};
void RunPairs(const Broadcast<2>& broadcast, const Pairing& pairing, Team* team, const void* a, const void* b,
              void* out);
ReferenceRoutine PairRoutine(Broadcast<2> broadcast, Pairing pairing);

// f(x, y) for each pair; steps of 1 and 0 in loops of their own, which compilers turn into vectors.
template <typename T, typename Out, typename F>
void PairRow(const void* from_a, int64_t a_step, const void* from_b, int64_t b_step, void* to, int64_t n) {
  const T* a = static_cast<const T*>(from_a);
  const T* b = static_cast<const T*>(from_b);
  Out* out = static_cast<Out*>(to);
  if (a_step == 1 && b_step == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = F::Of(a[i], b[i]);
  } else if (a_step == 1 && b_step == 0) {
    const T right = *b;
    for (int64_t i = 0; i < n; ++i) out[i] = F::Of(a[i], right);
  } else if (a_step == 0 && b_step == 1) {
    const T left = *a;
    for (int64_t i = 0; i < n; ++i) out[i] = F::Of(left, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = F::Of(a[i * a_step], b[i * b_step]);
  }
}

template <typename T, typename Out, typename F>
constexpr Pairing PairingOf(double work) {
  return {PairRow<T, Out, F>, sizeof(T), sizeof(Out), work};
}

}  // namespace pt::reference
