#include "lib/backend/onednn/convolution.h"

#include <algorithm>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/graph/operators/windows.h"

namespace pt::onednn {
namespace {

Dims Spatial(const Dims& dims) { return {dims.begin() + 2, dims.end()}; }

Dims KernelDims(const Graph& graph, const Node& node) { return Spatial(DimsOf(graph, node.inputs[1])); }

// Whether some window meets nothing of the input along that spatial dim: it lies in the padding alone, or steps over
// what there is.
bool MissesAlong(size_t dim, int64_t in, int64_t out, const WindowParameters& window, bool transposed) {
  const int64_t pad = window.pads_begin[dim], stride = window.strides[dim];
  for (int64_t o = 0; o < out; ++o) {
    bool meets = false;
    for (int64_t k = 0; k < window.kernel[dim] && !meets; ++k) {
      const int64_t step = k * window.dilations[dim], at = transposed ? o + pad - step : o * stride - pad + step;
      meets = transposed ? at >= 0 && at % stride == 0 && at / stride < in : at >= 0 && at < in;
    }
    if (!meets) return true;
  }
  return false;
}

bool SomeWindowMisses(const Dims& in, const Dims& out, const WindowParameters& window, bool transposed) {
  for (size_t dim = 0; dim < in.size(); ++dim) {
    if (MissesAlong(dim, in[dim], out[dim], window, transposed)) return true;
  }
  return false;
}

std::optional<std::string> WhyNot(const Graph& graph, const Node& node, bool transposed) {
  if (node.inputs.size() < 2 || node.outputs.size() != 1) return "it has too few inputs or too many outputs";
  if (auto why = WhyNoFloats(graph, node.inputs)) return why;
  if (auto why = WhyNoFloats(graph, node.outputs)) return why;
  const Dims x = DimsOf(graph, node.inputs[0]), w = DimsOf(graph, node.inputs[1]), y = DimsOf(graph, node.outputs[0]);
  const int64_t groups = ReadConvolutionGroups(node);
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size() || y.size() != x.size()) return "it is not 1D, 2D or 3D";
  if (graph.value(node.inputs[0]).is_constant()) return "its input is constant";
  const int64_t in_channels = transposed ? w[0] : w[1] * groups, out_channels = transposed ? w[1] * groups : w[0];
  if (groups < 1 || x[1] % groups != 0 || y[1] % groups != 0 || in_channels != x[1] || out_channels != y[1]) {
    return "weights, groups and channels do not fit together";
  }
  const Dims kernel = KernelDims(graph, node);
  if (ReadKernelShape(node).value_or(kernel) != kernel) return "kernel_shape differs from the weights";
  const auto window = transposed ? TransposedWindowOf(node, kernel, Spatial(x), Spatial(y))
                                 : WindowOf(node, kernel, Spatial(x), Spatial(y));
  if (!window) return "pads, strides and dims do not fit together";
  return std::nullopt;
}

// The weights' dims and strides as oneDNN counts them: [group,] out, in, kernel.
Desc PlainWeights(const Dims& w, int64_t groups, bool transposed, DataType type) {
  Dims dims, strides;
  int64_t kernel = 1;
  for (size_t i = 2; i < w.size(); ++i) kernel *= w[i];
  const int64_t in = transposed ? w[0] / groups : w[1], out = transposed ? w[1] : w[0] / groups;
  if (groups > 1) {
    dims.push_back(groups);
    strides.push_back(in * out * kernel);
  }
  dims.insert(dims.end(), {out, in});
  strides.insert(strides.end(), {transposed ? kernel : in * kernel, transposed ? out * kernel : kernel});
  for (size_t i = 2; i < w.size(); ++i) {
    kernel /= w[i];
    dims.push_back(w[i]);
    strides.push_back(kernel);
  }
  return Desc(dims, *TypeOf(type), strides);
}

// A constant added per channel right after a convolution without bias is its bias.
bool TakesAsBias(const FusionGroup& group, const Dims& y) {
  if (group.ops.empty() || group.ops[0].algorithm != dnnl::algorithm::binary_add || !group.ops[0].operand.constant) {
    return false;
  }
  const Dims& dims = group.ops[0].operand.dims;
  if (dims.size() + 1 < y.size()) return false;
  const size_t channel = dims.size() - (y.size() - 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != (i == channel ? y[1] : 1)) return false;
  }
  return true;
}

// What oneDNN 3.7.2 gets wrong in every type. Where some window meets nothing of the input, kernels call a null pointer
// or compute something else; where a stride goes over a single column, results depend on what scratch memory held
// before.
bool IsMisread(const ConvolutionParts& parts) {
  const bool one_column = parts.x.back() == 1 && parts.y.back() == 1 && parts.window.strides.back() > 1;
  return (!parts.transposed && one_column) ||
         SomeWindowMisses(Spatial(parts.x), Spatial(parts.y), parts.window, parts.transposed);
}

}  // namespace

