// Concat and Transpose: nothing is computed, only moved.
#include "lib/backend/onednn/family.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"

namespace pt::onednn {

bool IsTranspose(const Node& node) { return node.domain.empty() && node.op == "Transpose"; }

std::optional<std::string> WhyNotConcat(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.outputs.size() != 1) return "it has not several inputs and one output";
  if (auto why = WhyNoFloatsOrBytes(graph, node.inputs)) return why;
  if (auto why = WhyNoFloatsOrBytes(graph, node.outputs)) return why;
  if (!ReadAxis(node, graph.opset(), DimsOf(graph, node.outputs[0]).size()).ok()) return "its axis is out of range";
  return std::nullopt;
}

Result<KernelDescriptor> BuildConcat(const Request& request) {
  const Graph& graph = request.graph;
  const Node& node = graph.node(request.group.anchor);
  const Result<size_t> axis = ReadAxis(node, graph.opset(), request.out.dims.size());
  if (!axis.ok()) return Unsupported("its axis is out of range");
  KernelDescriptor descriptor;
  PT_ASSIGN(const Desc dst, DescOf(request.out));
  PT_ASSIGN(const dnnl::primitive_attr attributes, Attributes(request, {{}, dst, request.out.layout}, descriptor));
  std::vector<Desc> sources;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int key = DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i);
    if (const auto& constant = graph.value(node.inputs[i]).constant) {
      PT_ASSIGN(const TensorLayout tensor, DenseLayout(request.out.type, constant->dims(), request.out.layout));
      PT_ASSIGN(const Desc packed, DescOf(tensor));
      descriptor.call.arguments.push_back(
          ConstantArgument(descriptor, key, *constant, PlainDesc(packed.get_dims(), constant->type()), packed));
      sources.push_back(packed);
      continue;
    }
    const auto index = InputIndex(request, node.inputs[i]);
    if (!index || request.in[*index].layout != request.out.layout) return Unsupported("layouts differ");
    PT_ASSIGN(const Desc src, DescOf(request.in[*index]));
    descriptor.call.arguments.push_back({key, Argument::Source::kInput, *index, src});
    sources.push_back(src);
  }
#if DNNL_VERSION_MAJOR > 3 || DNNL_VERSION_MINOR >= 5
  const dnnl::concat::primitive_desc concat(request.engine, dst, static_cast<int>(*axis), sources, attributes, true);
#else  // older ones throw where there is no implementation, and Build turns that into an error
  const dnnl::concat::primitive_desc concat(request.engine, dst, static_cast<int>(*axis), sources, attributes);
#endif
  PT_CHECK_OK(Complete(descriptor, concat));
  descriptor.call.arguments.push_back({DNNL_ARG_DST, Argument::Source::kOutput, 0, dst});
  return descriptor;
}

std::optional<std::string> WhyNotTranspose(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1) return "it has not one input and one output";
  if (auto why = WhyNoFloatsOrBytes(graph, node.inputs)) return why;
  if (auto why = WhyNoFloatsOrBytes(graph, node.outputs)) return why;
  if (graph.value(node.inputs[0]).is_constant()) return "its input is constant";
  const size_t rank = DimsOf(graph, node.inputs[0]).size();
  if (rank < 2 || !ReadPermutation(node, rank).ok()) return "its perm is not a permutation";
  return std::nullopt;
}

Result<KernelDescriptor> BuildTranspose(const Request& request) {
  const Node& node = request.graph.node(request.group.anchor);
  const auto perm = ReadPermutation(node, request.out.dims.size());
  if (!perm.ok()) return Unsupported("its perm is not a permutation");
  PT_ASSIGN(const Desc stored, DescOf(request.in[0]));
  PT_ASSIGN(const Desc dst, DescOf(request.out));
  std::vector<int> axes(perm->size());  // where each axis of the input goes
  for (size_t i = 0; i < perm->size(); ++i) axes[(*perm)[i]] = static_cast<int>(i);
  const Desc src = stored.permute_axes(axes);
  KernelDescriptor descriptor;
  PT_ASSIGN(descriptor.call, MoveCall(request.engine, {DNNL_ARG_FROM, Argument::Source::kInput, 0, src},
                                      {DNNL_ARG_TO, Argument::Source::kOutput, 0, dst}, descriptor));
  descriptor.moves_only = src == dst;
  return descriptor;
}

}  // namespace pt::onednn
