// LSTM, GRU and RNN: both directions, initial states, sequence lengths, peepholes, clipping, all activations. And ONNX
// Runtime's LSTM with integer weights, which rounds X, and the hidden state of every step, to 8 bits.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/recurrence.h"

namespace pt::reference {
namespace {

// NaN passes through all of them.
template <typename T>
T Activate(const RecurrentActivation& activation, T x) {
  const T a = static_cast<T>(activation.alpha), b = static_cast<T>(activation.beta);
  switch (activation.function) {
    case RecurrentFunction::kSigmoid:
      return T{1} / (T{1} + std::exp(-x));
    case RecurrentFunction::kTanh:
      return std::tanh(x);
    case RecurrentFunction::kRelu:
      return x < 0 ? T{0} : x;
    case RecurrentFunction::kAffine:
      return a * x + b;
    case RecurrentFunction::kLeakyRelu:
      return x < 0 ? a * x : x;
    case RecurrentFunction::kThresholdedRelu:
      return x <= a ? T{0} : x;
    case RecurrentFunction::kScaledTanh:
      return a * std::tanh(b * x);
    case RecurrentFunction::kHardSigmoid: {
      const T line = a * x + b;
      return line < 0 ? T{0} : line > 1 ? T{1} : line;
    }
    case RecurrentFunction::kElu:
      return x < 0 ? a * std::expm1(x) : x;
    case RecurrentFunction::kSoftsign:
      return x / (T{1} + std::fabs(x));
    case RecurrentFunction::kSoftplus:
      return std::fmax(x, T{0}) + std::log1p(std::exp(-std::fabs(x)));
  }
  return x;
}

using Cell = RecurrentCell;

// How integer weights lie: [direction][depth][gate rows], with one scale and zero point a direction, or one a gate row.
struct IntegerWeights {
  size_t at = 0, scale = 0, zero = 0;  // inputs
  bool is_signed = false, by_row = false;
};

struct Shape {
  Cell cell = Cell::kLstm;
  int64_t time = 0, batch = 0, input = 0, hidden = 0, gates = 1, directions = 1;
  bool reverse_first = false;  // direction "reverse"
  bool batch_first = false;    // layout 1
  bool linear_before_reset = false, input_forget = false;
  double clip = 0;                                             // 0: none
  std::vector<RecurrentActivation> activations;                // per direction
  std::optional<std::array<IntegerWeights, 2>> integers = {};  // W and R, where these are integers

