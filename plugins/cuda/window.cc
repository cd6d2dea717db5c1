#include "plugins/cuda/window.h"

#include "partitiontuner/graph/operators/windows.h"

namespace pt::cuda {
namespace {

std::vector<int64_t> Spatial(const CudaOperand& operand) { return {operand.dims().begin() + 2, operand.dims().end()}; }

Status CheckDims(const CudaSite& site, const CudaOperand& x, const CudaOperand& y) {
  const size_t rank = x.dims().size();
  if (rank < 3 || rank > 5 || y.dims().size() != rank) return site.Unsupported("it has not one to three spatial dims");
  if (x.dims()[0] != y.dims()[0]) return site.Unsupported("its result has another batch");
  return {};
}

}  // namespace

Result<WindowParameters> ReadWindow(const CudaSite& site, const Node& node, const CudaOperand& x,
                                    const CudaOperand& y) {
  PT_CHECK_OK(CheckDims(site, x, y));
  const auto window = WindowOf(node, ReadKernelShape(node).value_or(std::vector<int64_t>()), Spatial(x), Spatial(y));
  if (!window) return site.Unsupported("its window does not fit its dims");
  return *window;
}

Result<WindowParameters> WholeWindow(const CudaSite& site, const CudaOperand& x, const CudaOperand& y) {
  PT_CHECK_OK(CheckDims(site, x, y));
  WindowParameters window;
  window.kernel = Spatial(x);
  window.strides = window.dilations = std::vector<int64_t>(window.kernel.size(), 1);
  window.pads_begin = window.pads_end = window.stated_end = std::vector<int64_t>(window.kernel.size(), 0);
  if (Spatial(y) != window.strides) return site.Unsupported("its result has other dims");
  return window;
}

std::string ForWindow(const WindowParameters& window, std::span<const int64_t> in, const std::string& statements) {
  std::string before, loops, after;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    const std::string n = std::to_string(d), step = std::to_string(window.dilations[d]);
    const std::string reach = std::to_string(window.kernel[d] * window.dilations[d]), dim = std::to_string(in[d]);
    before += "    const Index s" + n + " = c" + std::to_string(d + 2) + " * " + std::to_string(window.strides[d]) +
              " - " + std::to_string(window.pads_begin[d]) + ";\n    const Index b" + n + " = s" + n + " >= 0 ? s" + n +
              " : s" + n + " + (" + std::to_string(window.dilations[d] - 1) + " - s" + n + ") / " + step + " * " +
              step + ";\n    const Index e" + n + " = s" + n + " + " + reach + " < " + dim + " ? s" + n + " + " +
              reach + " : " + dim + ";\n";
    loops += "    for (Index p" + n + " = b" + n + "; p" + n + " < e" + n + "; p" + n + " += " + step + ") {\n";
    after += "    }\n";
  }
  return before + loops + statements + after;
}

}  // namespace pt::cuda
