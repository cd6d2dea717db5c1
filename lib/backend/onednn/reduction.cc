// Reduce*: oneDNN's reduction, or a global pooling where the spatial dims of an image are reduced. Not ReduceMax and
// ReduceMin: oneDNN starts them at the least and greatest finite number, so that nothing but infinities, as in a row of
// an attention mask, gives a finite result.
#include <algorithm>
#include <set>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/graph/operators/reductions.h"

namespace pt::onednn {
namespace {

// The reduced axes; nullopt when they are not known or out of range. All of them where the node names none.
std::optional<std::set<size_t>> AxesOf(const Graph& graph, const Node& node) {
  const auto reduced = ReadReducedDims(graph, node, DimsOf(graph, node.inputs[0]).size());
  if (!reduced.ok()) return std::nullopt;
  std::set<size_t> axes;
  for (size_t d = 0; d < reduced->size(); ++d) {
    if ((*reduced)[d]) axes.insert(d);
  }
  return axes;
}

struct Reduction {
  dnnl::algorithm algorithm;
  float p;
};

std::optional<Reduction> ReductionOf(std::string_view op) {
  using Algorithm = dnnl::algorithm;
  if (op == "ReduceMean") return Reduction{Algorithm::reduction_mean, 0};
  if (op == "ReduceSum") return Reduction{Algorithm::reduction_sum, 0};
  if (op == "ReduceProd") return Reduction{Algorithm::reduction_mul, 0};
  if (op == "ReduceL1") return Reduction{Algorithm::reduction_norm_lp_power_p_sum, 1};
  if (op == "ReduceL2") return Reduction{Algorithm::reduction_norm_lp_sum, 2};
  if (op == "ReduceSumSquare") return Reduction{Algorithm::reduction_norm_lp_power_p_sum, 2};
  return std::nullopt;
}

bool ReducesImage(const std::set<size_t>& axes, size_t rank) {
  return rank >= 3 && rank <= 5 && axes.size() == rank - 2 && *axes.begin() == 2;
}

}  // namespace

std::optional<std::string> WhyNotReduction(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.size() != 1) return "it lacks input or output";
  if (auto why = WhyNoFloats(graph, std::span(node.inputs).first(1))) return why;
  if (auto why = WhyNoFloats(graph, node.outputs)) return why;
  if (graph.value(node.inputs[0]).is_constant()) return "its input is constant";
  const auto axes = AxesOf(graph, node);
  if (!axes) return "its axes are not known";
  if (axes->empty()) return "it reduces nothing";
  return std::nullopt;
}

Result<KernelDescriptor> BuildReduction(const Request& request) {
  const Graph& graph = request.graph;
  const Node& node = graph.node(request.group.anchor);
  const auto axes = AxesOf(graph, node);
  const auto reduction = ReductionOf(node.op);
  const auto main = InputIndex(request, node.inputs[0]);
  if (!axes || !reduction || !main) return Unsupported("the reduction cannot be expressed");
  const Dims x = DimsOf(graph, node.inputs[0]);
  Dims y = x;
  for (size_t axis : *axes) y[axis] = 1;

  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc src, DescOf(request.in[*main]));
  PT_ASSIGN(const Desc dst, ReshapedDesc(request.out, y));
  PT_ASSIGN(const dnnl::primitive_attr attributes, Attributes(request, {{}, dst, request.out.layout}, descriptor));
  if (src.get_dims() == y) return Unsupported("nothing is reduced");
  dnnl::primitive_desc_base description;
  if (node.op == "ReduceMean" && ReducesImage(*axes, x.size())) {
    const Dims kernel(x.begin() + 2, x.end()), zero(kernel.size(), 0), one(kernel.size(), 1);
    const auto algorithm = dnnl::algorithm::pooling_avg_exclude_padding;
    description = dnnl::pooling_forward::primitive_desc(request.engine, kInference, algorithm, src, dst, one, kernel,
                                                        zero, zero, zero, attributes, true);
  } else {
    description = dnnl::reduction::primitive_desc(request.engine, reduction->algorithm, src, dst, reduction->p, 0.0F,
                                                  attributes, true);
  }
  PT_CHECK_OK(Complete(descriptor, description));
  // These take a hundred times as long as the host library's kernels, and longer than the reference library.
  if (descriptor.is_slow()) return Unsupported("oneDNN would reduce it by plain loops");
  descriptor.call.arguments.push_back({DNNL_ARG_SRC, Argument::Source::kInput, *main, src});
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  return descriptor;
}

}  // namespace pt::onednn
