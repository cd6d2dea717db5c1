// Softmax, LogSoftmax, LRN and LayerNormalization.
#include <algorithm>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/graph/operators/softmax.h"

namespace pt::onednn {
namespace {

std::optional<std::string> WhyNotFloatOperator(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty() || !node.outputs[0].valid()) return "it lacks input or output";
  if (auto why = WhyMoreOutputs(graph, node)) return why;
  if (auto why = WhyNoFloats(graph, node.inputs)) return why;
  if (auto why = WhyNoFloats(graph, std::span(node.outputs).first(1))) return why;
  if (graph.value(node.inputs[0]).is_constant()) return "its input is constant";
  return std::nullopt;
}

void AddSourceAndResult(KernelDescriptor& descriptor, const Desc& src, const Desc& dst) {
  descriptor.call.arguments.push_back({DNNL_ARG_SRC, Argument::Source::kInput, 0, src});
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
}

Dims WithoutLeadingOnes(const Dims& dims) {
  return {std::ranges::find_if(dims, [](int64_t dim) { return dim != 1; }), dims.end()};
}

// oneDNN's kernels go from row to row of what they read, and write as they read, wherever the result is to lie.
bool HasPlainRows(const Desc& matrix) {
  const Dims dims = matrix.get_dims(), strides = matrix.get_strides();
  return (dims[0] == 1 || strides[0] == dims[1]) && (dims[1] == 1 || strides[1] == 1);
}

}  // namespace

std::optional<std::string> WhyNotSoftmax(const Graph& graph, const Node& node) {
  if (auto why = WhyNotFloatOperator(graph, node)) return why;
  const auto softmax = ReadSoftmax(node, graph.opset(), DimsOf(graph, node.inputs[0]).size());
  if (!softmax.ok()) return "its axis is out of range";
  if (!softmax->is_along_one_dim()) return "its vectors lie along several dims or none";
  return std::nullopt;
}

Result<KernelDescriptor> BuildSoftmax(const Request& request) {
  const Node& node = request.graph.node(request.group.anchor);
  const auto softmax = ReadSoftmax(node, request.graph.opset(), request.out.dims.size());
  if (!softmax.ok() || !softmax->is_along_one_dim() || request.in[0].layout != request.out.layout)
    return Unsupported("axis or layouts do not fit");
  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc src, DescOf(request.in[0]));
  PT_ASSIGN(const Desc dst, DescOf(request.out));
  // oneDNN multiplies the result by the scale of what is read, so that is never of integers.
  const auto& writes = request.group.writes;
  if (writes && !writes->quantisation.is_whole()) return Unsupported("the result's scale varies along an axis");
  std::vector<Pointwise> quantised;
  if (writes) quantised.push_back(FromReal(*writes));
  PT_ASSIGN(const dnnl::primitive_attr attributes,
            Attributes(request, {quantised, dst, request.out.layout}, descriptor));
  const auto algorithm = node.op == "Softmax" ? dnnl::algorithm::softmax_accurate : dnnl::algorithm::softmax_log;
  PT_CHECK_OK(
      Complete(descriptor, dnnl::softmax_forward::primitive_desc(request.engine, kInference, algorithm, src, dst,
                                                                 static_cast<int>(softmax->begin), attributes, true)));
  AddSourceAndResult(descriptor, src, dst);
  if (request.in[0] == request.out) descriptor.in_place.push_back(0);
  return descriptor;
}

std::optional<std::string> WhyNotLrn(const Graph& graph, const Node& node) {
  if (auto why = WhyNotFloatOperator(graph, node)) return why;
  if (DimsOf(graph, node.inputs[0]).size() < 3) return "it has fewer than three dims";
  const Result<LrnNode> lrn = ReadLrn(node);
  if (!lrn.ok() || lrn->size % 2 == 0) return "its size is not odd";
  return std::nullopt;
}

