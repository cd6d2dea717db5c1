// DynamicQuantizeLSTM of ONNX Runtime: an LSTM of integer weights. X, and in every step the hidden state, become uint8
// by the range that they have there.
#include <algorithm>
#include <array>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/dynamic_bytes.h"
#include "lib/backend/host_kernels/kernels/lstm_cells.h"
#include "lib/backend/host_kernels/products/integer_gates.h"
#include "partitiontuner/graph/operators/recurrence.h"
#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

using Dims = std::vector<int64_t>;

enum Input : size_t { kX, kW, kR, kB, kLengths, kH, kC, kPeepholes, kWScale, kWZero, kRScale, kRZero };
enum Output : size_t { kY, kLastH, kLastC };

// Of a core: sums of a block of units.
struct Scratch {
  uint64_t x_bytes = 0, x_zeros = 0, x_sums = 0, parts = 0, h = 0, c = 0, h_bytes = 0, h_zeros = 0, h_sums = 0,
           sums = 0;
  uint64_t bytes = 0;
};

struct Layer {
  int64_t time = 0, batch = 0, input = 0, hidden = 0, directions = 1;
  bool reverse = false;
  IntegerGates w, r;
  std::vector<float> bias;          // [directions][columns]
  Dims x, h, c, y, last_h, last_c;  // strides; empty where absent
  Scratch scratch;
  int64_t cores = 1;

  int64_t padded() const { return r.blocks() * r.math.columns; }
};

template <typename T>
T* At(const HostCall& run, uint64_t offset) {
  return reinterpret_cast<T*>(run.scratch + offset);
}

// ---- in the run ----

class LayerRun {
 public:
  LayerRun(const Layer& layer, const HostCall& run) : l_(layer), run_(run) {}

  void Run() {
    const IntegerGates::Rows x = QuantiseX();
    // A direction for each core: then none waits for another after every step.
    const int64_t width = run_.team == nullptr ? 1 : run_.team->width();
    const double step = static_cast<double>(l_.r.panel_bytes()) * 0.05;
    if (l_.directions >= width) {
      ParallelShares(run_.team, l_.directions, static_cast<double>(l_.time) * step, [&](int64_t begin, int64_t end) {
        for (int64_t d = begin; d < end; ++d) RunDirection(x, d, nullptr);
      });
      return;
    }
    for (int64_t d = 0; d < l_.directions; ++d) RunDirection(x, d, run_.team);
  }

 private:
  IntegerGates::Rows QuantiseX() const {
    const int64_t rows = l_.time * l_.batch;
    const auto row = [&](int64_t i) { return run_.input<float>(kX) + i / l_.batch * l_.x[0] + i % l_.batch * l_.x[1]; };
    ByteRange range;
    for (int64_t i = 0; i < rows; ++i) Widen(row(i), l_.input, range);
    const ByteSteps steps = StepsOf(range);
    auto* bytes = At<uint8_t>(run_, l_.scratch.x_bytes);
    for (int64_t i = 0; i < rows; ++i) QuantiseBytes(row(i), l_.input, steps, bytes + i * l_.input);
    auto *zeros = At<int32_t>(run_, l_.scratch.x_zeros), *sums = At<int32_t>(run_, l_.scratch.x_sums);
    std::fill_n(zeros, rows, static_cast<int32_t>(steps.zero));
    if (l_.w.has_zeros) {
      l_.w.math.sum_rows({.a = bytes, .a_row_stride = l_.input, .rows = rows, .depth = l_.input, .sums = sums});
    }
    return {bytes, l_.input, rows, zeros, sums, steps.scale};
  }

  float* H(int64_t d) const { return At<float>(run_, l_.scratch.h) + d * l_.batch * l_.padded(); }
  float* C(int64_t d) const { return At<float>(run_, l_.scratch.c) + d * l_.batch * l_.padded(); }
  float* Parts(int64_t d) const { return At<float>(run_, l_.scratch.parts) + d * l_.time * l_.batch * l_.w.columns(); }

