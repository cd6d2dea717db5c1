#include <algorithm>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/backend/window_parameters.h"

namespace pt::onednn {
namespace {

constexpr auto kInference = dnnl::prop_kind::forward_inference;

Dims Spatial(const Dims& dims) { return {dims.begin() + 2, dims.end()}; }

Dims KernelDims(const Graph& graph, const Node& node) { return Spatial(DimsOf(graph, node.inputs[1])); }

std::optional<std::string> WhyNot(const Graph& graph, const Node& node, bool transposed) {
  if (node.inputs.size() < 2 || node.outputs.size() != 1) return "it has too few inputs or too many outputs";
  if (auto why = WhyNoFloats(graph, node.inputs)) return why;
  if (auto why = WhyNoFloats(graph, node.outputs)) return why;
  const Dims x = DimsOf(graph, node.inputs[0]), w = DimsOf(graph, node.inputs[1]), y = DimsOf(graph, node.outputs[0]);
  const int64_t groups = node.int_or("group", 1);
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size() || y.size() != x.size()) return "it is not 1D, 2D or 3D";
  if (graph.value(node.inputs[0]).is_constant()) return "its input is constant";
  const int64_t in_channels = transposed ? w[0] : w[1] * groups, out_channels = transposed ? w[1] * groups : w[0];
  if (groups < 1 || x[1] % groups != 0 || y[1] % groups != 0 || in_channels != x[1] || out_channels != y[1]) {
    return "weights, groups and channels do not fit together";
  }
  const Dims kernel = KernelDims(graph, node);
  if (node.ints_or("kernel_shape", kernel) != kernel) return "kernel_shape differs from the weights";
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

// Whether the window at some slice of the resulting volume meets no slice of the given one: it lies in the padding
// alone, or steps over what there is.
bool MissesAllSlices(int64_t in, int64_t out, const WindowParameters& window, bool transposed) {
  for (int64_t o = 0; o < out; ++o) {
    bool meets = false;
    for (int64_t k = 0; k < window.kernel[0]; ++k) {
      const int64_t step = k * window.dilations[0], pad = window.pads_begin[0], stride = window.strides[0];
      const int64_t at = transposed ? o + pad - step : o * stride - pad + step;
      meets = meets || (transposed ? at >= 0 && at % stride == 0 && at / stride < in : at >= 0 && at < in);
    }
    if (!meets) return true;
  }
  return false;
}

// What oneDNN 3.7.2 computes wrongly in less than float32, channels-last: a stride that makes one column of an image;
// volumes with several filters for each channel of their only slice, or with windows that meet no slice. The latter
// crash now and then.
bool IsWrongInLess(const Dims& x, const Dims& w, const Dims& y, int64_t groups, const WindowParameters& window,
                   bool transposed) {
  const bool volume = x.size() == 5;
  if (volume && MissesAllSlices(x[2], y[2], window, transposed)) return true;
  if (transposed) return false;
  const bool one_column = y.back() == 1 && window.strides.back() > 1;
  const bool several_filters = w[1] == 1 && groups > 1 && w[0] > groups;
  return one_column || (several_filters && volume && x[2] == 1 && w[2] > 1);
}

// The scales and zero points of the integers that are read and written.
Status AddQuantisations(const Request& request, const Node& node, int64_t groups, bool transposed,
                        dnnl::primitive_attr& attributes, KernelDescriptor& descriptor) {
  const Quantised &x = *request.group.read(node.inputs[0]), &w = *request.group.read(node.inputs[1]);
  if (!HasExactIntegerProducts()) return Unsupported("this processor's products of integers are not exact");
  if (!x.quantisation.is_whole()) return Unsupported("the input's scale varies along an axis");
  PT_CHECK_OK(AddQuantisation(attributes, descriptor, DNNL_ARG_SRC, x.quantisation, 0));
  LinearQuantisation weights = w.quantisation;
  std::ranges::fill(weights.zero_points, 0);  // SymmetricWeights
  int mask = 0;
  if (!weights.is_whole()) {
    if (weights.axis != (transposed ? 1 : 0) || (transposed && groups > 1)) return Unsupported("the weights' scales");
    mask = groups > 1 ? 3 : 1;
  }
  PT_CHECK_OK(AddQuantisation(attributes, descriptor, DNNL_ARG_WEIGHTS, weights, mask));
  const auto& writes = request.group.writes;
  if (!writes) return {};
  if (!writes->quantisation.is_whole()) return Unsupported("the result's scale varies along an axis");
  return AddQuantisation(attributes, descriptor, DNNL_ARG_DST, writes->quantisation, 0);
}

Result<KernelDescriptor> BuildAny(const Request& request, bool transposed) {
  const Graph& graph = request.graph;
  const Node& node = graph.node(request.group.anchor);
  const Dims x = DimsOf(graph, node.inputs[0]), w = DimsOf(graph, node.inputs[1]), y = DimsOf(graph, node.outputs[0]);
  const int64_t groups = node.int_or("group", 1);
  const Dims kernel = KernelDims(graph, node);
  const auto window = transposed ? TransposedWindowOf(node, kernel, Spatial(x), Spatial(y))
                                 : WindowOf(node, kernel, Spatial(x), Spatial(y));
  const auto source = InputIndex(request, node.inputs[0]);
  if (!window || !source) return Unsupported("the convolution's dims do not fit together");
  const bool in_less = request.in[*source].type != DataType::kFloat32;
  if (in_less && IsWrongInLess(x, w, y, groups, *window, transposed)) return Unsupported("oneDNN computes it wrongly");

  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc src, DescOf(request.in[*source], request.out));
  PT_ASSIGN(const Desc dst, DescOf(request.out, request.in[*source]));
  PostOps post{request.group.ops, dst, request.out.layout, Followed::kConvolution};

