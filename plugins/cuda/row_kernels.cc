// Reductions over any axes, softmax along one, normalisation of layers: rows of a block each.
#include <algorithm>
#include <array>

#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/reductions.h"
#include "partitiontuner/graph/operators/softmax.h"
#include "plugins/cuda/rows.h"

namespace pt::cuda {
namespace {

// NaN is kept, as the reference library keeps it.
constexpr RowFold kMost{"-kInfinity", "$x > $s || $x != $x ? $x : $s", "$b > $a || $b != $b ? $b : $a"};
constexpr RowFold kLeast{"kInfinity", "$x < $s || $x != $x ? $x : $s", "$b < $a || $b != $b ? $b : $a"};
constexpr RowFold kProduct{"1.0f", "$s * $x", "$a * $b"};

// The rows of a reduction: dims that are kept, and those that are not.
Result<Rows> ReducedRows(const CudaSite& site, const std::vector<bool>& reduced) {
  const CudaOperand &x = site.in[0], &y = site.out[0];
  const bool keep = KeepsReducedDims(site.node());
  std::vector<int64_t> kept, kept_from, kept_to, folded, folded_from, expected;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (reduced[d]) {
      folded.push_back(x.dims()[d]);
      folded_from.push_back(x.strides()[d]);
      if (keep) expected.push_back(1);
      continue;
    }
    if (expected.size() >= y.dims().size()) return site.Unsupported("its result has other dims");
    kept.push_back(x.dims()[d]);
    kept_from.push_back(x.strides()[d]);
    kept_to.push_back(y.strides()[expected.size()]);
    expected.push_back(x.dims()[d]);
  }
  if (expected != y.dims()) return site.Unsupported("its result has other dims");
  Rows rows(site, IndexSpace(kept, {kept_from, kept_to}), IndexSpace(folded, {folded_from}));
  if (rows.length() == 0) return site.Unsupported("it reduces nothing");
  return rows;
}

// A reduction: the fold of `number` over a row, and what is made of it ($s; $n is the row's length).
struct Reduction {
  std::string_view op;
  RowFold fold;
  std::string_view number, result;
};
constexpr std::array kReductions = {
    Reduction{"ReduceL1", kSum, "fabsf(x)", "$s"},     Reduction{"ReduceL2", kSum, "x * x", "sqrtf($s)"},
    Reduction{"ReduceLogSum", kSum, "x", "logf($s)"},  Reduction{"ReduceMax", kMost, "x", "$s"},
    Reduction{"ReduceMean", kSum, "x", "$s / $n"},     Reduction{"ReduceMin", kLeast, "x", "$s"},
    Reduction{"ReduceProd", kProduct, "x", "$s"},      Reduction{"ReduceSum", kSum, "x", "$s"},
    Reduction{"ReduceSumSquare", kSum, "x * x", "$s"},
};

template <size_t which>
Result<CudaRoutine> Reduce(const CudaSite& site) {
  constexpr const Reduction& reduction = kReductions[which];
  PT_CHECK_OK(NeedFloats(site));
  PT_ASSIGN(const std::vector<bool> reduced,
            OrUnsupported(ReadReducedDims(site.graph, site.node(), site.in[0].dims().size()), site));
  PT_ASSIGN(Rows rows, ReducedRows(site, reduced));
  rows.AddFold("result", reduction.fold, std::string(reduction.number));
  rows.Add("    if (threadIdx.x == 0) out0[row1] = " +
           Replaced(reduction.result, {{'s', "result"}, {'n', rows.length_text()}}) + ";\n");
  return CudaRoutine{{rows.Finish()}};
}

// Over all but the first two dims.
Result<CudaRoutine> GlobalAveragePool(const CudaSite& site) {
  PT_CHECK_OK(NeedFloats(site));
  std::vector<bool> reduced(site.in[0].dims().size(), true);
  if (reduced.size() < 3) return site.Unsupported("it has less than three dims");
  reduced[0] = reduced[1] = false;
  PT_ASSIGN(Rows rows, ReducedRows(site, reduced));
  rows.AddFold("result", kSum, "x");
  rows.Add("    if (threadIdx.x == 0) out0[row1] = result / " + rows.length_text() + ";\n");
  return CudaRoutine{{rows.Finish()}};
}

// Rows whose elements are at an index of `along` for which it is true; the result has the input's dims.
Result<Rows> RowsAlong(const CudaSite& site, const std::vector<bool>& along, std::vector<std::vector<int64_t>> others) {
  const CudaOperand &x = site.in[0], &y = site.out[0];
  if (y.dims() != x.dims()) return site.Unsupported("its result has other dims");
  std::vector<int64_t> rows, rows_from, rows_to, elements, from, to;
  for (size_t d = 0; d < along.size(); ++d) {
    (along[d] ? elements : rows).push_back(x.dims()[d]);
    (along[d] ? from : rows_from).push_back(x.strides()[d]);
    (along[d] ? to : rows_to).push_back(y.strides()[d]);
  }
  std::vector<std::vector<int64_t>> strides = {from, to}, row_strides = {rows_from, rows_to};
  for (std::vector<int64_t>& other : others) {
    strides.push_back(std::move(other));
    row_strides.emplace_back(rows.size(), 0);
  }
  return Rows(site, IndexSpace(rows, std::move(row_strides)), IndexSpace(elements, std::move(strides)));
}

template <bool logarithm>
Result<CudaRoutine> Softmax(const CudaSite& site) {
  PT_CHECK_OK(NeedFloats(site));
  const std::vector<int64_t>& dims = site.in[0].dims();
  PT_ASSIGN(const SoftmaxNode softmax, OrUnsupported(ReadSoftmax(site.node(), site.graph.opset(), dims.size()), site));
  if (!softmax.is_along_one_dim()) return site.Unsupported("its vectors lie along several dims or none");
  std::vector<bool> along(dims.size(), false);
  along[softmax.begin] = true;
  PT_ASSIGN(Rows rows, RowsAlong(site, along, {}));
  // NaN never counts as the greatest; it shows in the sum.
  constexpr RowFold kGreatest{"-kInfinity", "$x > $s ? $x : $s", "$b > $a ? $b : $a"};
  rows.AddFold("most", kGreatest, "x");
  rows.AddFold("sum", kSum, "expf(x - most)");
  if (logarithm) rows.Add("    const float whole = logf(sum);\n");
  rows.ForEach("    out0[" + rows.At(1) + "] = " + (logarithm ? "x - most - whole" : "expf(x - most) / sum") + ";\n");
  return CudaRoutine{{rows.Finish()}};
}

// Rows from `axis` on; scale and bias broadcast to a row. RMS leaves the mean in.
template <bool centred>
Result<CudaRoutine> LayerNormalization(const CudaSite& site) {
  PT_CHECK_OK(NeedFloats(site));
  const CudaOperand& x = site.in[0];
  PT_ASSIGN(const size_t axis, OrUnsupported(ReadAxis(site.node(), site.graph.opset(), x.dims().size()), site));
  std::vector<bool> along(x.dims().size(), false);
  std::fill(along.begin() + static_cast<ptrdiff_t>(axis), along.end(), true);
  const std::vector<int64_t> row_dims(x.dims().begin() + static_cast<ptrdiff_t>(axis), x.dims().end());
  std::vector<std::vector<int64_t>> others;
  std::vector<std::string> names;
  for (size_t i = 1; i < 3; ++i) {
    const CudaOperand* const operand = site.Input(i);
    if (operand == nullptr) continue;
    const auto strides = BroadcastStrides(operand->layout, row_dims);
    if (!strides || !IsReal(operand->type())) return site.Unsupported("scale or bias do not fit a row");
    others.push_back(*strides);
    names.push_back(site.NameOf(*operand));
  }
  if (site.Input(1) == nullptr) return site.Unsupported("it has no scale");
  PT_ASSIGN(Rows rows, RowsAlong(site, along, std::move(others)));
  if (rows.length() == 0) return site.Unsupported("its rows are empty");
  const std::string length = rows.length_text(), epsilon = FloatLiteral(ReadEpsilon(site.node()));
  if (epsilon.empty()) return site.Unsupported("\"epsilon\" is not a number");
  if (centred) {  // around the mean, so that a large one costs no digits
    rows.AddFold("sum", kSum, "x");
    rows.Add("    const float mean = sum / " + length + ";\n");
  } else {
    rows.Add("    const float mean = 0.0f;\n");
  }
  rows.AddFold("squares", kSum, "(x - mean) * (x - mean)");
  rows.Add("    const float inverse = 1.0f / sqrtf(squares / " + length + " + " + epsilon + ");\n");
  rows.ForEach("    out0[" + rows.At(1) + "] = (x - mean) * inverse * (float)" + names[0] + "[" + rows.At(2) + "]" +
               (names.size() > 1 ? " + (float)" + names[1] + "[" + rows.At(3) + "]" : "") + ";\n");
  return CudaRoutine{{rows.Finish()}};
}

constexpr std::array kRows = {
    CudaRow{"GlobalAveragePool", GlobalAveragePool},
    CudaRow{"LayerNormalization", LayerNormalization<true>},
    CudaRow{"LogSoftmax", Softmax<true>},
    CudaRow{"RMSNormalization", LayerNormalization<false>},
    CudaRow{kReductions[0].op, Reduce<0>},
    CudaRow{kReductions[1].op, Reduce<1>},
    CudaRow{kReductions[2].op, Reduce<2>},
    CudaRow{kReductions[3].op, Reduce<3>},
    CudaRow{kReductions[4].op, Reduce<4>},
    CudaRow{kReductions[5].op, Reduce<5>},
    CudaRow{kReductions[6].op, Reduce<6>},
    CudaRow{kReductions[7].op, Reduce<7>},
    CudaRow{kReductions[8].op, Reduce<8>},
    CudaRow{"Softmax", Softmax<false>},
};
static_assert(kReductions.size() == 9);

}  // namespace

std::span<const CudaRow> RowOperators() { return kRows; }

}  // namespace pt::cuda
