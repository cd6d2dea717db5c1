// Operators along lines of one dim: ArgMax, ArgMin by a block a line; CumSum by a thread a line.
#include <algorithm>
#include <array>

#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/reductions.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/rows.h"

namespace pt::cuda {
namespace {

bool IsNumber(DataType type) { return IsReal(type) || type == DataType::kInt32 || type == DataType::kInt64; }

Result<const CudaOperand*> NumberInput(const CudaSite& site) {
  if (site.in.empty() || site.Input(0) != &site.in[0]) return site.Unsupported("its input is a constant");
  if (!IsNumber(site.in[0].type())) {
    return site.Unsupported("it does not run on " + std::string(DataTypeName(site.in[0].type())));
  }
  if (site.out.size() != 1) return site.Unsupported("it has more than one result");
  return &site.in[0];
}

// All dims but one, and that one.
struct Lines {
  std::vector<int64_t> dims, from, to;
};

// A NaN is neither more nor less than anything: at the front it stays, elsewhere it is passed over.
template <bool most>
Result<CudaRoutine> ArgReduce(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, NumberInput(site));
  const CudaOperand& y = site.out[0];
  PT_ASSIGN(const ArgReductionNode arg,
            OrUnsupported(ReadArgReduction(site.node(), site.graph.opset(), x->dims().size()), site));
  const auto [axis, keep, last] = arg;
  Lines lines;
  std::vector<int64_t> expected;
  for (size_t d = 0; d < x->dims().size(); ++d) {
    if (d == axis && !keep) continue;
    expected.push_back(d == axis ? 1 : x->dims()[d]);
    if (expected.size() > y.dims().size()) return site.Unsupported("its result has other dims");
    if (d == axis) continue;
    lines.dims.push_back(x->dims()[d]);
    lines.from.push_back(x->strides()[d]);
    lines.to.push_back(y.strides()[expected.size() - 1]);
  }
  if (y.dims() != expected || y.type() != DataType::kInt64) return site.Unsupported("its result has other dims");
  const int64_t length = x->dims()[axis];
  if (length == 0) return site.Unsupported("its axis is empty");
  Rows rows(site, IndexSpace(lines.dims, {lines.from, lines.to}),
            IndexSpace(std::vector<int64_t>{length}, {{x->strides()[axis]}}));
  const std::string type(ComputeTypeOf(x->type())), better = most ? ">" : "<", later = last ? ">" : "<";
  rows.Share(type, "numbers");
  rows.Share("long long", "places");
  rows.Add("    " + type + " held = 0;\n    long long best = -1;\n");
  rows.ForEach("    if (x == x && (best < 0 || x " + better + " held" + (last ? " || x == held" : "") +
               ")) { held = x; best = k; }\n");
  rows.Add("    numbers[threadIdx.x] = held;\n    places[threadIdx.x] = best;\n");
  rows.Merge(
      "        const bool taken = places[other] >= 0 && (places[mine] < 0 || numbers[other] " + better +
      " numbers[mine] || (numbers[other] == numbers[mine] && places[other] " + later +
      " places[mine]));\n        if (taken) { numbers[mine] = numbers[other]; places[mine] = places[other]; }\n");
  rows.Add("    if (threadIdx.x == 0) {\n      const " + type + " front = in0[" + Rows::RowAt(0) + "];\n      out0[" +
           Rows::RowAt(1) + "] = front != front || places[0] < 0 ? 0 : places[0];\n    }\n    __syncthreads();\n");
  return CudaRoutine{{rows.Finish()}};
}

Result<CudaRoutine> CumSum(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, NumberInput(site));
  const CudaOperand& y = site.out[0];
  PT_ASSIGN(const auto given, site.Ints(1, "axis"));
  if (!given || given->size() != 1) return site.Unsupported("its axis is not a single number");
  PT_ASSIGN(const size_t axis, site.Axis(given->front(), x->dims().size()));
  if (y.dims() != x->dims() || x->value_type != y.value_type) return site.Unsupported("its result has other dims");
  const auto [exclusive, reverse] = ReadCumulative(site.node());
  Lines lines;
  for (size_t d = 0; d < x->dims().size(); ++d) {
    if (d == axis) continue;
    lines.dims.push_back(x->dims()[d]);
    lines.from.push_back(x->strides()[d]);
    lines.to.push_back(y.strides()[d]);
  }
  const IndexSpace space(lines.dims, {lines.from, lines.to});
  const int64_t length = x->dims()[axis];
  if (length == 0) return CudaRoutine{};
  const std::string n = std::to_string(length), type(ComputeTypeOf(x->type()));
  const std::string place = reverse ? "(" + std::to_string(length - 1) + " - k)" : "k";
  const auto element = [&](const char* name, size_t tensor, int64_t stride) {
    return std::string(name) + "[" + space.OffsetText(tensor) + " + " + place + " * " + std::to_string(stride) + "]";
  };
  // Integers wrap around.
  const std::string sum = IsReal(x->type()) ? "sum + x"
                          : x->type() == DataType::kInt64
                              ? "(long long)((unsigned long long)sum + (unsigned long long)x)"
                              : "(int)((unsigned)sum + (unsigned)x)";
  const std::string store = "      " + element("out0", 1, y.strides()[axis]) + " = sum;\n";
  const std::string body = "    " + type + " sum = 0;\n    for (Index k = 0; k < " + n + "; ++k) {\n      const " +
                           type + " x = " + element("in0", 0, x->strides()[axis]) + ";\n" + (exclusive ? store : "") +
                           "      sum = " + sum + ";\n" + (exclusive ? "" : store) + "    }\n";
  return CudaRoutine{{ElementKernel(site, space, body)}};
}

constexpr std::array kRows = {CudaRow{"ArgMax", ArgReduce<true>}, CudaRow{"ArgMin", ArgReduce<false>},
                              CudaRow{"CumSum", CumSum}};

}  // namespace

std::span<const CudaRow> LineOperators() { return kRows; }

}  // namespace pt::cuda
