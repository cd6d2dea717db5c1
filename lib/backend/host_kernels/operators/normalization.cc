// Layer and RMS normalisation, Softmax and LogSoftmax of float32, where the normalised dims are contiguous. Rows may be
// stored as bfloat16.
#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/kernels/bfloat16.h"
#include "lib/backend/host_kernels/kernels/rows.h"
#include "lib/backend/host_kernels/kernels/walk.h"
#include "lib/backend/host_kernels/operator.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/softmax.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

struct Rows {
  Walk<2> outer;    // offsets in the input and the output
  int64_t row = 1;  // elements
  RowFunction function = nullptr;
  double work = 1;  // nanoseconds an element, roughly
  float epsilon = 0;
  bool short_in = false, short_out = false;  // stored as bfloat16
  int64_t row_floats = 0;                    // of memory for each part of the work
};

// Dims from `first` to before `last` are a row, the others count rows.
Result<Rows> RowsOf(const HostSite& site, size_t first, size_t last) {
  const HostOperand &x = site.in[0], &y = site.out[0];
  PT_CHECK_OK(site.NeedOutput(0, y.type(), x.dims()));
  if (!y.present() || !site.is_float32(x) || !site.is_float32(y)) return site.Unsupported("it is not of float32");
  for (size_t i = 1; i < site.out.size(); ++i) {
    if (site.out[i].present()) return site.Unsupported("it has more than one output");
  }
  Walk<2> inner;
  Rows rows;
  rows.short_in = site.is_shortened(x);
  rows.short_out = site.is_shortened(y);
  for (size_t d = last; d-- > first;) inner.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  if (!inner.is_contiguous()) return site.Unsupported("its rows are not contiguous");
  rows.row = inner.count;
  for (size_t d = x.dims().size(); d-- > 0;) {
    if (d < first || d >= last) rows.outer.Push(x.dims()[d], {x.strides()[d], y.strides()[d]});
  }
  return rows;
}

// One part of the work: row by row, by way of `memory` where rows are stored as bfloat16.
template <typename In, typename Out>
void RunRows(const Rows& rows, RowCall call, const void* x, void* y, float* memory, int64_t begin, int64_t end) {
  const Bfloat16Conversions conversions = FindBfloat16Conversions();
  Cursor<2> at(rows.outer, begin);
  for (int64_t r = begin; r < end; ++r, at.Next()) {
    const In* from = static_cast<const In*>(x) + at.offsets()[0];
    Out* to = static_cast<Out*>(y) + at.offsets()[1];
    if constexpr (std::is_same_v<In, Bfloat16>) {
      conversions.widen(from, memory, rows.row);
      call.x = memory;
    } else {
      call.x = from;
    }
    if constexpr (std::is_same_v<Out, Bfloat16>) {
      call.y = memory;
      rows.function(call);
      conversions.narrow(memory, to, rows.row);
    } else {
      call.y = to;
      rows.function(call);
    }
  }
}

auto RunnerOf(const Rows& rows) {
  return rows.short_in ? (rows.short_out ? RunRows<Bfloat16, Bfloat16> : RunRows<Bfloat16, float>)
                       : (rows.short_out ? RunRows<float, Bfloat16> : RunRows<float, float>);
}

Result<HostRoutine> RoutineOf(const HostSite& site, Rows rows) {
  constexpr int64_t kPartsOfCore = 4, kAlign = 16;
  HostRoutine routine;
  if (rows.short_in == rows.short_out) routine.in_place = {0};
  if (rows.short_in || rows.short_out) {
    rows.row_floats = (rows.row + kAlign - 1) / kAlign * kAlign;
    const auto bytes = CheckedMul(rows.row_floats, site.width * kPartsOfCore * static_cast<int64_t>(sizeof(float)));
    if (!bytes) return site.Unsupported("its rows are too long");
    routine.scratch_bytes = static_cast<uint64_t>(*bytes);
  }
  routine.run = [rows = std::move(rows)](const HostCall& run) -> Status {
    if (rows.row == 0 || rows.outer.count == 0) return {};
    const RowCall call{.n = rows.row,
                       .scale = run.in.size() > 1 ? run.input<float>(1) : nullptr,
                       .bias = run.in.size() > 2 ? run.input<float>(2) : nullptr,
                       .epsilon = rows.epsilon};
    const int64_t most = (run.team == nullptr ? 1 : run.team->width()) * kPartsOfCore;
    ParallelParts(run.team, rows.outer.count, static_cast<double>(rows.row) * rows.work + 10, most,
                  [&, compute = RunnerOf(rows)](int64_t part, int64_t begin, int64_t end) {
                    float* memory = reinterpret_cast<float*>(run.scratch) + part * rows.row_floats;
                    compute(rows, call, run.in[0], run.out[0], memory, begin, end);
                  });
    return {};
  };
  return routine;
}

// Scale and bias: one element for each of a row.
Status NeedRowOf(const HostSite& site, size_t i, std::span<const int64_t> row_dims) {
  if (!site.has(i)) return {};
  const HostOperand& operand = site.in[i];
  Walk<1> walk;
  for (size_t d = operand.dims().size(); d-- > 0;) walk.Push(operand.dims()[d], {operand.strides()[d]});
  const bool fits = std::equal(operand.dims().begin(), operand.dims().end(), row_dims.begin(), row_dims.end());
  if (operand.type() == DataType::kFloat32 && fits && walk.is_contiguous()) return {};
  return site.Unsupported("scale or bias are not contiguous float32 of a row's dims");
}

template <RowKind kind>
Result<HostRoutine> NormalizeRows(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, kind == RowKind::kNormalize ? 3 : 2));
  if (!HasFloat32Statistics(site.node())) return site.Unsupported("its statistics are not float32");
  PT_ASSIGN(const size_t first,
            OrUnsupported(ReadAxis(site.node(), site.graph.opset(), site.in[0].dims().size()), site));
  const std::span<const int64_t> row_dims = std::span(site.in[0].dims()).subspan(first);
  for (size_t i = 1; i < site.in.size(); ++i) PT_CHECK_OK(NeedRowOf(site, i, row_dims));
  PT_ASSIGN(Rows rows, RowsOf(site, first, site.in[0].dims().size()));
  rows.function = FindRowFunction(kind);
  rows.epsilon = ReadEpsilon(site.node());
  rows.work = 0.4;
  return RoutineOf(site, std::move(rows));
}

template <RowKind kind>
Result<HostRoutine> SoftmaxRows(const HostSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const SoftmaxNode softmax,
            OrUnsupported(ReadSoftmax(site.node(), site.graph.opset(), site.in[0].dims().size()), site));
  if (!softmax.is_along_one_dim()) return site.Unsupported("its vectors lie along several dims or none");
  PT_ASSIGN(Rows rows, RowsOf(site, softmax.begin, softmax.end));
  if (rows.short_in) return site.Unsupported("its exponents must not be rounded");
  rows.function = FindRowFunction(kind);
  rows.work = 0.8;
  return RoutineOf(site, std::move(rows));
}

constexpr std::array kNormalizationOperators = {
    HostRow{"LayerNormalization", NormalizeRows<RowKind::kNormalize>},
    HostRow{"LogSoftmax", SoftmaxRows<RowKind::kLogSoftmax>},
    HostRow{"RMSNormalization", NormalizeRows<RowKind::kNormalizeRms>},
    HostRow{"Softmax", SoftmaxRows<RowKind::kSoftmax>},
};

}  // namespace

std::span<const HostRow> NormalizationOperators() { return kNormalizationOperators; }

}  // namespace pt::host
