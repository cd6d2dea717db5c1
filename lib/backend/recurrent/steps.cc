#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/recurrent/steps.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "lib/backend/host/vector_math-inl.h"
#include "lib/backend/recurrent/steps.h"

HWY_BEFORE_NAMESPACE();
namespace pt::recurrent::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace vm = vector_math::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Rows that are multiplied at a time: as many sums as registers hold beside a line of the panel.
constexpr int64_t kMostRows = HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON ? 6 : 3;

int64_t LanesHere() { return static_cast<int64_t>(hn::Lanes(D())); }

// sums[row][gate] += rows[row] · panel, the panel being [depth][gate][lane]. Few sums would wait for each other: then
// several lines of the panel go to sums of their own.
template <size_t kRows, size_t kGates>
HWY_INLINE void Multiply(const float* const (&rows)[kRows], int64_t depth, const float* panel,
                         V (&sums)[kRows][kGates]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  constexpr size_t kSums = kRows * kGates, kPhases = kSums >= 8 ? 1 : (kSums >= 4 ? 2 : 8 / kSums);
  V partial[kPhases][kRows][kGates];
  for (size_t p = 0; p < kPhases; ++p) {
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t g = 0; g < kGates; ++g) partial[p][r][g] = p == 0 ? sums[r][g] : hn::Zero(d);
    }
  }
  int64_t k = 0;
  for (; k + static_cast<int64_t>(kPhases) <= depth; k += kPhases) {
    for (size_t p = 0; p < kPhases; ++p) {
      V line[kGates];
      for (size_t g = 0; g < kGates; ++g) line[g] = hn::LoadU(d, panel + (p * kGates + g) * lanes);
      for (size_t r = 0; r < kRows; ++r) {
        const V factor = hn::Set(d, rows[r][k + static_cast<int64_t>(p)]);
        for (size_t g = 0; g < kGates; ++g) partial[p][r][g] = hn::MulAdd(factor, line[g], partial[p][r][g]);
      }
    }
    panel += kPhases * kGates * lanes;
  }
  for (; k < depth; ++k, panel += kGates * lanes) {
    for (size_t r = 0; r < kRows; ++r) {
      const V factor = hn::Set(d, rows[r][k]);
      for (size_t g = 0; g < kGates; ++g)
        partial[0][r][g] = hn::MulAdd(factor, hn::LoadU(d, panel + g * lanes), partial[0][r][g]);
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t g = 0; g < kGates; ++g) {
      sums[r][g] = partial[0][r][g];
      for (size_t p = 1; p < kPhases; ++p) sums[r][g] = hn::Add(sums[r][g], partial[p][r][g]);
    }
  }
}

// ---- Functions of the cells ----

V Activated(const RecurrentActivation& activation, V x) {
  const D d;
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0F);
  const V alpha = hn::Set(d, activation.alpha), beta = hn::Set(d, activation.beta);
  switch (activation.function) {
    case RecurrentFunction::kSigmoid:
      return vm::Sigmoid(d, x);
    case RecurrentFunction::kTanh:
      return vm::Tanh(d, x);
    case RecurrentFunction::kRelu:
      return hn::IfThenElse(hn::Lt(x, zero), zero, x);
    case RecurrentFunction::kAffine:
      return hn::MulAdd(alpha, x, beta);
    case RecurrentFunction::kLeakyRelu:
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, x), x);
    case RecurrentFunction::kThresholdedRelu:
      return hn::IfThenElse(hn::Le(x, alpha), zero, x);
    case RecurrentFunction::kScaledTanh:
      return hn::Mul(alpha, vm::Tanh(d, hn::Mul(beta, x)));
    case RecurrentFunction::kHardSigmoid:
      return vm::AtMost(d, vm::AtLeast(d, hn::MulAdd(alpha, x, beta), 0.0F), 1.0F);
    case RecurrentFunction::kElu: {
      // e^x - 1 = 2 t / (1 - t) with the tanh t of x / 2, which does not cancel near 0.
      const V half = vm::Tanh(d, hn::Mul(hn::Set(d, 0.5F), x));
      const V below = hn::Div(hn::Add(half, half), hn::Sub(one, half));
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, below), x);
    }
    case RecurrentFunction::kSoftsign:
      return hn::Div(x, hn::Add(one, hn::Abs(x)));
    case RecurrentFunction::kSoftplus:
      return vm::Softplus(d, x);
  }
  return x;
}

