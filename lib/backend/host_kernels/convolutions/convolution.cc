#include "lib/backend/host_kernels/convolutions/convolution.h"

#include <algorithm>
#include <array>

#include "lib/backend/host_kernels/clip_bounds.h"
#include "lib/backend/host_kernels/convolutions/depthwise.h"
#include "lib/backend/host_kernels/convolutions/few_filters.h"
#include "lib/backend/host_kernels/convolutions/grouped.h"
#include "partitiontuner/graph/operators/windows.h"

namespace pt::host {
namespace {

// A kernel and the filters that it is for.
struct ConvolutionKind {
  bool (*fits)(const FilterDims& filters);
  std::vector<Arrangement> (*arrangements)(const FilterDims& filters);
  Result<HostRoutine> (*make)(const HostSite& site, const ConvolutionGroup& group);
};

constexpr std::array kKinds{ConvolutionKind{FitsDepthwise, ArrangementsOfDepthwise, MakeDepthwise},
                            ConvolutionKind{FitsGrouped, ArrangementsOfGrouped, MakeGrouped},
                            ConvolutionKind{FitsFewFilters, ArrangementsOfFewFilters, MakeFewFilters}};

// Of images and of images of one row.
constexpr bool IsRankOfKernels(size_t rank) { return rank == 3 || rank == 4; }

// nullopt where the node is no convolution with constant filters.
std::optional<FilterDims> ReadFilters(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.op != "Conv") return std::nullopt;
  const auto& filters = graph.value(node.inputs[1]).constant;
  if (!filters || filters->type() != DataType::kFloat32 || !IsRankOfKernels(filters->dims().size()))
    return std::nullopt;
  const std::vector<int64_t>& dims = filters->dims();
  const int64_t groups = ReadConvolutionGroups(node);
  if (groups < 1 || dims[0] % groups != 0) return std::nullopt;
  return FilterDims{groups, dims[1], dims[0] / groups, dims[2] * (dims.size() == 4 ? dims[3] : 1)};
}

// Null where no kernel is for the node.
const ConvolutionKind* FindKind(const Graph& graph, const Node& node) {
  const auto filters = ReadFilters(graph, node);
  if (!filters) return nullptr;
  const auto* found = std::ranges::find_if(kKinds, [&](const ConvolutionKind& kind) { return kind.fits(*filters); });
  return found == kKinds.end() ? nullptr : found;
}

Error Refuse(const HostSite& site) {
  return site.Unsupported("this is not a convolution of images of such types with constant filters");
}

size_t PlaceOf(const HostSite& site, ValueId value) {
  return static_cast<size_t>(std::ranges::find(site.in, value, &HostOperand::value) - site.in.begin());
}

Result<Images> ReadImages(const HostSite& site, const HostOperand& operand, size_t place, DataType stored) {
  const bool is_stored = operand.type() == stored && (stored != DataType::kBfloat16 || site.is_shortened(operand));
  if (!is_stored || !IsRankOfKernels(operand.dims().size()) || operand.count() == 0) return Refuse(site);
  const std::vector<int64_t>&dims = operand.dims(), &strides = operand.strides();
  Images images{place, dims[1], 1, dims.back(), strides[0], strides[1], 0, strides.back()};
  if (operand.rank() == 4) {
    images.rows = dims[2];
    images.row_stride = strides[2];
  }
  if (!operand.layout.layout.blocks.empty()) {
    images.block = operand.layout.layout.blocks[0].size;
    images.block_stride = strides[1];
  } else if (const uint8_t inner = operand.layout.layout.order.back(); dims[inner] > 1 && strides[inner] != 1) {
    return Refuse(site);
  }
  return images;
}

// Of one row where there is one spatial dim.
void TakeOneRow(WindowParameters& window) {
  for (WindowParameters::Dims* ones : {&window.kernel, &window.strides, &window.dilations})
    ones->insert(ones->begin(), 1);
  for (WindowParameters::Dims* none : {&window.pads_begin, &window.pads_end, &window.stated_end}) {
    none->insert(none->begin(), 0);
  }
}

Result<std::vector<float>> ReadBias(const HostSite& site, const Node& node, int64_t channels) {
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return std::vector<float>();
  const auto& bias = site.graph.value(node.inputs[2]).constant;
  if (!bias || bias->type() != DataType::kFloat32 || bias->element_count() != channels) return Refuse(site);
  const auto values = bias->values<float>();
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace

std::optional<ConvolutionGroup> ReadConvolution(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.empty() || nodes.size() > 2 || FindKind(graph, graph.node(nodes[0])) == nullptr) return std::nullopt;
  if (nodes.size() == 1) return ConvolutionGroup{nodes[0], NodeId()};
  const auto activation = ActivationBehind(graph, graph.node(nodes[0]).outputs[0]);
  if (!activation || activation->node != nodes[1]) return std::nullopt;
  return ConvolutionGroup{nodes[0], activation->node, activation->bounds};
}

std::vector<std::vector<NodeId>> ConvolutionGroups(const Graph& graph) {
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.node(NodeId(n));
    if (FindKind(graph, node) == nullptr) continue;
    if (const auto activation = ActivationBehind(graph, node.outputs[0])) {
      groups.push_back({NodeId(n), activation->node});
    }
  }
  return groups;
}

std::vector<Arrangement> ArrangementsOf(const Graph& graph, const ConvolutionGroup& group) {
  const Node& node = graph.node(group.convolution);
  return FindKind(graph, node)->arrangements(*ReadFilters(graph, node));
}

Result<HostRoutine> MakeConvolution(const HostSite& site, const ConvolutionGroup& group) {
  return FindKind(site.graph, site.graph.node(group.convolution))->make(site, group);
}

Result<Convolution> ReadShapes(const HostSite& site, const ConvolutionGroup& group, DataType stored) {
  const Node& node = site.graph.node(group.convolution);
  const ConvolutionOperands operands{node.inputs[0], *site.graph.value(node.inputs[1]).constant, stored, stored};
  PT_ASSIGN(Convolution c, ReadShapes(site, group.convolution, operands));
  if (group.activation.valid()) c.bounds = group.bounds;
  return c;
}

Result<Convolution> ReadShapes(const HostSite& site, NodeId convolution, const ConvolutionOperands& operands) {
  const Node& node = site.graph.node(convolution);
  const size_t place = PlaceOf(site, operands.x);
  if (site.out.size() != 1 || place == site.in.size()) return Refuse(site);
  Convolution c;
  PT_ASSIGN(c.x, ReadImages(site, site.in[place], place, operands.x_stored));
  PT_ASSIGN(c.y, ReadImages(site, site.out[0], 0, operands.y_stored));
  c.filters = operands.filters;
  c.groups = ReadConvolutionGroups(node);
  c.images = site.in[place].dims()[0];
  const std::vector<int64_t>& filters = c.filters.dims();
  if (site.out[0].dims()[0] != c.images || c.filters.element_count() == 0 || filters[0] != c.y.channels ||
      filters[1] * c.groups != c.x.channels) {
    return Refuse(site);
  }
  PT_ASSIGN(c.bias, ReadBias(site, node, c.y.channels));
  auto window = WindowOf(node, std::span(filters).subspan(2), std::span(site.in[place].dims()).subspan(2),
                         std::span(site.out[0].dims()).subspan(2));
  if (!window) return Refuse(site);
  c.window = std::move(*window);
  if (c.window.kernel.size() == 1) TakeOneRow(c.window);
  return c;
}

}  // namespace pt::host