Result<KernelDescriptor> BuildLrn(const Request& request) {
  const Node& node = request.graph.node(request.group.anchor);
  if (request.in[0].layout != request.out.layout) return Unsupported("layouts differ");
  PT_ASSIGN(const LrnNode lrn, ReadLrn(node));
  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc src, DescOf(request.in[0]));
  PT_ASSIGN(const Desc dst, DescOf(request.out));
  PT_ASSIGN(const dnnl::primitive_attr attributes, Attributes(request, {{}, dst, request.out.layout}, descriptor));
  PT_CHECK_OK(Complete(descriptor, dnnl::lrn_forward::primitive_desc(
                                       request.engine, kInference, dnnl::algorithm::lrn_across_channels, src, dst,
                                       lrn.size, lrn.alpha, lrn.beta, lrn.bias, attributes, true)));
  AddSourceAndResult(descriptor, src, dst);
  return descriptor;
}

std::optional<std::string> WhyNotLayerNorm(const Graph& graph, const Node& node) {
  if (auto why = WhyNotFloatOperator(graph, node)) return why;
  const Dims x = DimsOf(graph, node.inputs[0]);
  const Result<size_t> axis = ReadAxis(node, graph.opset(), x.size());
  if (!axis.ok()) return "its axis is out of range";
  const Dims row(x.begin() + static_cast<std::ptrdiff_t>(*axis), x.end());
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].valid() && WithoutLeadingOnes(DimsOf(graph, node.inputs[i])) != WithoutLeadingOnes(row)) {
      return "scale or bias broadcasts";
    }
  }
  return std::nullopt;
}

Result<KernelDescriptor> BuildLayerNorm(const Request& request) {
  const Graph& graph = request.graph;
  const Node& node = graph.node(request.group.anchor);
  const Dims x = DimsOf(graph, node.inputs[0]);
  const Result<size_t> axis = ReadAxis(node, graph.opset(), x.size());
  const auto main = InputIndex(request, node.inputs[0]);
  if (!axis.ok() || !main) return Unsupported("its axis is out of range");
  Dims flat{1, 1};
  for (size_t i = 0; i < x.size(); ++i) flat[i < *axis ? 0 : 1] *= x[i];

  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc src, ReshapedDesc(request.in[*main], flat));
  PT_ASSIGN(const Desc dst, ReshapedDesc(request.out, flat));
  if (!HasPlainRows(src) || !HasPlainRows(dst)) return Unsupported("rows lie apart or in another order");
  PT_ASSIGN(const dnnl::primitive_attr attributes, Attributes(request, {{}, dst, RowMajor(2)}, descriptor));
  auto flags = dnnl::normalization_flags::none;
  const Desc vector = PlainDesc({flat[1]});
  for (size_t i = 1; i < node.inputs.size() && i < 3; ++i) {
    if (!node.inputs[i].valid()) continue;
    const bool scale = i == 1;
    flags = flags | (scale ? dnnl::normalization_flags::use_scale : dnnl::normalization_flags::use_shift);
    const int key = scale ? DNNL_ARG_SCALE : DNNL_ARG_SHIFT;
    if (const auto& constant = graph.value(node.inputs[i]).constant) {
      descriptor.call.arguments.push_back(ConstantArgument(descriptor, key, *constant, vector, vector));
    } else {
      const auto index = InputIndex(request, node.inputs[i]);
      if (!IsDense(request.in[*index])) return Unsupported("scale or bias is a slice");
      // It is read as float32, whatever the image is stored as.
      if (request.in[*index].type != DataType::kFloat32) return Unsupported("scale or bias is stored in less");
      descriptor.call.arguments.push_back({key, Argument::Source::kInput, *index, vector});
    }
  }
  PT_CHECK_OK(
      Complete(descriptor, dnnl::layer_normalization_forward::primitive_desc(
                               request.engine, kInference, src, dst, ReadEpsilon(node), flags, attributes, true)));
  descriptor.call.arguments.push_back({DNNL_ARG_SRC, Argument::Source::kInput, *main, src});
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  if (request.in[*main] == request.out) descriptor.in_place.push_back(*main);
  return descriptor;
}

}  // namespace pt::onednn