  std::optional<Argument> bias;
  const bool own_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  if (own_bias || TakesAsBias(request.group, y)) {
    const auto& constant = own_bias ? graph.value(node.inputs[2]).constant : request.group.ops[0].operand.constant;
    if (constant) {
      const Desc plain = PlainDesc({y[1]});
      bias = ConstantArgument(descriptor, DNNL_ARG_BIAS, *constant, plain, plain);
    } else {
      const uint32_t index = *InputIndex(request, node.inputs[2]);
      bias = Argument{DNNL_ARG_BIAS, Argument::Source::kInput, index, PlainDesc({y[1]}, request.in[index].type)};
    }
    if (!own_bias) post.ops = post.ops.subspan(1);
  }

  const Quantised *x_read = request.group.read(node.inputs[0]), *w_read = request.group.read(node.inputs[1]);
  if ((x_read == nullptr) != (w_read == nullptr)) return Unsupported("one operand alone is of integers");
  const std::optional<Tensor> constant_weights =
      w_read ? SymmetricWeights(graph, *w_read) : RealConstant(request, node.inputs[1]);
  if (w_read && !constant_weights) return Unsupported("weights of integers are not constant and symmetric");
  const std::optional<uint32_t> weights_input = InputIndex(request, node.inputs[1]);
  const DataType stored = w_read          ? DataType::kInt8
                          : weights_input ? request.in[*weights_input].type
                                          : DataType::kFloat32;
  const Desc plain_weights = PlainWeights(w, groups, transposed, stored);
  const Desc weights = constant_weights
                           ? AnyDesc(plain_weights.get_dims(), w_read ? DataType::kInt8 : WeightsType(request))
                           : plain_weights;
  PT_ASSIGN(dnnl::primitive_attr attributes, Attributes(request, post, descriptor));
  if (x_read) PT_CHECK_OK(AddQuantisations(request, node, groups, transposed, attributes, descriptor));

  dnnl::primitive_desc_base description;
  const Desc no_bias;
  const Desc& bias_desc = bias ? bias->desc : no_bias;
  if (transposed) {
    description = dnnl::deconvolution_forward::primitive_desc(
        request.engine, kInference, dnnl::algorithm::deconvolution_direct, src, weights, bias_desc, dst,
        window->strides, window->dilates(), window->pads_begin, window->pads_end, attributes, true);
  } else {
    description = dnnl::convolution_forward::primitive_desc(
        request.engine, kInference, dnnl::algorithm::convolution_direct, src, weights, bias_desc, dst, window->strides,
        window->dilates(), window->pads_begin, window->pads_end, attributes, true);
  }
  PT_CHECK_OK(Complete(descriptor, description));

  auto& arguments = descriptor.call.arguments;
  arguments.push_back({DNNL_ARG_SRC, Argument::Source::kInput, *source, src});
  if (constant_weights) {
    const Desc packed = description.query_md(dnnl::query::weights_md, 0);
    arguments.push_back(ConstantArgument(descriptor, DNNL_ARG_WEIGHTS, *constant_weights, plain_weights, packed));
  } else {
    arguments.push_back({DNNL_ARG_WEIGHTS, Argument::Source::kInput, *weights_input, weights});
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
Result<KernelDescriptor> BuildTransposedConvolution(const Request& request) { return BuildAny(request, true); }

}  // namespace pt::onednn