Result<ConvolutionParts> PartsOf(const Request& request, bool transposed) {
  const Graph& graph = request.graph;
  const Node& node = graph.node(request.group.anchor);
  ConvolutionParts parts;
  parts.transposed = transposed;
  parts.x = DimsOf(graph, node.inputs[0]);
  parts.w = DimsOf(graph, node.inputs[1]);
  parts.y = DimsOf(graph, node.outputs[0]);
  parts.groups = ReadConvolutionGroups(node);
  const Dims kernel = Spatial(parts.w);
  auto window = transposed ? TransposedWindowOf(node, kernel, Spatial(parts.x), Spatial(parts.y))
                           : WindowOf(node, kernel, Spatial(parts.x), Spatial(parts.y));
  const auto source = InputIndex(request, node.inputs[0]);
  if (!window || !source) return Unsupported("the convolution's dims do not fit together");
  parts.window = std::move(*window);
  parts.source = *source;

  parts.ops = request.group.ops;
  if (node.inputs.size() > 2 && node.inputs[2].valid()) {
    parts.bias = graph.value(node.inputs[2]).constant;
    if (!parts.bias) parts.bias_input = InputIndex(request, node.inputs[2]);
  } else if (TakesAsBias(request.group, parts.y)) {
    parts.bias = parts.ops[0].operand.constant;
    parts.ops = parts.ops.subspan(1);
  }

  parts.x_read = request.group.read(node.inputs[0]);
  parts.w_read = request.group.read(node.inputs[1]);
  if ((parts.x_read == nullptr) != (parts.w_read == nullptr)) return Unsupported("one operand alone is of integers");
  parts.weights = parts.w_read ? SymmetricWeights(graph, *parts.w_read) : RealConstant(request, node.inputs[1]);
  if (parts.w_read && !parts.weights) return Unsupported("weights of integers are not constant and symmetric");
  if (!parts.weights) parts.weights_input = InputIndex(request, node.inputs[1]);
  return parts;
}

DataType ConvolutionParts::weights_type(const Request& request) const {
  return w_read != nullptr ? DataType::kInt8 : WeightsType(request);
}

// Along some dim the windows reach as far as the input does, and begin before it: as many elements are not read at the
// end as there are in the padding. With one of each, oneDNN is right.
bool IsShifted(const Dims& in, const Dims& out, const WindowParameters& window) {
  for (size_t dim = 0; dim < in.size(); ++dim) {
    const int64_t extent = (window.kernel[dim] - 1) * window.dilations[dim] + 1;
    if (window.pads_begin[dim] > 1 && (out[dim] - 1) * window.strides[dim] + extent == in[dim]) return true;
  }
  return false;
}

// What oneDNN 3.7.2 computes wrongly in less than float32, channels-last: a stride that makes one column of an image;
// volumes of a single element, and those with several filters for each channel of their only slice; volumes of integers
// with filters for each channel, of which it mistakes the padding where some dim is short; windows that are as many as
// without the padding, which it then takes for none.
bool IsWrongInLess(const ConvolutionParts& parts, const Dims& w, const Dims& y, const WindowParameters& window) {
  const Dims& x = parts.x;
  const bool one_column = y.back() == 1 && window.strides.back() > 1;
  if (one_column || IsShifted(Spatial(x), Spatial(y), window)) return true;
  if (x.size() != 5) return false;
  const bool one_element = std::ranges::all_of(Spatial(x), [](int64_t size) { return size == 1; });
  const bool depthwise = w[1] == 1 && parts.groups > 1;
  const bool one_deep_slice = w[0] > parts.groups && x[2] == 1 && w[2] > 1;
  return one_element || (depthwise && (parts.x_read != nullptr || one_deep_slice));
}

Status AddQuantisations(const Request& request, const ConvolutionParts& parts, int64_t repeats,
                        dnnl::primitive_attr& attributes, KernelDescriptor& descriptor) {
  if (parts.x_read == nullptr) return {};
  if (!HasExactIntegerProducts()) return Unsupported("this processor's products of integers are not exact");
  if (!parts.x_read->quantisation.is_whole()) return Unsupported("the input's scale varies along an axis");
  PT_CHECK_OK(AddQuantisation(attributes, descriptor, DNNL_ARG_SRC, parts.x_read->quantisation, 0));
  LinearQuantisation weights = parts.w_read->quantisation;
  int mask = 0;
  if (!weights.is_whole()) {
    const bool by_output = weights.axis == (parts.transposed ? 1 : 0);
    if (!by_output || (parts.transposed && parts.groups > 1)) return Unsupported("the weights' scales");
    mask = parts.groups > 1 ? 3 : 1;
    const std::vector<float> once = weights.scales;
    for (int64_t i = 1; i < repeats; ++i) weights.scales.insert(weights.scales.end(), once.begin(), once.end());
  }
  weights.zero_points.assign(weights.scales.size(), 0);  // SymmetricWeights
  PT_CHECK_OK(AddQuantisation(attributes, descriptor, DNNL_ARG_WEIGHTS, weights, mask));
  const auto& writes = request.group.writes;
  if (!writes) return {};
  if (!writes->quantisation.is_whole()) return Unsupported("the result's scale varies along an axis");
  return AddQuantisation(attributes, descriptor, DNNL_ARG_DST, writes->quantisation, 0);
}