  int64_t gate_rows() const { return gates * hidden; }
  // Offsets of rows in Y and in the states.
  int64_t y_row(int64_t t, int64_t d, int64_t b) const {
    return (batch_first ? (b * time + t) * directions + d : (t * directions + d) * batch + b) * hidden;
  }
  int64_t state_row(int64_t d, int64_t b) const { return (batch_first ? b * directions + d : d * batch + b) * hidden; }
};

Result<std::vector<RecurrentActivation>> ReadActivations(const ReferenceSite& site, const RecurrenceNode& node,
                                                         Cell cell) {
  Result<std::vector<RecurrentActivation>> read = ActivationsOf(node, cell);
  return !read.ok() && read.error().code == ErrorCode::kUnsupported ? OrUnsupported(std::move(read), site)
                                                                    : OrInvalid(std::move(read), site);
}

Status CheckOperand(const ReferenceSite& site, size_t i, const std::vector<int64_t>& dims, const char* name) {
  PT_CHECK_OK(site.NeedDims(i, name, dims));
  if (!site.has(i)) return {};
  if (i != 4 && site.in[i].type != site.in[0].type) return site.Invalid("its inputs are of different types");
  return {};
}

Result<Shape> ReadShape(ReferenceSite& site, Cell cell) {
  PT_CHECK_OK(site.NeedInputs(3, cell == Cell::kLstm ? 8 : 6));
  PT_ASSIGN(const RecurrenceNode node, OrInvalid(ReadRecurrence(site.node), site));
  Shape s;
  s.cell = cell;
  s.gates = cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1;
  s.batch_first = node.batch_first;
  const std::vector<int64_t>& x = site.in[0].dims;
  const std::vector<int64_t>& r = site.in[2].dims;
  if (x.size() != 3 || r.size() != 3) return site.Invalid("X and R need three dims");
  s.time = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.input = x[2];
  s.hidden = node.hidden.value_or(r[2]);
  s.directions = node.directions();
  s.reverse_first = node.direction == RecurrenceDirection::kReverse;
  if (s.hidden < 0 || s.hidden > (int64_t{1} << 30)) return site.Invalid("hidden_size is out of range");
  const int64_t d = s.directions, rows = s.gate_rows();
  PT_CHECK_OK(CheckOperand(site, 1, {d, rows, s.input}, "W"));
  PT_CHECK_OK(CheckOperand(site, 2, {d, rows, s.hidden}, "R"));
  PT_CHECK_OK(CheckOperand(site, 3, {d, 2 * rows}, "B"));
  PT_CHECK_OK(CheckOperand(site, 4, {s.batch}, "sequence_lens"));
  if (site.has(4) && site.in[4].type != DataType::kInt32) return site.Invalid("sequence_lens is not int32");
  const std::vector<int64_t> state =
      s.batch_first ? std::vector<int64_t>{s.batch, d, s.hidden} : std::vector<int64_t>{d, s.batch, s.hidden};
  PT_CHECK_OK(CheckOperand(site, 5, state, "initial_h"));
  if (cell == Cell::kLstm) {
    PT_CHECK_OK(CheckOperand(site, 6, state, "initial_c"));
    PT_CHECK_OK(CheckOperand(site, 7, {d, 3 * s.hidden}, "P"));
  }
  s.clip = node.clip;
  s.linear_before_reset = node.linear_before_reset;
  s.input_forget = node.input_forget;
  PT_ASSIGN(s.activations, ReadActivations(site, node, cell));
  const DataType type = site.in[0].type;
  PT_CHECK_OK(site.Out(0, type,
                       s.batch_first ? std::vector<int64_t>{s.batch, s.time, d, s.hidden}
                                     : std::vector<int64_t>{s.time, d, s.batch, s.hidden}));
  PT_CHECK_OK(site.Out(1, type, state));
  if (cell == Cell::kLstm) PT_CHECK_OK(site.Out(2, type, state));
  return s;
}

// Memory of one run, in scratch.
template <typename T>
struct Buffers {
  T* gates = nullptr;      // [time · batch][gate rows]: input part, then the sum
  T* recurrent = nullptr;  // [batch][gate rows]: recurrent part of one step
  T* h = nullptr;          // [batch][hidden]
  T* c = nullptr;
  T* reset = nullptr;  // GRU: r ∘ h
  // Integer weights of a direction, as [gate rows][depth] and scales; and what is multiplied with them.
  T *weights[2] = {}, *scales[2] = {}, *steps = nullptr;
};

// Weights of a direction. Whole numbers where there are scales.
template <typename T>
struct Matrix {
  const T* numbers = nullptr;  // [gate rows][depth]
  const T* scales = nullptr;   // [gate rows]
};

template <typename T>
class Recurrence {
 public:
  explicit Recurrence(Shape shape) : s_(std::move(shape)) {}

  uint64_t scratch_bytes() const {
    uint64_t bytes = 0;
    Place(nullptr, bytes);
    return bytes;
  }

  Status operator()(const TensorCall& run) const {
    uint64_t bytes = 0;
    const Buffers<T> memory = Place(run.scratch, bytes);
    for (int64_t b = 0; b < s_.batch && run.in<int32_t>(4) != nullptr; ++b) {
      if (run.in<int32_t>(4)[b] < 0 || run.in<int32_t>(4)[b] > s_.time) {
        return MakeError(ErrorCode::kInvalidInput, "reference.length", "a sequence length is out of range");
      }
    }
    for (int64_t d = 0; d < s_.directions; ++d) {
      Matrix<T> w, r;
      if (s_.integers) {
        w = ReadIntegers(run, (*s_.integers)[0], s_.input, d, memory.weights[0], memory.scales[0]);
        r = ReadIntegers(run, (*s_.integers)[1], s_.hidden, d, memory.weights[1], memory.scales[1]);
      } else {
        w = {run.in<T>(1) + d * s_.gate_rows() * s_.input};
        r = {run.in<T>(2) + d * s_.gate_rows() * s_.hidden};
      }
      RunDirection(run, memory, w, r, d);
    }
    return {};
  }

