// Kernels in which a block of threads works on a row together: reductions over any axes, softmax along one, layer
// normalisation. A row is what is folded into one number; its elements may lie anywhere.
#include <algorithm>
#include <array>
#include <bit>

#include "plugins/cuda/index_space.h"
#include "plugins/cuda/operators.h"

namespace pt::cuda {
namespace {

constexpr uint32_t kFewestThreads = 32, kMostThreads = 256;

// How many threads a row of that length is worth: a power of two, so that halves can be added to halves.
uint32_t ThreadsFor(int64_t length) {
  const auto wanted = static_cast<uint64_t>(std::clamp<int64_t>(length, kFewestThreads, kMostThreads));
  return static_cast<uint32_t>(std::bit_ceil(wanted));
}

// From elements to one number, as C++: `first` to begin with, `take` a number $x into what there is so far ($s),
// `merge` what two threads have ($a, $b).
struct Fold {
  std::string_view first, take, merge;
};

constexpr Fold kSum{"0.0f", "$s + $x", "$a + $b"};
// NaN is kept, as the reference library keeps it.
constexpr Fold kMost{"-kInfinity", "$x > $s || $x != $x ? $x : $s", "$b > $a || $b != $b ? $b : $a"};
constexpr Fold kLeast{"kInfinity", "$x < $s || $x != $x ? $x : $s", "$b < $a || $b != $b ? $b : $a"};
constexpr Fold kProduct{"1.0f", "$s * $x", "$a * $b"};

std::string Replaced(std::string_view pattern, std::initializer_list<std::pair<char, std::string>> names) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      text += pattern[i];
      continue;
    }
    ++i;
    for (const auto& [letter, name] : names) {
      if (letter == pattern[i]) text += name;
    }
  }
  return text;
}

// The rows of a site: where each begins in input 0 and output 0, and where its elements lie from there on.
class Rows {
 public:
  // rows: of input 0 and output 0, by row. elements: of input 0, and of whatever else walks along a row.
  Rows(const Site& site, IndexSpace rows, IndexSpace elements)
      : site_(site), rows_(std::move(rows)), elements_(std::move(elements)), threads_(ThreadsFor(elements_.count())) {}

  int64_t length() const { return elements_.count(); }

  // Statements for each element of the row, in which x is input 0's and `offsets` those of the others.
  void ForEach(const std::string& statements) {
    const std::string type(elements_.index_type());
    body_ += "    for (" + type + " k = (" + type + ")threadIdx.x; k < " + std::to_string(length()) + "; k += (" +
             type + ")blockDim.x) {\n" + elements_.CoordinatesText("k") + "    const float x = in0[from + " +
             elements_.OffsetText(0) + "];\n" + statements + "    }\n";
  }
  std::string OffsetOf(size_t tensor) const { return elements_.OffsetText(tensor); }

  // Defines `name`, the same in all threads: the fold of `number` (an expression of x) over the row.
  void AddFold(const std::string& name, const Fold& fold, const std::string& number) {
    body_ += "    float " + name + " = " + std::string(fold.first) + ";\n";
    ForEach("    const float number = " + number + ";\n    " + name + " = " +
            Replaced(fold.take, {{'s', name}, {'x', "number"}}) + ";\n");
    body_ += "    shared[threadIdx.x] = " + name +
             ";\n    __syncthreads();\n    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {\n"
             "      if (threadIdx.x < half) {\n"
             "        const float a = shared[threadIdx.x], b = shared[threadIdx.x + half];\n"
             "        shared[threadIdx.x] = " +
             Replaced(fold.merge, {{'a', "a"}, {'b', "b"}}) + ";\n      }\n      __syncthreads();\n    }\n    " + name +
             " = shared[0];\n    __syncthreads();\n";
  }
  void Add(const std::string& statements) { body_ += statements; }

  KernelText Finish() const {
    const std::string type(rows_.index_type());
    KernelText kernel;
    kernel.elements = rows_.count();
    kernel.threads_an_element = threads_;
    // One row after the other for each block; what belongs to a row is in braces of its own.
    kernel.text = "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n" + OperandTexts(site_) +
                  "  const float kInfinity = 1.0f / 0.0f;\n  __shared__ float shared[" + std::to_string(threads_) +
                  "];\n  for (" + type + " row = (" + type + ")blockIdx.x; row < " + std::to_string(rows_.count()) +
                  "; row += (" + type + ")gridDim.x) {\n    " + type + " from, to;\n    {\n" +
                  rows_.CoordinatesText("row") + "    from = " + rows_.OffsetText(0) +
                  ";\n    to = " + rows_.OffsetText(1) + ";\n    }\n" + body_ + "  }\n}\n";
    return kernel;
  }