  void RunDirection(const IntegerGates::Rows& x, int64_t d, Team* team) const {
    const int64_t columns = l_.w.columns(), width = l_.w.block_columns();
    const double rows = static_cast<double>(l_.time * l_.batch * width);
    ParallelShares(team, l_.w.blocks(), rows * static_cast<double>(l_.input) * 0.007, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        l_.w.Multiply(x, d, b, l_.bias.data() + d * columns + b * width, Parts(d) + b * width, columns);
      }
    });
    Start(H(d), l_.h, kH, d);
    Start(C(d), l_.c, kC, d);
    for (int64_t step = 0; step < l_.time; ++step) {
      const int64_t t = l_.reverse || d == 1 ? l_.time - 1 - step : step;
      const IntegerGates::Rows h = QuantiseH(d);
      ParallelParts(team, l_.r.blocks(), static_cast<double>(l_.r.panel_bytes() / l_.r.blocks()) * 0.05, l_.cores,
                    [&](int64_t part, int64_t begin, int64_t end) {
                      for (int64_t b = begin; b < end; ++b) Advance(h, d, t, b, team == nullptr ? d : part);
                    });
      for (int64_t n = 0; n < l_.batch && !l_.y.empty(); ++n) {
        std::copy_n(H(d) + n * l_.padded(), l_.hidden,
                    run_.output<float>(kY) + t * l_.y[0] + d * l_.y[1] + n * l_.y[2]);
      }
    }
    Give(H(d), l_.last_h, kLastH, d);
    Give(C(d), l_.last_c, kLastC, d);
  }

  // What lies beside the units is zero, and stays so.
  void Start(float* to, const Dims& strides, size_t input, int64_t d) const {
    std::fill_n(to, l_.batch * l_.padded(), 0.0F);
    for (int64_t n = 0; n < l_.batch && !strides.empty(); ++n) {
      std::copy_n(run_.input<float>(input) + d * strides[0] + n * strides[1], l_.hidden, to + n * l_.padded());
    }
  }

  void Give(const float* from, const Dims& strides, size_t output, int64_t d) const {
    for (int64_t n = 0; n < l_.batch && !strides.empty(); ++n) {
      std::copy_n(from + n * l_.padded(), l_.hidden, run_.output<float>(output) + d * strides[0] + n * strides[1]);
    }
  }

  IntegerGates::Rows QuantiseH(int64_t d) const {
    const int64_t padded = l_.padded(), count = l_.batch * padded;
    ByteRange range;
    Widen(H(d), count, range);
    const ByteSteps steps = StepsOf(range);
    auto* bytes = At<uint8_t>(run_, l_.scratch.h_bytes) + d * count;
    QuantiseBytes(H(d), count, steps, bytes);
    auto *zeros = At<int32_t>(run_, l_.scratch.h_zeros) + d * l_.batch,
         *sums = At<int32_t>(run_, l_.scratch.h_sums) + d * l_.batch;
    std::fill_n(zeros, l_.batch, static_cast<int32_t>(steps.zero));
    if (l_.r.has_zeros) {
      l_.r.math.sum_rows({.a = bytes, .a_row_stride = padded, .rows = l_.batch, .depth = l_.hidden, .sums = sums});
    }
    return {bytes, padded, l_.batch, zeros, sums, steps.scale};
  }

  // A block of units by a step; `core`: whose sums are used.
  void Advance(const IntegerGates::Rows& h, int64_t d, int64_t t, int64_t block, int64_t core) const {
    const int64_t width = l_.r.block_columns(), units = l_.r.math.columns, padded = l_.padded();
    float* sums = At<float>(run_, l_.scratch.sums) + core * l_.batch * width;
    l_.r.Multiply(h, d, block, nullptr, sums, width);
    for (int64_t n = 0; n < l_.batch; ++n) {
      AdvanceLstmCells(Parts(d) + (t * l_.batch + n) * l_.w.columns() + block * width, sums + n * width, units,
                       C(d) + n * padded + block * units, H(d) + n * padded + block * units);
    }
  }

  const Layer& l_;
  const HostCall& run_;
};

// ---- before the run ----

Status PlanScratch(Layer& l) {
  const auto take = [&](std::initializer_list<int64_t> factors) -> Result<uint64_t> {
    const uint64_t at = l.scratch.bytes;
    const auto count = CheckedProduct(std::vector<int64_t>(factors));
    const auto end = count ? CheckedAlignUp(at + static_cast<uint64_t>(*count), kTensorAlignment) : std::nullopt;
    if (!end || *end >= uint64_t{1} << 62)
      return MakeError(ErrorCode::kUnsupported, "host.size", "its memory does not fit 64 bits");
    l.scratch.bytes = *end;
    return at;
  };
  constexpr int64_t kFloat = sizeof(float);
  const int64_t d = l.directions, padded = l.padded();
  PT_ASSIGN(l.scratch.x_bytes, take({l.time, l.batch, l.input}));
  PT_ASSIGN(l.scratch.x_zeros, take({l.time, l.batch, kFloat}));
  PT_ASSIGN(l.scratch.x_sums, take({l.time, l.batch, kFloat}));
  PT_ASSIGN(l.scratch.parts, take({d, l.time, l.batch, l.w.columns(), kFloat}));
  PT_ASSIGN(l.scratch.h, take({d, l.batch, padded, kFloat}));
  PT_ASSIGN(l.scratch.c, take({d, l.batch, padded, kFloat}));
  PT_ASSIGN(l.scratch.h_bytes, take({d, l.batch, padded}));
  PT_ASSIGN(l.scratch.h_zeros, take({d, l.batch, kFloat}));
  PT_ASSIGN(l.scratch.h_sums, take({d, l.batch, kFloat}));
  PT_ASSIGN(l.scratch.sums, take({std::max(d, l.cores), l.batch, l.r.block_columns(), kFloat}));
  return {};
}