 private:
  // Whole cache lines.
  static uint64_t LineBytes(int64_t count) { return (static_cast<uint64_t>(count) * sizeof(T) + 63) / 64 * 64; }

  Buffers<T> Place(std::byte* base, uint64_t& bytes) const {
    const auto take = [&](int64_t count) {
      T* at = base == nullptr ? nullptr : reinterpret_cast<T*>(base + bytes);
      bytes += LineBytes(count);
      return at;
    };
    const int64_t rows = s_.gate_rows(), states = s_.batch * s_.hidden;
    Buffers<T> memory;
    memory.gates = take(s_.time * s_.batch * rows);
    memory.recurrent = take(s_.batch * rows);
    memory.h = take(states);
    memory.c = take(states);
    memory.reset = take(states);
    if (s_.integers) {
      for (size_t i = 0; i < 2; ++i) {
        memory.weights[i] = take(rows * (i == 0 ? s_.input : s_.hidden));
        memory.scales[i] = take(rows);
      }
      memory.steps = take(std::max(s_.time * s_.batch * s_.input, states));
    }
    return memory;
  }

  // Less their zero points, turned as those of an LSTM lie.
  Matrix<T> ReadIntegers(const TensorCall& run, const IntegerWeights& from, int64_t depth, int64_t d, T* numbers,
                         T* scales) const {
    const int64_t rows = s_.gate_rows(), first = d * (from.by_row ? rows : 1);
    const auto read = [&](size_t input, int64_t i) {
      return from.is_signed ? T(run.in<int8_t>(input)[i]) : T(run.in<uint8_t>(input)[i]);
    };
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t own = first + (from.by_row ? row : 0);
      scales[row] = static_cast<T>(run.in<float>(from.scale)[own]);
      for (int64_t k = 0; k < depth; ++k)
        numbers[row * depth + k] = read(from.at, (d * depth + k) * rows + row) - read(from.zero, own);
    }
    return {numbers, scales};
  }

  // As DynamicQuantizeLinear does: `steps` become whole numbers, and their scale is returned.
  static T Round(const T* numbers, int64_t count, T* steps) {
    T low = 0, high = 0;
    for (int64_t i = 0; i < count; ++i) {
      low = numbers[i] < low ? numbers[i] : low;
      high = numbers[i] > high ? numbers[i] : high;
    }
    const T scale = (high - low) / T{255}, zero = scale == 0 ? T{0} : std::nearbyint(-low / scale);
    for (int64_t i = 0; i < count; ++i) {
      const T at = scale == 0 ? T{0} : std::nearbyint(numbers[i] / scale) + zero;
      steps[i] = (at >= 0 ? std::min(at, T{255}) : T{0}) - zero;
    }
    return scale;
  }