// Not inlined: cells of other than the usual functions are rare, and each cell has several.
HWY_NOINLINE void Unusual(const Direction& s, size_t function, float* x) {
  const D d;
  V value = hn::LoadU(d, x);
  if (s.clip > 0) value = vm::AtMost(d, vm::AtLeast(d, value, -s.clip), s.clip);
  hn::StoreU(Activated(s.functions[function], value), d, x);
}

// The cell's function of that number, which usually is a sigmoid or tanh.
template <size_t kFunction, bool kUsuallySigmoid>
HWY_INLINE V Function(const Direction& s, V x) {
  const D d;
  if (HWY_LIKELY(s.usual)) return kUsuallySigmoid ? vm::Sigmoid(d, x) : vm::Tanh(d, x);
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::StoreU(x, d, lanes);
  Unusual(s, kFunction, lanes);
  return hn::LoadU(d, lanes);
}

// ---- The cells: from the gates' sums to the new state of a block ----

// An entry of the batch and a block of its units.
struct CellPlace {
  int64_t block = 0;
  const float* part = nullptr;  // the input part: [gate][lane]
  int64_t own = 0;              // where the block lies in the states
};

struct Lstm {
  static constexpr size_t kGates = 4;  // input, output, forget, cell
  static constexpr bool kIsLast = true;
  static const float* Panels(const Direction& s) { return s.r; }
  static const float* Rows(const Direction& s, int64_t step) { return s.h[step % 2]; }
  static HWY_INLINE V Start(const Direction&, int64_t, size_t g, const float* part) {
    return hn::LoadU(D(), part + g * hn::Lanes(D()));
  }
  // Peepholes lie as [input, output, forget][lane].
  static HWY_INLINE V WithPeephole(const Direction& s, int64_t block, size_t gate, V sum, V c) {
    if (HWY_LIKELY(s.peephole == nullptr)) return sum;
    const size_t lanes = hn::Lanes(D());
    return hn::MulAdd(hn::LoadU(D(), s.peephole + (static_cast<size_t>(block) * 3 + gate) * lanes), c, sum);
  }
  static HWY_INLINE V Finish(const Direction& s, const V (&sums)[kGates], const CellPlace& place, V) {
    const D d;
    float* const c = s.c + place.own;
    const V before = hn::LoadU(d, c);
    const V input = Function<0, true>(s, WithPeephole(s, place.block, 0, sums[0], before));
    const V forget = HWY_UNLIKELY(s.input_forget)
                         ? hn::Sub(hn::Set(d, 1.0F), input)
                         : Function<0, true>(s, WithPeephole(s, place.block, 2, sums[2], before));
    const V cell = hn::MulAdd(input, Function<1, false>(s, sums[3]), hn::Mul(forget, before));
    hn::StoreU(cell, d, c);
    const V output = Function<0, true>(s, WithPeephole(s, place.block, 1, sums[1], cell));
    return hn::Mul(output, Function<2, false>(s, cell));
  }
};

// What a GRU makes of its gates: h = (1 - update) fresh + update h.
HWY_INLINE V Mixed(V update, V fresh, V before) {
  return hn::MulAdd(hn::Sub(hn::Set(D(), 1.0F), update), fresh, hn::Mul(update, before));
}

// With the reset after the product, which keeps the two parts of the hidden state apart.
struct Gru {
  static constexpr size_t kGates = 3;  // update, reset, hidden
  static constexpr bool kIsLast = true;
  static const float* Panels(const Direction& s) { return s.r; }
  static const float* Rows(const Direction& s, int64_t step) { return s.h[step % 2]; }
  static HWY_INLINE V Start(const Direction& s, int64_t block, size_t g, const float* part) {
    const D d;
    const size_t lanes = hn::Lanes(d);
    if (g == 2) return hn::LoadU(d, s.product_bias + static_cast<size_t>(block) * lanes);
    return hn::LoadU(d, part + g * lanes);
  }
  static HWY_INLINE V Finish(const Direction& s, const V (&sums)[kGates], const CellPlace& place, V before) {
    const D d;
    const V update = Function<0, true>(s, sums[0]), reset = Function<0, true>(s, sums[1]);
    const V hidden = hn::MulAdd(reset, sums[2], hn::LoadU(d, place.part + 2 * hn::Lanes(d)));
    return Mixed(update, Function<1, false>(s, hidden), before);
  }
};