Status ReadAttributes(const HostSite& site, Layer& l) {
  const Result<RecurrenceNode> node = ReadRecurrence(site.node());
  if (!node.ok()) return site.Unsupported(node.error().message);
  const auto activations = ActivationsOf(*node, RecurrentCell::kLstm);
  if (!activations.ok()) return site.Unsupported(activations.error().message);
  const std::vector<RecurrentActivation> usual = UsualActivations(RecurrentCell::kLstm);
  for (size_t i = 0; i < activations->size(); ++i) {
    if ((*activations)[i] != usual[i % usual.size()]) return site.Unsupported("its activations are not the usual ones");
  }
  if (node->clip > 0 || node->input_forget || node->batch_first) return site.Unsupported("it clips or couples gates");
  l.directions = node->directions();
  l.reverse = node->direction == RecurrenceDirection::kReverse;
  if (site.has(kLengths) || site.has(kPeepholes)) return site.Unsupported("it has sequence lengths or peepholes");
  return {};
}

// The strides of a float32 tensor whose last dim lies side by side; empty where it is absent.
Result<Dims> OperandStrides(const HostSite& site, const HostOperand& operand, const Dims& dims) {
  if (!operand.present()) return Dims();
  const bool side_by_side = dims.back() == 1 || operand.strides().back() == 1;
  if (operand.type() != DataType::kFloat32 || operand.dims() != dims || !side_by_side)
    return site.Unsupported("an operand is not a float32 tensor of the dims that its weights ask for");
  return operand.strides();
}

Status ReadOperands(const HostSite& site, Layer& l) {
  if (site.in[kX].rank() != 3) return site.Unsupported("X has not three dims");
  l.time = site.in[kX].dims()[0];
  l.batch = site.in[kX].dims()[1];
  l.input = l.w.depth;
  l.hidden = l.r.units;
  if (l.w.directions != l.directions || l.r.directions != l.directions || l.w.units != l.hidden ||
      l.r.depth != l.hidden || l.time == 0 || l.batch == 0) {
    return site.Unsupported("the dims of its weights do not fit");
  }
  const Dims states = {l.directions, l.batch, l.hidden};
  PT_ASSIGN(l.x, OperandStrides(site, site.in[kX], {l.time, l.batch, l.input}));
  for (const auto& [strides, input] : {std::pair(&l.h, kH), std::pair(&l.c, kC)}) {
    if (!site.has(input)) continue;
    PT_ASSIGN(*strides, OperandStrides(site, site.in[input], states));
  }
  const std::array<std::pair<Dims*, Dims>, 3> made = {
      {{&l.y, {l.time, l.directions, l.batch, l.hidden}}, {&l.last_h, states}, {&l.last_c, states}}};
  for (size_t i = 0; i < std::min(made.size(), site.out.size()); ++i) {
    PT_ASSIGN(*made[i].first, OperandStrides(site, site.out[i], made[i].second));
  }
  return {};
}

Status ReadBias(const HostSite& site, Layer& l) {
  const int64_t numbers = IntegerGates::kGates * l.hidden;
  l.bias.assign(static_cast<size_t>(l.directions * l.w.columns()), 0.0F);
  if (!site.has(kB)) return {};
  if (!site.is_constant(kB) || site.in[kB].type() != DataType::kFloat32 ||
      site.in[kB].dims() != Dims{l.directions, 2 * numbers}) {
    return site.Unsupported("B is not a constant of the dims that its weights ask for");
  }
  const auto from = site.in[kB].constant->values<float>();
  for (int64_t d = 0; d < l.directions; ++d) {
    for (int64_t i = 0; i < numbers; ++i) {
      const auto at = static_cast<size_t>(d * 2 * numbers + i);
      l.bias[static_cast<size_t>(d * l.w.columns() + l.w.PlaceOf(i / l.hidden, i % l.hidden))] =
          from[at] + from[at + static_cast<size_t>(numbers)];
    }
  }
  return {};
}

Result<HostRoutine> DynamicQuantizeLstm(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 12));
  if (!site.has(kX)) return site.Unsupported("X is missing");
  auto layer = std::make_shared<Layer>();
  PT_CHECK_OK(ReadAttributes(site, *layer));
  PT_ASSIGN(layer->w, ReadIntegerGates(site, kW, kWScale, kWZero));
  PT_ASSIGN(layer->r, ReadIntegerGates(site, kR, kRScale, kRZero));
  PT_CHECK_OK(ReadOperands(site, *layer));
  PT_CHECK_OK(ReadBias(site, *layer));
  layer->cores = site.width;
  PT_CHECK_OK(PlanScratch(*layer));
  HostRoutine routine;
  routine.scratch_bytes = layer->scratch.bytes;
  routine.pack = [layer](CompileContext& context) -> Status {
    PT_CHECK_OK(layer->w.Pack(context));
    return layer->r.Pack(context);
  };
  routine.run = [layer](const HostCall& run) -> Status {
    LayerRun(*layer, run).Run();
    return {};
  };
  return routine;
}

constexpr std::array kQuantisedLstmOperators = {
    HostRow{.op = "DynamicQuantizeLSTM", .make = DynamicQuantizeLstm, .domain = "com.microsoft"}};

}  // namespace

std::span<const HostRow> QuantisedLstmOperators() { return kQuantisedLstmOperators; }

}  // namespace pt::host