  // c[m][gate rows] = rows (m × k) · the transpose of weights (gate rows × k), summed in double.
  void Multiply(const TensorCall& run, const Buffers<T>& memory, const T* rows, int64_t m, int64_t k,
                const Matrix<T>& weights, T* c) const {
    const int64_t n = s_.gate_rows();
    const T scale = weights.scales != nullptr ? Round(rows, m * k, memory.steps) : T{1};
    if (weights.scales != nullptr) rows = memory.steps;
    ParallelRanges(run.team, m * n, static_cast<double>(k), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const T* row = rows + at / n * k;
        const T* weight = weights.numbers + at % n * k;
        double sum = 0;
        for (int64_t q = 0; q < k; ++q) sum += static_cast<double>(row[q]) * weight[q];
        c[at] = static_cast<T>(sum);
        if (weights.scales != nullptr) c[at] *= scale * weights.scales[at % n];
      }
    });
  }

  void RunDirection(const TensorCall& run, const Buffers<T>& memory, const Matrix<T>& w, const Matrix<T>& r,
                    int64_t d) const {
    const int64_t rows = s_.gate_rows();
    // Rows of X are dense in time · batch (or batch · time): gates keep X's order.
    // Where X is rounded, its range is that of the steps that are run.
    const int64_t steps = s_.integers ? Longest(run) : s_.time;
    Multiply(run, memory, run.in<T>(0), steps * s_.batch, s_.input, w, memory.gates);
    AddBias(run, memory.gates, d);
    for (int64_t b = 0; b < s_.batch; ++b) {
      for (int64_t i = 0; i < s_.hidden; ++i) {
        const int64_t at = s_.state_row(d, b) + i;
        memory.h[b * s_.hidden + i] = run.in<T>(5) != nullptr ? run.in<T>(5)[at] : T{0};
        memory.c[b * s_.hidden + i] = s_.cell == Cell::kLstm && run.in<T>(6) != nullptr ? run.in<T>(6)[at] : T{0};
      }
    }
    const bool reverse = s_.reverse_first || d == 1;
    for (int64_t step = 0; step < s_.time; ++step) {
      Multiply(run, memory, memory.h, s_.batch, s_.hidden, r, memory.recurrent);
      for (int64_t b = 0; b < s_.batch; ++b) {
        const int64_t length = LengthOf(run, b);
        // A reversed sequence starts at its own end; past its end a sequence makes zeros and keeps its state.
        const bool active = step < length;
        const int64_t t = active && reverse ? length - 1 - step : step;
        T* h = memory.h + b * s_.hidden;
        if (active) {
          UpdateCell(run, memory.gates + RowIndex(t, b) * rows, memory.recurrent + b * rows, h,
                     memory.c + b * s_.hidden, d);
        }
        if (run.out<T>(0) == nullptr) continue;
        T* y = run.out<T>(0) + s_.y_row(t, d, b);
        for (int64_t i = 0; i < s_.hidden; ++i) y[i] = active ? h[i] : T{0};
      }
      if (s_.cell == Cell::kGru && !s_.linear_before_reset) FinishGru(run, memory, r, d, step, reverse);
    }
    for (int64_t b = 0; b < s_.batch; ++b) {
      const int64_t to = s_.state_row(d, b);
      // A sequence without steps has no last output.
      const bool none = run.in<int32_t>(4) != nullptr && LengthOf(run, b) == 0;
      for (int64_t i = 0; i < s_.hidden; ++i) {
        const int64_t from = b * s_.hidden + i;
        if (run.out<T>(1) != nullptr) run.out<T>(1)[to + i] = none ? T{0} : memory.h[from];
        if (s_.cell == Cell::kLstm && run.out<T>(2) != nullptr) run.out<T>(2)[to + i] = none ? T{0} : memory.c[from];
      }
    }
  }

  int64_t Longest(const TensorCall& run) const {
    int64_t longest = 0;
    for (int64_t b = 0; b < s_.batch; ++b) longest = std::max(longest, LengthOf(run, b));
    return longest;
  }

  int64_t LengthOf(const TensorCall& run, int64_t b) const {
    return run.in<int32_t>(4) != nullptr ? run.in<int32_t>(4)[b] : s_.time;
  }

  int64_t RowIndex(int64_t t, int64_t b) const { return s_.batch_first ? b * s_.time + t : t * s_.batch + b; }

  // Wb + Rb, except GRU's hidden Rb when the reset comes after it.
  void AddBias(const TensorCall& run, T* gates, int64_t d) const {
    const T* bias = run.in<T>(3);
    if (bias == nullptr) return;
    const int64_t rows = s_.gate_rows();
    bias += d * 2 * rows;
    for (int64_t row = 0; row < s_.time * s_.batch; ++row) {
      for (int64_t i = 0; i < rows; ++i) {
        const bool later = s_.cell == Cell::kGru && s_.linear_before_reset && i >= 2 * s_.hidden;
        gates[row * rows + i] += bias[i] + (later ? T{0} : bias[rows + i]);
      }
    }
  }

  // Of what goes into an activation, the one before the hidden state too. NaN passes.
  T Clip(T x) const {
    const T limit = static_cast<T>(s_.clip);
    if (s_.clip <= 0) return x;
    return x < -limit ? -limit : x > limit ? limit : x;
  }

  void UpdateCell(const TensorCall& run, const T* gates, const T* recurrent, T* h, T* c, int64_t d) const {
    const int64_t n = s_.hidden;
    if (s_.cell == Cell::kRnn) {
      const RecurrentActivation& f = s_.activations[static_cast<size_t>(d)];
      for (int64_t i = 0; i < n; ++i) h[i] = Activate(f, Clip(gates[i] + recurrent[i]));
    } else if (s_.cell == Cell::kLstm) {
      UpdateLstm(run, gates, recurrent, h, c, d);
    } else {
      UpdateGru(run, gates, recurrent, h, c, d);
    }
  }

  void UpdateLstm(const TensorCall& run, const T* gates, const T* recurrent, T* h, T* c, int64_t d) const {
    const int64_t n = s_.hidden;
    const RecurrentActivation& f = s_.activations[static_cast<size_t>(3 * d)];
    const RecurrentActivation& g = s_.activations[static_cast<size_t>(3 * d + 1)];
    const RecurrentActivation& last = s_.activations[static_cast<size_t>(3 * d + 2)];
    const T* p = run.in<T>(7) == nullptr ? nullptr : run.in<T>(7) + d * 3 * n;  // order: input, output, forget
    for (int64_t i = 0; i < n; ++i) {
      const T to_input = gates[i] + recurrent[i] + (p != nullptr ? p[i] * c[i] : T{0});
      const T to_forget = gates[2 * n + i] + recurrent[2 * n + i] + (p != nullptr ? p[2 * n + i] * c[i] : T{0});
      const T input = Activate(f, Clip(to_input));
      const T forget = s_.input_forget ? T{1} - input : Activate(f, Clip(to_forget));
      const T fresh = Activate(g, Clip(gates[3 * n + i] + recurrent[3 * n + i]));
      c[i] = forget * c[i] + input * fresh;
      const T output = Activate(f, Clip(gates[n + i] + recurrent[n + i] + (p != nullptr ? p[n + i] * c[i] : T{0})));
      h[i] = output * Activate(last, Clip(c[i]));
    }
  }

  // With the reset applied before the product, the hidden gate waits for r ∘ h: kept in c until FinishGru.
  void UpdateGru(const TensorCall& run, const T* gates, const T* recurrent, T* h, T* c, int64_t d) const {
    const int64_t n = s_.hidden;
    const RecurrentActivation& f = s_.activations[static_cast<size_t>(2 * d)];
    const RecurrentActivation& g = s_.activations[static_cast<size_t>(2 * d + 1)];
    const T* bias = run.in<T>(3) == nullptr ? nullptr : run.in<T>(3) + d * 2 * s_.gate_rows() + s_.gate_rows() + 2 * n;
    for (int64_t i = 0; i < n; ++i) {
      const T reset = Activate(f, Clip(gates[n + i] + recurrent[n + i]));
      if (!s_.linear_before_reset) {
        c[i] = reset * h[i];
        continue;
      }
      const T update = Activate(f, Clip(gates[i] + recurrent[i]));
      const T fresh =
          Activate(g, Clip(gates[2 * n + i] + reset * (recurrent[2 * n + i] + (bias != nullptr ? bias[i] : T{0}))));
      h[i] = (T{1} - update) * fresh + update * h[i];
    }
  }

  void FinishGru(const TensorCall& run, const Buffers<T>& memory, const Matrix<T>& r, int64_t d, int64_t step,
                 bool reverse) const {
    const int64_t n = s_.hidden, rows = s_.gate_rows();
    const RecurrentActivation& f = s_.activations[static_cast<size_t>(2 * d)];
    const RecurrentActivation& g = s_.activations[static_cast<size_t>(2 * d + 1)];
    // The update gate still needs R·h, so R·(r ∘ h) goes where h's candidate is made.
    for (int64_t b = 0; b < s_.batch; ++b) {
      for (int64_t i = 0; i < n; ++i) memory.reset[b * n + i] = memory.recurrent[b * rows + i];
    }
    Multiply(run, memory, memory.c, s_.batch, n, r, memory.recurrent);
    for (int64_t b = 0; b < s_.batch; ++b) {
      const int64_t length = LengthOf(run, b);
      if (step >= length) continue;
      const int64_t t = reverse ? length - 1 - step : step;
      const T* gates = memory.gates + RowIndex(t, b) * rows;
      T* h = memory.h + b * n;
      for (int64_t i = 0; i < n; ++i) {
        const T update = Activate(f, Clip(gates[i] + memory.reset[b * n + i]));
        const T fresh = Activate(g, Clip(gates[2 * n + i] + memory.recurrent[b * rows + 2 * n + i]));
        h[i] = (T{1} - update) * fresh + update * h[i];
        if (run.out<T>(0) != nullptr) run.out<T>(0)[s_.y_row(t, d, b) + i] = h[i];
      }
    }
  }

  Shape s_;
};