// With the reset before the product: the gates first, then the hidden state from the product with reset ∘ h.
struct GruGates {
  static constexpr size_t kGates = 2;  // update, reset
  static constexpr bool kIsLast = false;
  static const float* Panels(const Direction& s) { return s.r; }
  static const float* Rows(const Direction& s, int64_t step) { return s.h[step % 2]; }
  static HWY_INLINE V Start(const Direction&, int64_t, size_t g, const float* part) {
    return hn::LoadU(D(), part + g * hn::Lanes(D()));
  }
  static HWY_INLINE V Finish(const Direction& s, const V (&sums)[kGates], const CellPlace& place, V before) {
    const D d;
    hn::StoreU(Function<0, true>(s, sums[0]), d, s.update + place.own);
    hn::StoreU(hn::Mul(Function<0, true>(s, sums[1]), before), d, s.reset + place.own);
    return before;
  }
};
struct GruHidden {
  static constexpr size_t kGates = 1;
  static constexpr bool kIsLast = true;
  static const float* Panels(const Direction& s) { return s.hidden_r; }
  static const float* Rows(const Direction& s, int64_t) { return s.reset; }
  static HWY_INLINE V Start(const Direction&, int64_t, size_t, const float* part) {
    return hn::LoadU(D(), part + 2 * hn::Lanes(D()));
  }
  static HWY_INLINE V Finish(const Direction& s, const V (&sums)[kGates], const CellPlace& place, V before) {
    return Mixed(hn::LoadU(D(), s.update + place.own), Function<1, false>(s, sums[0]), before);
  }
};

struct Rnn {
  static constexpr size_t kGates = 1;
  static constexpr bool kIsLast = true;
  static const float* Panels(const Direction& s) { return s.r; }
  static const float* Rows(const Direction& s, int64_t step) { return s.h[step % 2]; }
  static HWY_INLINE V Start(const Direction&, int64_t, size_t, const float* part) { return hn::LoadU(D(), part); }
  static HWY_INLINE V Finish(const Direction& s, const V (&sums)[kGates], const CellPlace&, V) {
    return Function<0, false>(s, sums[0]);
  }
};

// ---- The input part ----

template <size_t kRows, size_t kGates>
HWY_NOINLINE void InputTile(const Direction& s, const float* const* rows, float* const* to, int64_t block) {
  const D d;
  const size_t lanes = hn::Lanes(d), line = kGates * lanes;
  const float* own[kRows];
  V sums[kRows][kGates];
  for (size_t r = 0; r < kRows; ++r) {
    own[r] = rows[r];
    for (size_t g = 0; g < kGates; ++g)
      sums[r][g] = hn::LoadU(d, s.bias + static_cast<size_t>(block) * line + g * lanes);
  }
  Multiply<kRows, kGates>(own, s.input, s.w + block * s.input * static_cast<int64_t>(line), sums);
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t g = 0; g < kGates; ++g) hn::StoreU(sums[r][g], d, to[r] + g * lanes);
  }
}

template <size_t kGates, size_t kRows = kMostRows>
HWY_INLINE void AnyInputTile(int64_t count, const Direction& s, const float* const* rows, float* const* to,
                             int64_t block) {
  if constexpr (kRows > 1) {
    if (count < static_cast<int64_t>(kRows)) return AnyInputTile<kGates, kRows - 1>(count, s, rows, to, block);
  }
  InputTile<kRows, kGates>(s, rows, to, block);
}

template <size_t kGates>
void InputPart(const Direction& s, const Share& share) {
  const int64_t line = static_cast<int64_t>(kGates) * s.lanes;
  for (int64_t block = share.first_block; block < share.last_block; ++block) {
    const float* rows[kMostRows];
    float* to[kMostRows];
    int64_t count = 0;
    for (int64_t t = 0; t < s.time; ++t) {
      for (int64_t n = share.first_row; n < share.last_row; ++n) {
        if (t >= s.LengthOf(n)) continue;
        rows[count] = s.x + t * s.x_time + n * s.x_batch;
        to[count++] = s.parts + ((block * s.time + t) * s.batch + n) * line;
        if (count < kMostRows) continue;
        InputTile<kMostRows, kGates>(s, rows, to, block);
        count = 0;
      }
    }
    if (count > 0) AnyInputTile<kGates>(count, s, rows, to, block);
  }
}

// ---- A time step ----

// An entry of the batch, and the time that it is at.
struct StepPlace {
  int64_t row = 0, t = 0;
};