 private:
  const Site& site_;
  const IndexSpace rows_, elements_;
  const uint32_t threads_;
  std::string body_;
};

Status NeedFloats(const Site& site, size_t outputs = 1) {
  if (site.in.empty() || site.Input(0) != &site.in[0]) return site.Unsupported("its input is a constant");
  if (site.in[0].type() != DataType::kFloat32) return site.Unsupported("its input is not of float32");
  if (site.out.size() > outputs) return site.Unsupported("it has more than one result");
  return {};
}

Result<size_t> Axis(const Site& site, int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return site.Unsupported("an axis does not exist");
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

// Which dims are reduced: input 1 or the attribute.
Result<std::vector<bool>> ReducedDims(const Site& site) {
  const Node& node = site.node();
  std::vector<int64_t> axes;
  if (node.inputs.size() > 1 && node.inputs[1].valid()) {
    const auto& constant = site.graph.value(node.inputs[1]).constant;
    if (!constant) return site.Unsupported("its axes are known only in the run");
    axes = constant->ToInts();
  } else {
    axes = node.ints_or("axes", {});
  }
  const bool all = axes.empty() && node.int_or("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(site.in[0].dims().size(), all);
  for (const int64_t raw : axes) {
    PT_ASSIGN(const size_t axis, Axis(site, raw, reduced.size()));
    reduced[axis] = true;
  }
  return reduced;
}

// The rows of a reduction: dims that are kept, and those that are not.
Result<Rows> ReducedRows(const Site& site, const std::vector<bool>& reduced) {
  const Operand &x = site.in[0], &y = site.out[0];
  const bool keep = site.node().int_or("keepdims", 1) != 0;
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
  Fold fold;
  std::string_view number, result;
};
constexpr std::array kReductions = {
    Reduction{"ReduceL1", kSum, "fabsf(x)", "$s"},     Reduction{"ReduceL2", kSum, "x * x", "sqrtf($s)"},
    Reduction{"ReduceLogSum", kSum, "x", "logf($s)"},  Reduction{"ReduceMax", kMost, "x", "$s"},
    Reduction{"ReduceMean", kSum, "x", "$s / $n"},     Reduction{"ReduceMin", kLeast, "x", "$s"},
    Reduction{"ReduceProd", kProduct, "x", "$s"},      Reduction{"ReduceSum", kSum, "x", "$s"},
    Reduction{"ReduceSumSquare", kSum, "x * x", "$s"},
};

std::string LengthOf(const Rows& rows) { return std::to_string(rows.length()) + ".0f"; }

template <size_t which>
Result<Routine> Reduce(const Site& site) {
  constexpr const Reduction& reduction = kReductions[which];
  PT_CHECK_OK(NeedFloats(site));
  PT_ASSIGN(const std::vector<bool> reduced, ReducedDims(site));
  PT_ASSIGN(Rows rows, ReducedRows(site, reduced));
  rows.AddFold("result", reduction.fold, std::string(reduction.number));
  rows.Add("    if (threadIdx.x == 0) out0[to] = " +
           Replaced(reduction.result, {{'s', "result"}, {'n', LengthOf(rows)}}) + ";\n");
  return Routine{{rows.Finish()}};
}

// Over all but the first two dims.
Result<Routine> GlobalAveragePool(const Site& site) {
  PT_CHECK_OK(NeedFloats(site));
  std::vector<bool> reduced(site.in[0].dims().size(), true);
  if (reduced.size() < 3) return site.Unsupported("it has less than three dims");
  reduced[0] = reduced[1] = false;
  PT_ASSIGN(Rows rows, ReducedRows(site, reduced));
  rows.AddFold("result", kSum, "x");
  rows.Add("    if (threadIdx.x == 0) out0[to] = result / " + LengthOf(rows) + ";\n");
  return Routine{{rows.Finish()}};
}

// Rows whose elements are at an index of `along` for which it is true; the result has the input's dims.
Result<Rows> RowsAlong(const Site& site, const std::vector<bool>& along, std::vector<std::vector<int64_t>> others) {
  const Operand &x = site.in[0], &y = site.out[0];
  if (y.dims() != x.dims()) return site.Unsupported("its result has other dims");
  std::vector<int64_t> rows, rows_from, rows_to, elements, from, to;
  for (size_t d = 0; d < along.size(); ++d) {
    (along[d] ? elements : rows).push_back(x.dims()[d]);
    (along[d] ? from : rows_from).push_back(x.strides()[d]);
    (along[d] ? to : rows_to).push_back(y.strides()[d]);
  }
  std::vector<std::vector<int64_t>> strides = {from, to};
  for (std::vector<int64_t>& other : others) strides.push_back(std::move(other));
  return Rows(site, IndexSpace(rows, {rows_from, rows_to}), IndexSpace(elements, std::move(strides)));
}

template <bool logarithm>
Result<Routine> Softmax(const Site& site) {
  PT_CHECK_OK(NeedFloats(site));
  const std::vector<int64_t>& dims = site.in[0].dims();
  if (site.graph.opset() < 13) return site.Unsupported("before operator set 13 it is another operator");
  PT_ASSIGN(const size_t axis, Axis(site, site.node().int_or("axis", -1), dims.size()));
  std::vector<bool> along(dims.size(), false);
  along[axis] = true;
  PT_ASSIGN(Rows rows, RowsAlong(site, along, {}));
  // NaN never counts as the greatest; it shows in the sum.
  constexpr Fold kGreatest{"-kInfinity", "$x > $s ? $x : $s", "$b > $a ? $b : $a"};
  rows.AddFold("most", kGreatest, "x");
  rows.AddFold("sum", kSum, "expf(x - most)");
  if (logarithm) rows.Add("    const float whole = logf(sum);\n");
  rows.ForEach("    out0[to + " + rows.OffsetOf(1) +
               "] = " + (logarithm ? "x - most - whole" : "expf(x - most) / sum") + ";\n");
  return Routine{{rows.Finish()}};
}

// Rows from `axis` on; scale and bias broadcast to a row.
Result<Routine> LayerNormalization(const Site& site) {
  PT_CHECK_OK(NeedFloats(site));
  const Operand& x = site.in[0];
  PT_ASSIGN(const size_t axis, Axis(site, site.node().int_or("axis", -1), x.dims().size()));
  std::vector<bool> along(x.dims().size(), false);
  std::fill(along.begin() + static_cast<ptrdiff_t>(axis), along.end(), true);
  const std::vector<int64_t> row_dims(x.dims().begin() + static_cast<ptrdiff_t>(axis), x.dims().end());
  std::vector<std::vector<int64_t>> others;
  std::vector<std::string> names;
  for (size_t i = 1; i < 3; ++i) {
    const Operand* const operand = site.Input(i);
    if (operand == nullptr) continue;
    const auto strides = BroadcastStrides(operand->layout, row_dims);
    if (!strides || operand->type() != DataType::kFloat32) return site.Unsupported("scale or bias do not fit a row");
    others.push_back(*strides);
    names.push_back("in" + std::to_string(operand - site.in.data()));
  }
  if (site.Input(1) == nullptr) return site.Unsupported("it has no scale");
  PT_ASSIGN(Rows rows, RowsAlong(site, along, std::move(others)));
  if (rows.length() == 0) return site.Unsupported("its rows are empty");
  const std::string length = LengthOf(rows), epsilon = FloatLiteral(site.node().float_or("epsilon", 1e-5F));
  if (epsilon.empty()) return site.Unsupported("\"epsilon\" is no number");
  // Around the mean, so that a large one costs no digits.
  rows.AddFold("sum", kSum, "x");
  rows.Add("    const float mean = sum / " + length + ";\n");
  rows.AddFold("squares", kSum, "(x - mean) * (x - mean)");
  rows.Add("    const float inverse = 1.0f / sqrtf(squares / " + length + " + " + epsilon + ");\n");
  rows.ForEach("    out0[to + " + rows.OffsetOf(1) + "] = (x - mean) * inverse * " + names[0] + "[" + rows.OffsetOf(2) +
               "]" + (names.size() > 1 ? " + " + names[1] + "[" + rows.OffsetOf(3) + "]" : "") + ";\n");
  return Routine{{rows.Finish()}};
}

constexpr std::array kRows = {
    OperatorRow{"GlobalAveragePool", GlobalAveragePool},
    OperatorRow{"LayerNormalization", LayerNormalization},
    OperatorRow{"LogSoftmax", Softmax<true>},
    OperatorRow{kReductions[0].op, Reduce<0>},
    OperatorRow{kReductions[1].op, Reduce<1>},
    OperatorRow{kReductions[2].op, Reduce<2>},
    OperatorRow{kReductions[3].op, Reduce<3>},
    OperatorRow{kReductions[4].op, Reduce<4>},
    OperatorRow{kReductions[5].op, Reduce<5>},
    OperatorRow{kReductions[6].op, Reduce<6>},
    OperatorRow{kReductions[7].op, Reduce<7>},
    OperatorRow{kReductions[8].op, Reduce<8>},
    OperatorRow{"Softmax", Softmax<false>},
};
static_assert(kReductions.size() == 9);

}  // namespace

std::span<const OperatorRow> RowOperators() { return kRows; }

}  // namespace pt::cuda