template <Cell cell>
Result<ReferenceRoutine> Recurrent(ReferenceSite& site) {
  PT_ASSIGN(const Shape shape, ReadShape(site, cell));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    Recurrence<T> recurrence(shape);
    ReferenceRoutine routine;
    routine.scratch_bytes = recurrence.scratch_bytes();
    routine.run = std::move(recurrence);
    return routine;
  });
}

Result<IntegerWeights> ReadIntegerWeights(const ReferenceSite& site, IntegerWeights weights, const std::string& name) {
  const DataType type = site.in[weights.at].type;
  const std::vector<int64_t>& dims = site.in[weights.at].dims;
  if (dims.size() != 3) return site.Invalid(name + " needs three dims");
  if (type != DataType::kInt8 && type != DataType::kUint8) return site.Invalid(name + " is not of int8 or uint8");
  if (!site.has(weights.scale) || !site.has(weights.zero)) return site.Invalid(name + " has no scale or zero point");
  if (site.in[weights.scale].type != DataType::kFloat32) return site.Invalid(name + "_scale is not float32");
  if (site.in[weights.zero].type != type) return site.Invalid(name + "_zero_point is of another type than " + name);
  weights.is_signed = type == DataType::kInt8;
  weights.by_row = site.in[weights.scale].dims.size() == 2;
  const std::vector<int64_t> beside =
      weights.by_row ? std::vector<int64_t>{dims[0], dims[2]} : std::vector<int64_t>{dims[0]};
  PT_CHECK_OK(site.NeedDims(weights.scale, name + "_scale", beside));
  PT_CHECK_OK(site.NeedDims(weights.zero, name + "_zero_point", beside));
  return weights;
}

