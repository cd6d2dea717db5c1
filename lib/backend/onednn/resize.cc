// Resize as oneDNN's resampling, offered only where both take every output element from the same
// place: the two definitions differ in rounding and edges for many modes, so the positions
// themselves are compared.
#include <algorithm>
#include <cmath>

#include "lib/backend/onednn/family.h"

namespace pt::onednn {
namespace {

struct Axis {
  int64_t in = 0, out = 0;
  double scale = 1;
};

// The scale of each dim as ONNX uses it: as given, or out/in where sizes are given.
std::optional<std::vector<Axis>> AxesOf(const Graph& graph, const Node& node) {
  const Dims x = DimsOf(graph, node.inputs[0]), y = DimsOf(graph, node.outputs[0]);
  if (x.size() != y.size()) return std::nullopt;
  std::vector<Axis> axes;
  for (size_t i = 0; i < x.size(); ++i) {
    axes.push_back({x[i], y[i], static_cast<double>(y[i]) / static_cast<double>(x[i])});
  }
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return axes;
  const auto& scales = graph.value(node.inputs[2]).constant;
  if (!scales) return std::nullopt;
  if (scales->element_count() == 0) return axes;
  const std::vector<int64_t> which = node.ints_or("axes", {});
  const auto values = scales->values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t axis = which.empty() ? static_cast<int64_t>(i) : (i < which.size() ? which[i] : -1);
    if (!which.empty() && axis < 0) axis += static_cast<int64_t>(x.size());
    if (axis < 0 || axis >= static_cast<int64_t>(x.size())) return std::nullopt;
    axes[static_cast<size_t>(axis)].scale = values[i];
  }
  return axes;
}

// Where ONNX takes output position i from; NaN for modes that are not known here.
double Position(const std::string& mode, const Axis& axis, int64_t i) {
  const double at = static_cast<double>(i), in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  if (mode == "half_pixel") return (at + 0.5) / axis.scale - 0.5;
  if (mode == "pytorch_half_pixel") return axis.out > 1 ? (at + 0.5) / axis.scale - 0.5 : 0.0;
  if (mode == "asymmetric") return at / axis.scale;
  if (mode == "align_corners") return axis.out > 1 ? at * (in - 1) / (out - 1) : 0.0;
  return std::nan("");
}

int64_t Rounded(const std::string& mode, double position) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(position));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(position));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(position + 0.5));
  return static_cast<int64_t>(std::ceil(position - 0.5));
}

// oneDNN's position, in its own precision.
float TheirPosition(const Axis& axis, int64_t i) {
  return (static_cast<float>(i) + 0.5F) * static_cast<float>(axis.in) / static_cast<float>(axis.out) - 0.5F;
}

bool SameAlong(const Node& node, const Axis& axis, bool nearest) {
  const std::string mode = node.string_or("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = node.string_or("nearest_mode", "round_prefer_floor");
  const auto last = static_cast<double>(axis.in - 1);
  for (int64_t i = 0; i < axis.out; ++i) {
    const double ours = Position(mode, axis, i);
    if (std::isnan(ours)) return false;
    if (nearest) {
      const auto theirs = static_cast<int64_t>(std::roundf(TheirPosition(axis, i)));
      const int64_t top = axis.in - 1;
      if (std::clamp<int64_t>(Rounded(rounding, ours), 0, top) != std::clamp<int64_t>(theirs, 0, top)) return false;
    } else {
      const double theirs = std::clamp(static_cast<double>(TheirPosition(axis, i)), 0.0, last);
      if (std::abs(std::clamp(ours, 0.0, last) - theirs) > 1e-5) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> WhyNotResize(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.size() != 1) return "it lacks input or output";
  if (auto why = WhyNoFloats(graph, std::span(node.inputs).first(1))) return why;
  if (auto why = WhyNoFloats(graph, node.outputs)) return why;
  if (graph.value(node.inputs[0]).is_constant()) return "its input is constant";
  const std::string mode = node.string_or("mode", "nearest");
  const auto axes = AxesOf(graph, node);
  if (!axes || axes->size() < 3 || axes->size() > 5) return "its scales are not known or it is not 1D, 2D or 3D";
  if ((mode != "nearest" && mode != "linear") || node.int_or("antialias", 0) != 0) return "its mode is " + mode;
  for (size_t i = 0; i < axes->size(); ++i) {
    if (i < 2 && (*axes)[i].in != (*axes)[i].out) return "it resizes batch or channels";
    if (i >= 2 && !SameAlong(node, (*axes)[i], mode == "nearest")) return "it samples at other positions than oneDNN";
  }
  return std::nullopt;
}

Result<KernelDescriptor> BuildResize(const Request& request) {
  const Node& node = request.graph.node(request.group.anchor);
  const auto main = InputIndex(request, node.inputs[0]);
  if (!main || request.in[*main].layout != request.out.layout) return Unsupported("layouts differ");
  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc src, DescOf(request.in[*main], request.out));
  PT_ASSIGN(const Desc dst, DescOf(request.out, request.in[*main]));
  PT_ASSIGN(const dnnl::primitive_attr attributes,
            Attributes(request, {{}, dst, request.out.layout}, descriptor));
  const auto algorithm = node.string_or("mode", "nearest") == "nearest" ? dnnl::algorithm::resampling_nearest
                                                                        : dnnl::algorithm::resampling_linear;
  PT_CHECK_OK(
      Complete(descriptor, dnnl::resampling_forward::primitive_desc(request.engine, dnnl::prop_kind::forward_inference,
                                                                    algorithm, src, dst, attributes, true)));
  descriptor.call.arguments.push_back({DNNL_ARG_SRC, Argument::Source::kInput, *main, src});
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  return descriptor;
}

}  // namespace pt::onednn
