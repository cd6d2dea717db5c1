#include <algorithm>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/backend/window_parameters.h"
#include "partitiontuner/graph/operators/windows.h"

namespace pt::onednn {
namespace {

struct Pooling {
  dnnl::algorithm algorithm;
  WindowParameters window;
};

bool AnyPositive(const Dims& values) {
  return std::any_of(values.begin(), values.end(), [](int64_t v) { return v > 0; });
}

// The whole input at once.
WindowParameters GlobalWindow(const Dims& in) {
  WindowParameters window;
  window.kernel = in;
  for (Dims* ones : {&window.strides, &window.dilations}) ones->assign(in.size(), 1);
  for (Dims* zeros : {&window.pads_begin, &window.pads_end, &window.stated_end}) zeros->assign(in.size(), 0);
  return window;
}

std::optional<Pooling> PoolingOf(const Graph& graph, const Node& node) {
  const Dims x = DimsOf(graph, node.inputs[0]), y = DimsOf(graph, node.outputs[0]);
  if (x.size() < 3 || x.size() > 5 || y.size() != x.size() || x[0] != y[0] || x[1] != y[1]) return std::nullopt;
  const Dims in(x.begin() + 2, x.end()), out(y.begin() + 2, y.end());
  const bool global = node.op.starts_with("Global"), max = node.op.ends_with("MaxPool");
  std::optional<WindowParameters> window;
  if (global) {
    if (std::any_of(out.begin(), out.end(), [](int64_t d) { return d != 1; })) return std::nullopt;
    window = GlobalWindow(in);
  } else {
    window = WindowOf(node, ReadKernelShape(node).value_or(Dims()), in, out);
  }
  if (!window) return std::nullopt;
  for (size_t i = 0; i < in.size(); ++i) {
    // A window without any element of the input has no value that both sides agree on.
    const int64_t extent = (window->kernel[i] - 1) * window->dilations[i] + 1;
    if (window->pads_begin[i] >= extent || window->pads_end[i] >= extent) return std::nullopt;
  }
  if (max) return Pooling{dnnl::algorithm::pooling_max, *window};
  const bool padded = AnyPositive(window->pads_begin) || AnyPositive(window->stated_end);
  if (!ReadPoolingNode(node).counts_pads || !padded) {
    return Pooling{dnnl::algorithm::pooling_avg_exclude_padding, *window};
  }
  // ONNX counts the stated pads but not what ceil_mode adds; oneDNN would count both.
  for (size_t i = 0; i < in.size(); ++i) {
    if (window->pads_end[i] > window->stated_end[i]) return std::nullopt;
  }
  return Pooling{dnnl::algorithm::pooling_avg_include_padding, *window};
}

// What follows the average of integers to make integers of another scale and zero point of it. Padding counts as the
// integer 0, which is right where that stands for zero.
Result<std::vector<Pointwise>> Requantisation(const Request& request, const Node& node, const Pooling& pooling) {
  const Quantised* read = request.group.read(node.inputs[0]);
  const auto& writes = request.group.writes;
  if (!read && !writes) return std::vector<Pointwise>();
  if (!read || !writes) return Unsupported("one side alone is of integers");
  const LinearQuantisation &from = read->quantisation, &to = writes->quantisation;
  if (!from.is_whole() || !to.is_whole() || from.type != to.type) return Unsupported("scales or types differ");
  const bool padded = pooling.algorithm == dnnl::algorithm::pooling_avg_include_padding;
  if (padded && from.zero_points[0] != 0) return Unsupported("the padding is not zero");
  if (from == to) return std::vector<Pointwise>();
  const float factor = from.scales[0] / to.scales[0];
  const auto from_zero = static_cast<float>(from.zero_points[0]), to_zero = static_cast<float>(to.zero_points[0]);
  return std::vector<Pointwise>{Eltwise(dnnl::algorithm::eltwise_linear, factor, to_zero - factor * from_zero)};
}

}  // namespace

std::optional<std::string> WhyNotPooling(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 1 || node.outputs.empty() || !node.outputs[0].valid()) return "it has not one input";
  if (auto why = WhyMoreOutputs(graph, node)) return why;
  const auto why_not_type = node.op == "MaxPool" ? WhyNoFloatsOrBytes : WhyNoFloats;
  if (auto why = why_not_type(graph, node.inputs)) return why;
  if (auto why = why_not_type(graph, std::span(node.outputs).first(1))) return why;
  if (graph.value(node.inputs[0]).is_constant()) return "its input is constant";
  if (!PoolingOf(graph, node)) return "its window, pads or rounding cannot be expressed";
  return std::nullopt;
}

Result<KernelDescriptor> BuildPooling(const Request& request) {
  const Node& node = request.graph.node(request.group.anchor);
  const auto pooling = PoolingOf(request.graph, node);
  if (!pooling) return Unsupported("the pooling cannot be expressed");
  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc src, DescOf(request.in[0], request.out));
  PT_ASSIGN(const Desc dst, DescOf(request.out, request.in[0]));
  PT_ASSIGN(const std::vector<Pointwise> requantisation, Requantisation(request, node, *pooling));
  PT_ASSIGN(const dnnl::primitive_attr attributes,
            Attributes(request, {requantisation, dst, request.out.layout}, descriptor));
  const WindowParameters& window = pooling->window;
  PT_CHECK_OK(Complete(
      descriptor, dnnl::pooling_forward::primitive_desc(
                      request.engine, dnnl::prop_kind::forward_inference, pooling->algorithm, src, dst, window.strides,
                      window.kernel, window.dilates(), window.pads_begin, window.pads_end, attributes, true)));
  descriptor.call.arguments.push_back({DNNL_ARG_SRC, Argument::Source::kInput, 0, src});
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  return descriptor;
}

}  // namespace pt::onednn