// ONNX Runtime's: W and R are [directions, depth, 4 · hidden]. Ranges are those of all steps of X that are run and, in
// every step, of the hidden state of all entries of the batch, whether their sequences have ended or not.
Result<ReferenceRoutine> DynamicQuantizeLstm(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 12));
  if (site.in[0].type != DataType::kFloat32) return site.Unsupported("is supported for float32 alone");
  PT_ASSIGN(const IntegerWeights w, ReadIntegerWeights(site, {.at = 1, .scale = 8, .zero = 9}, "W"));
  PT_ASSIGN(const IntegerWeights r, ReadIntegerWeights(site, {.at = 2, .scale = 10, .zero = 11}, "R"));
  ReferenceSite plain = site;
  plain.in.resize(8);
  for (size_t i : {1, 2}) {
    plain.in[i].type = DataType::kFloat32;
    std::swap(plain.in[i].dims[1], plain.in[i].dims[2]);
  }
  PT_ASSIGN(Shape shape, ReadShape(plain, Cell::kLstm));
  site.out = plain.out;
  shape.integers = {w, r};
  Recurrence<float> recurrence(std::move(shape));
  ReferenceRoutine routine;
  routine.scratch_bytes = recurrence.scratch_bytes();
  routine.run = std::move(recurrence);
  return routine;
}

constexpr std::array kRecurrentOperators = {
    ReferenceRow{.op = "DynamicQuantizeLSTM", .make = DynamicQuantizeLstm, .domain = "com.microsoft"},
    ReferenceRow{.op = "GRU", .make = Recurrent<Cell::kGru>, .feeding = Feeding::kWidened, .since = 7},
    ReferenceRow{.op = "LSTM", .make = Recurrent<Cell::kLstm>, .feeding = Feeding::kWidened, .since = 7},
    ReferenceRow{.op = "RNN", .make = Recurrent<Cell::kRnn>, .feeding = Feeding::kWidened, .since = 7},
};

}  // namespace

std::span<const ReferenceRow> RecurrentOperators() { return kRecurrentOperators; }

}  // namespace pt::reference
