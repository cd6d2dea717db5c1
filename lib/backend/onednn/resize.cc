// Resize as oneDNN's resampling, offered only where both make every element of the result of the same ones: the two
// definitions differ in rounding and edges for many modes, so the weights themselves are compared.
#include "partitiontuner/graph/operators/resize.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lib/backend/onednn/family.h"

namespace pt::onednn {
namespace {

// By index in the input; elements of no weight are left out.
using Weights = std::map<int64_t, double>;

Weights WeightsOf(const ResizeNode& node, const ResizedAxis& dim, int64_t o) {
  Weights weights;
  ForTaps(node, dim, SourceOf(node, dim, o), [&](int64_t at, double weight) {
    if (weight != 0) weights[at] += weight;
  });
  return weights;
}

// oneDNN's, at a position in its own precision.
Weights TheirWeights(const ResizeNode& node, const ResizedAxis& dim, int64_t o) {
  const float place = (static_cast<float>(o) + 0.5F) * static_cast<float>(dim.in) / static_cast<float>(dim.out) - 0.5F;
  if (node.mode == ResizeMode::kNearest) {
    return {{std::clamp<int64_t>(static_cast<int64_t>(std::roundf(place)), 0, dim.in - 1), 1.0}};
  }
  const double at = std::clamp(static_cast<double>(place), 0.0, static_cast<double>(dim.in - 1));
  const auto left = static_cast<int64_t>(at);
  Weights weights{{left, 1 - (at - static_cast<double>(left))}};
  if (left + 1 < dim.in) weights[left + 1] = at - static_cast<double>(left);
  return weights;
}

bool SameWeights(const Weights& ours, const Weights& theirs) {
  const auto lacks = [](const Weights& all, int64_t at, double weight) {
    const auto found = all.find(at);
    return std::abs((found == all.end() ? 0 : found->second) - weight) > 1e-5;
  };
  return std::ranges::none_of(ours, [&](const auto& tap) { return lacks(theirs, tap.first, tap.second); }) &&
         std::ranges::none_of(theirs, [&](const auto& tap) { return lacks(ours, tap.first, tap.second); });
}

bool SameAlong(const ResizeNode& node, const ResizedAxis& dim) {
  if (!IsResized(node, dim)) return true;
  for (int64_t o = 0; o < dim.out; ++o) {
    if (IsOutside(node, dim, SourceOf(node, dim, o))) return false;
    if (!SameWeights(WeightsOf(node, dim, o), TheirWeights(node, dim, o))) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> WhyNotResize(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.size() != 1) return "it lacks input or output";
  if (auto why = WhyNoFloats(graph, std::span(node.inputs).first(1))) return why;
  if (auto why = WhyNoFloats(graph, node.outputs)) return why;
  if (graph.value(node.inputs[0]).is_constant()) return "its input is constant";
  const Result<ConstantResize> resize = ReadConstantResize(graph, node);
  if (!resize.ok()) return resize.error().message;
  const std::vector<ResizedAxis>& dims = resize->dims;
  if (dims.size() < 3 || dims.size() > 5) return "it is not 1D, 2D or 3D";
  if (resize->node.mode == ResizeMode::kCubic) return "its mode is cubic";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i < 2 && IsResized(resize->node, dims[i])) return "it resizes batch or channels";
    if (i >= 2 && !SameAlong(resize->node, dims[i])) return "it samples at other positions than oneDNN";
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
  PT_ASSIGN(const dnnl::primitive_attr attributes, Attributes(request, {{}, dst, request.out.layout}, descriptor));
  PT_ASSIGN(const ConstantResize resize, ReadConstantResize(request.graph, node));
  const auto algorithm = resize.node.mode == ResizeMode::kNearest ? dnnl::algorithm::resampling_nearest
                                                                  : dnnl::algorithm::resampling_linear;
  PT_CHECK_OK(
      Complete(descriptor, dnnl::resampling_forward::primitive_desc(request.engine, dnnl::prop_kind::forward_inference,
                                                                    algorithm, src, dst, attributes, true)));
  descriptor.call.arguments.push_back({DNNL_ARG_SRC, Argument::Source::kInput, *main, src});
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  return descriptor;
}

}  // namespace pt::onednn