namespace {

// The bias as the primitive takes it; nullopt where there is none.
std::optional<Argument> BiasArgument(const Request& request, const ConvolutionParts& parts,
                                     KernelDescriptor& descriptor) {
  const Desc plain = PlainDesc({parts.y[1]});
  if (parts.bias) return ConstantArgument(descriptor, DNNL_ARG_BIAS, *parts.bias, plain, plain);
  if (!parts.bias_input) return std::nullopt;
  return Argument{DNNL_ARG_BIAS, Argument::Source::kInput, *parts.bias_input,
                  PlainDesc({parts.y[1]}, request.in[*parts.bias_input].type)};
}

Result<KernelDescriptor> BuildAny(const Request& request, bool transposed) {
  PT_ASSIGN(const ConvolutionParts parts, PartsOf(request, transposed));
  const WindowParameters& window = parts.window;
  const bool in_less = request.in[parts.source].type != DataType::kFloat32;
  if (IsMisread(parts)) return Unsupported("oneDNN crashes, or computes it wrongly");
  if (in_less && !transposed && IsWrongInLess(parts, parts.w, parts.y, window)) {
    return Unsupported("oneDNN computes it wrongly");
  }
  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc src, DescOf(request.in[parts.source], request.out));
  PT_ASSIGN(const Desc dst, DescOf(request.out, request.in[parts.source]));
  const std::optional<Argument> bias = BiasArgument(request, parts, descriptor);

  const DataType stored = parts.w_read          ? DataType::kInt8
                          : parts.weights_input ? request.in[*parts.weights_input].type
                                                : DataType::kFloat32;
  const Desc plain_weights = PlainWeights(parts.w, parts.groups, transposed, stored);
  const Desc weights = parts.weights ? AnyDesc(plain_weights.get_dims(), parts.weights_type(request)) : plain_weights;
  const PostOps post{parts.ops, dst, request.out.layout, Followed::kConvolution};
  PT_ASSIGN(dnnl::primitive_attr attributes, Attributes(request, post, descriptor));
  PT_CHECK_OK(AddQuantisations(request, parts, 1, attributes, descriptor));

  dnnl::primitive_desc_base description;
  const Desc no_bias;
  const Desc& bias_desc = bias ? bias->desc : no_bias;
  if (transposed) {
    description = dnnl::deconvolution_forward::primitive_desc(
        request.engine, kInference, dnnl::algorithm::deconvolution_direct, src, weights, bias_desc, dst, window.strides,
        window.dilates(), window.pads_begin, window.pads_end, attributes, true);
  } else {
    description = dnnl::convolution_forward::primitive_desc(
        request.engine, kInference, dnnl::algorithm::convolution_direct, src, weights, bias_desc, dst, window.strides,
        window.dilates(), window.pads_begin, window.pads_end, attributes, true);
  }
  PT_CHECK_OK(Complete(descriptor, description));

  auto& arguments = descriptor.call.arguments;
  arguments.push_back({DNNL_ARG_SRC, Argument::Source::kInput, parts.source, src});
  if (parts.weights) {
    const Desc packed = description.query_md(dnnl::query::weights_md, 0);
    arguments.push_back(ConstantArgument(descriptor, DNNL_ARG_WEIGHTS, *parts.weights, plain_weights, packed));
  } else {
    arguments.push_back({DNNL_ARG_WEIGHTS, Argument::Source::kInput, *parts.weights_input, weights});
  }
  if (bias) arguments.push_back(*bias);
  arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  return descriptor;
}

}  // namespace

std::optional<std::string> WhyNotConvolution(const Graph& graph, const Node& node) {
  return WhyNot(graph, node, false);
}
Result<KernelDescriptor> BuildConvolution(const Request& request) { return BuildAny(request, false); }

std::optional<std::string> WhyNotTransposedConvolution(const Graph& graph, const Node& node) {
  return WhyNot(graph, node, true);
}
Result<KernelDescriptor> BuildTransposedConvolution(const Request& request) {
  return request.way == Way::kPhases ? BuildPhases(request) : BuildAny(request, true);
}

}  // namespace pt::onednn
