// Pad: constant, edge, reflect and wrap; negative pads cut off.
#include <array>

#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "plugins/cuda/movement.h"

namespace pt::cuda {
namespace {

// Pads before each dim.
Result<std::vector<int64_t>> PadsBefore(const CudaSite& site, const CudaOperand& x, const CudaOperand& y) {
  PT_ASSIGN(const auto pads, site.Ints(1, "pads"));
  PT_ASSIGN(const auto axes, site.Ints(3, "axes"));
  const size_t n = axes ? axes->size() : x.dims().size();
  if (!pads || pads->size() != 2 * n || y.dims().size() != x.dims().size()) {
    return site.Unsupported("its pads do not fit its input");
  }
  std::vector<int64_t> before(x.dims().size(), 0), expected = x.dims();
  for (size_t i = 0; i < n; ++i) {
    PT_ASSIGN(const size_t d, site.Axis(axes ? (*axes)[i] : static_cast<int64_t>(i), x.dims().size()));
    before[d] = (*pads)[i];
    if (__builtin_add_overflow(x.dims()[d], (*pads)[i], &expected[d]) ||
        __builtin_add_overflow(expected[d], (*pads)[i + n], &expected[d])) {
      return site.Unsupported("its pads are too large");
    }
  }
  if (expected != y.dims()) return site.Unsupported("its result has other dims");
  return before;
}

// What stands where the input has nothing.
Result<std::string> Filling(const CudaSite& site, const CudaOperand& x) {
  const std::string type(ComputeTypeOf(x.type()));
  if (const CudaOperand* const given = site.Input(2)) {
    if (given->value_type != x.value_type || IndexSpace(given->dims(), {given->strides()}).count() != 1) {
      return site.Unsupported("its constant is not a single number of the input's type");
    }
    return "(" + type + ")" + site.NameOf(*given) + "[0]";
  }
  const float value = ReadPadValue(site.node());
  if (value == 0.0F) return "(" + type + ")0";
  const std::string literal = FloatLiteral(value);
  if (literal.empty() || !IsReal(x.type())) return site.Unsupported("its value is not a number of the input's type");
  return literal;
}

// Statements that define f0, where an element comes from along dim 0: for modes other than "constant" inside the input.
std::string SourceText(PadMode mode, size_t d, int64_t before, int64_t dim) {
  const std::string n = std::to_string(d), size = std::to_string(dim), last = std::to_string(dim - 1);
  std::string text = "    Index f" + n + " = c" + n + " - (" + std::to_string(before) + ");\n";
  const std::string f = "f" + n;
  if (mode == PadMode::kEdge)
    return text + "    " + f + " = " + f + " < 0 ? 0 : " + f + " > " + last + " ? " + last + " : " + f + ";\n";
  if (mode == PadMode::kWrap)
    return text + "    " + f + " = (" + f + " % " + size + " + " + size + ") % " + size + ";\n";
  if (dim == 1) return text + "    " + f + " = 0;\n";
  const std::string period = std::to_string(2 * (dim - 1));
  return text + "    " + f + " = (" + f + " % " + period + " + " + period + ") % " + period + ";\n    if (" + f +
         " >= " + size + ") " + f + " = " + period + " - " + f + ";\n";
}

Result<CudaRoutine> Pad(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, MovedInput(site));
  const CudaOperand& y = site.out[0];
  PT_ASSIGN(const PadMode mode, OrUnsupported(ReadPadMode(site.node()), site));
  PT_ASSIGN(const std::vector<int64_t> before, PadsBefore(site, *x, y));
  PT_ASSIGN(const std::string filling, Filling(site, *x));
  const IndexSpace space = IndexSpace::Whole(y.dims(), {y.strides()});
  if (space.count() == 0) return CudaRoutine{};
  std::string body, offset = "0", inside;
  for (size_t d = 0; d < before.size(); ++d) {
    const std::string n = std::to_string(d);
    if (mode == PadMode::kConstant) {
      body += "    const Index f" + n + " = c" + n + " - (" + std::to_string(before[d]) + ");\n";
      inside += (inside.empty() ? "" : " && ") + ("f" + n) + " >= 0 && f" + n + " < " + std::to_string(x->dims()[d]);
    } else {
      if (x->dims()[d] == 0) return site.Unsupported("an empty dim cannot be padded with its own elements");
      body += SourceText(mode, d, before[d], x->dims()[d]);
    }
    offset += " + f" + n + " * " + std::to_string(x->strides()[d]);
  }
  const std::string element = "(" + std::string(ComputeTypeOf(x->type())) + ")" + site.NameOf(*x) + "[" + offset + "]";
  body += "    out0[" + space.OffsetText(0) +
          "] = " + (inside.empty() ? element : "(" + inside + ") ? " + element + " : " + filling) + ";\n";
  return CudaRoutine{{ElementKernel(site, space, body)}};
}

constexpr std::array kRows = {CudaRow{"Pad", Pad}};

}  // namespace

std::span<const CudaRow> PadOperators() { return kRows; }

}  // namespace pt::cuda
