// Operators that move elements and change none: views, Transpose, Expand, Concat.
#include <algorithm>
#include <array>
#include <numeric>

#include "plugins/cuda/index_space.h"
#include "plugins/cuda/operators.h"

namespace pt::cuda {
namespace {

// One tensor as the other, element by element in row-major order of their own dims.
struct Side {
  std::string tensor;  // "in0"
  IndexSpace space;
  int64_t first = 0;  // where its first element lies
};

KernelText CopyKernel(const Site& site, const Side& from, const Side& to) {
  const bool wide = from.space.index_type() != "int" || to.space.index_type() != "int";
  const std::string type = wide ? "long long" : "int", count = std::to_string(to.space.count());
  KernelText kernel;
  kernel.elements = to.space.count();
  kernel.text = "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n" + OperandTexts(site) +
                "  for (" + type + " i = (" + type + ")blockIdx.x * blockDim.x + threadIdx.x; i < " + count +
                "; i += (" + type + ")gridDim.x * blockDim.x) {\n" + from.space.CoordinatesText("i", 'f') +
                to.space.CoordinatesText("i", 't') + "    " + to.tensor + "[" + std::to_string(to.first) + " + " +
                to.space.OffsetText(0, 't') + "] = " + from.tensor + "[" + std::to_string(from.first) + " + " +
                from.space.OffsetText(0, 'f') + "];\n  }\n}\n";
  return kernel;
}

Side SideOf(const std::string& name, const Operand& operand) {
  return {name, IndexSpace(operand.dims(), {operand.strides()})};
}

// Input 0 is no constant, and its type one that kernels know and that the output has.
Status NeedMovable(const Site& site) {
  if (site.in.empty() || site.Input(0) != &site.in[0]) return site.Unsupported("its input is a constant");
  for (const Operand& operand : site.in) {
    if (CTypeOf(operand.type()).empty()) {
      return site.Unsupported("kernels do not know " + std::string(DataTypeName(operand.type())));
    }
  }
  if (site.out.size() != 1) return site.Unsupported("it has more than one result");
  if (site.in[0].type() != site.out[0].type()) return site.Unsupported("its result is of another type");
  return {};
}

// The same elements in the same order, under other dims.
Result<Routine> View(const Site& site) {
  PT_CHECK_OK(NeedMovable(site));
  const Side from = SideOf("in0", site.in[0]), to = SideOf("out0", site.out[0]);
  if (from.space.count() != to.space.count()) return site.Unsupported("its result has other elements");
  // What else it reads, dims or axes that the run makes, would be waited for in vain.
  const bool alone = GroupInputs(site.graph, site.nodes).size() == 1;
  return Routine{{CopyKernel(site, from, to)}, {}, alone ? Elision::kViewOfInput : Elision::kNone};
}

Result<Routine> Transpose(const Site& site) {
  PT_CHECK_OK(NeedMovable(site));
  const Operand &x = site.in[0], &y = site.out[0];
  std::vector<int64_t> otherwise(x.dims().size());
  std::iota(otherwise.rbegin(), otherwise.rend(), 0);
  const std::vector<int64_t> order = site.node().ints_or("perm", otherwise);
  std::vector<int64_t> strides;
  std::vector<bool> seen(x.dims().size(), false);
  for (const int64_t d : order) {
    const auto rank = static_cast<int64_t>(x.dims().size());
    if (d < 0 || d >= rank || seen[static_cast<size_t>(d)]) return site.Unsupported("\"perm\" is no permutation");
    seen[static_cast<size_t>(d)] = true;
    if (strides.size() >= y.dims().size() || y.dims()[strides.size()] != x.dims()[static_cast<size_t>(d)]) {
      return site.Unsupported("its result has other dims");
    }
    strides.push_back(x.strides()[static_cast<size_t>(d)]);
  }
  if (strides.size() != x.dims().size() || strides.size() != y.dims().size()) {
    return site.Unsupported("its result has other dims");
  }
  return Routine{{CopyKernel(site, {"in0", IndexSpace(y.dims(), {strides})}, SideOf("out0", y))}};
}

Result<Routine> Expand(const Site& site) {
  PT_CHECK_OK(NeedMovable(site));
  const Operand& y = site.out[0];
  const auto strides = BroadcastStrides(site.in[0].layout, y.dims());
  if (!strides) return site.Unsupported("its input does not broadcast to the result");
  return Routine{{CopyKernel(site, {"in0", IndexSpace(y.dims(), {*strides})}, SideOf("out0", y))}};
}

// A kernel for each input. Placed as slices of the output, they need none.
Result<Routine> Concat(const Site& site) {
  PT_CHECK_OK(NeedMovable(site));
  const Operand& y = site.out[0];
  const auto rank = static_cast<int64_t>(y.dims().size());
  int64_t axis = site.node().int_or("axis", 0);
  if (axis < -rank || axis >= rank) return site.Unsupported("its axis does not exist");
  axis += axis < 0 ? rank : 0;
  const auto along = static_cast<size_t>(axis);
  // Slices lie in one piece where no dim outside the joined one repeats. Every input must have a producer of its own to
  // place it there.
  const bool outermost = std::all_of(y.dims().begin(), y.dims().begin() + axis, [](int64_t dim) { return dim == 1; });
  const bool produced = site.in.size() == site.node().inputs.size() &&
                        std::ranges::all_of(site.in, [](const Operand& x) { return x.constant == nullptr; });
  Routine routine;
  routine.elision = outermost && produced ? Elision::kSlicesOfOutput : Elision::kNone;
  int64_t at = 0;
  for (size_t i = 0; i < site.node().inputs.size(); ++i) {
    const Operand* const input = site.Input(i);
    if (input == nullptr || input->type() != y.type()) return site.Unsupported("an input is of another type");
    std::vector<int64_t> expected = y.dims();
    if (input->dims().size() != expected.size()) return site.Unsupported("an input has other dims");
    expected[along] = input->dims()[along];
    if (input->dims() != expected) return site.Unsupported("an input has other dims");
    Side to{"out0", IndexSpace(input->dims(), {y.strides()}), at * y.strides()[along]};
    const std::string name = "in" + std::to_string(input - site.in.data());
    routine.kernels.push_back(CopyKernel(site, SideOf(name, *input), to));
    at += expected[along];
  }
  if (at != y.dims()[along]) return site.Unsupported("its result has other dims");
  return routine;
}

constexpr std::array kRows = {
    OperatorRow{"Concat", Concat},  OperatorRow{"Expand", Expand}, OperatorRow{"Flatten", View},
    OperatorRow{"Reshape", View},   OperatorRow{"Squeeze", View},  OperatorRow{"Transpose", Transpose},
    OperatorRow{"Unsqueeze", View},
};

}  // namespace

std::span<const OperatorRow> MovementOperators() { return kRows; }

}  // namespace pt::cuda