template <class Cell, size_t kRows>
HWY_NOINLINE void StepTile(const Direction& s, int64_t step, int64_t block, const StepPlace* places) {
  const D d;
  constexpr size_t kGates = Cell::kGates;
  const int64_t padded = s.padded(), at = block * s.lanes;
  const float *rows[kRows], *parts[kRows];
  V sums[kRows][kGates];
  for (size_t r = 0; r < kRows; ++r) {
    rows[r] = Cell::Rows(s, step) + places[r].row * padded;
    parts[r] = s.parts + ((block * s.time + places[r].t) * s.batch + places[r].row) * s.gates * s.lanes;
    for (size_t g = 0; g < kGates; ++g) sums[r][g] = Cell::Start(s, block, g, parts[r]);
  }
  Multiply<kRows, kGates>(rows, s.hidden, Cell::Panels(s) + at * s.hidden * static_cast<int64_t>(kGates), sums);
  for (size_t r = 0; r < kRows; ++r) {
    const CellPlace place{block, parts[r], places[r].row * padded + at};
    const V h = Cell::Finish(s, sums[r], place, hn::LoadU(d, s.h[step % 2] + place.own));
    if (!Cell::kIsLast) continue;
    float* after = s.h[1 - step % 2] + place.own;
    hn::StoreU(h, d, after);
    if (s.y == nullptr) continue;
    float* y = s.y + places[r].t * s.y_time + places[r].row * s.y_batch + at;
    if (at + s.lanes <= s.hidden) {
      hn::StoreU(h, d, y);
    } else {
      std::memcpy(y, after, static_cast<size_t>(s.hidden - at) * sizeof(float));
    }
  }
}

template <class Cell, size_t kRows = kMostRows>
HWY_INLINE void AnyStepTile(int64_t count, const Direction& s, int64_t step, int64_t block, const StepPlace* places) {
  if constexpr (kRows > 1) {
    if (count < static_cast<int64_t>(kRows)) return AnyStepTile<Cell, kRows - 1>(count, s, step, block, places);
  }
  StepTile<Cell, kRows>(s, step, block, places);
}

// Entries that have ended are left out, so that those beside each other need not be at the same time.
template <class Cell>
void Step(const Direction& s, const Share& share, int64_t step) {
  for (int64_t block = share.first_block; block < share.last_block; ++block) {
    StepPlace places[kMostRows];
    int64_t count = 0;
    for (int64_t n = share.first_row; n < share.last_row; ++n) {
      const int64_t length = s.LengthOf(n);
      if (step >= length) continue;
      places[count++] = {n, s.backwards ? length - 1 - step : step};
      if (count < kMostRows) continue;
      StepTile<Cell, kMostRows>(s, step, block, places);
      count = 0;
    }
    if (count > 0) AnyStepTile<Cell>(count, s, step, block, places);
  }
}

void InputPartOfAny(const Direction& direction, const Share& share) {
  switch (direction.cell) {
    case RecurrentCell::kLstm:
      return InputPart<Lstm::kGates>(direction, share);
    case RecurrentCell::kGru:
      return InputPart<Gru::kGates>(direction, share);
    case RecurrentCell::kRnn:
      return InputPart<Rnn::kGates>(direction, share);
  }
}

void StepOfAny(const Direction& direction, const Share& share, int64_t step, int phase) {
  switch (direction.cell) {
    case RecurrentCell::kLstm:
      return Step<Lstm>(direction, share, step);
    case RecurrentCell::kGru:
      if (direction.phases() == 1) return Step<Gru>(direction, share, step);
      if (phase == 0) return Step<GruGates>(direction, share, step);
      return Step<GruHidden>(direction, share, step);
    case RecurrentCell::kRnn:
      return Step<Rnn>(direction, share, step);
  }
}

}  // namespace
}  // namespace pt::recurrent::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::recurrent {

HWY_EXPORT(LanesHere);
HWY_EXPORT(InputPartOfAny);
HWY_EXPORT(StepOfAny);

int64_t Lanes() { return HWY_DYNAMIC_DISPATCH(LanesHere)(); }

void ComputeInputPart(const Direction& direction, const Share& share) {
  HWY_DYNAMIC_DISPATCH(InputPartOfAny)(direction, share);
}

void ComputeStep(const Direction& direction, const Share& share, int64_t step, int phase) {
  HWY_DYNAMIC_DISPATCH(StepOfAny)(direction, share, step, phase);
}

}  // namespace pt::recurrent
#endif
