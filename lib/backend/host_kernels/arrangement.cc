#include "lib/backend/host_kernels/arrangement.h"

#include <algorithm>

#include "lib/backend/host_kernels/convolutions/convolution.h"
#include "lib/backend/host_kernels/convolutions/quantised_depthwise.h"
#include "lib/backend/host_kernels/elementwise/expression.h"
#include "lib/backend/host_kernels/kernels/weighted_rows.h"
#include "lib/backend/host_kernels/operators/plane_normalization.h"
#include "lib/backend/host_kernels/products/product.h"

namespace pt::host {
namespace {

// As wide as the vectors of this processor, which is how convolutions block channels. Asked of a dispatched function:
// hwy::SupportedTargets reads the processor's abilities anew each time, which traps in virtual machines.
uint32_t ChannelBlock() { return std::max<uint32_t>(8, static_cast<uint32_t>(VectorElements<float>())); }

bool IsImage(const Graph& graph, ValueId value) {
  return value.valid() && !graph.value(value).constant && IsImageRank(graph.value(value).type.dims.size()) &&
         graph.value(value).type.static_dims().has_value();
}

bool MakesImages(const Graph& graph, std::span<const NodeId> nodes) {
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  const auto is_image = [&](ValueId value) { return IsImage(graph, value); };
  return !made.empty() && std::ranges::all_of(made, is_image) && std::ranges::any_of(read, is_image);
}

bool FillsBlocks(const Graph& graph, ValueId value) {
  return !LayoutIn(Arrangement::kChannelsBlocked, *graph.value(value).type.static_dims()).blocks.empty();
}

// Blocks of an image with another number of dims than the results would be of another dim than theirs.
bool ShareBlocks(const Graph& graph, std::span<const NodeId> nodes) {
  const std::vector<ValueId> made = GroupOutputs(graph, nodes);
  const auto rank = [&](ValueId value) { return graph.value(value).type.dims.size(); };
  const auto fits = [&](ValueId value) {
    return !IsImage(graph, value) || rank(value) == rank(made[0]) || !FillsBlocks(graph, value);
  };
  return std::ranges::all_of(made, [&](ValueId value) { return FillsBlocks(graph, value) && fits(value); }) &&
         std::ranges::all_of(GroupInputs(graph, nodes), fits);
}

int64_t BlockOf(const TensorLayout& tensor, size_t dim) {
  const auto& blocks = tensor.layout.blocks;
  return !blocks.empty() && blocks[0].dim == dim ? blocks[0].size : 1;
}

}  // namespace

std::vector<Arrangement> ArrangementsOf(const Graph& graph, std::span<const NodeId> nodes) {
  if (const auto convolution = ReadConvolution(graph, nodes)) return ArrangementsOf(graph, *convolution);
  if (ReadQuantisedDepthwise(graph, nodes)) return {Arrangement::kChannelsLast};
  if (IsPointwise(graph, nodes)) return {Arrangement::kChannelsLast};
  std::vector<Arrangement> arrangements{Arrangement::kRowMajor};
  const bool elementwise =
      std::ranges::all_of(nodes, [&](NodeId node) { return IsElementwiseOperator(graph.node(node)); });
  const HostRow* row = nodes.size() == 1 ? FindOperator(graph.node(nodes[0])) : nullptr;
  const bool in_blocks = elementwise || (row != nullptr && row->in_blocks) || ReadPlaneNormalization(graph, nodes);
  if (!in_blocks && (row == nullptr || !row->any_order)) return arrangements;
  if (!MakesImages(graph, nodes)) return arrangements;
  arrangements.push_back(Arrangement::kChannelsLast);
  if (in_blocks && ShareBlocks(graph, nodes)) {
    arrangements.push_back(Arrangement::kChannelsBlocked);
  }
  return arrangements;
}

Layout LayoutIn(Arrangement arrangement, std::span<const int64_t> dims) {
  if (arrangement == Arrangement::kRowMajor || !IsImageRank(dims.size())) return RowMajor(dims.size());
  if (arrangement == Arrangement::kChannelsLast) return ChannelsLast(dims.size());
  const bool full = dims[1] > 0 && dims[1] % ChannelBlock() == 0;
  return full ? ChannelBlocked(dims.size(), ChannelBlock()) : RowMajor(dims.size());
}

const KnownLayouts::Sides& KnownLayouts::SidesOf(const std::vector<NodeId>& nodes) {
  const auto [at, fresh] = sides_.try_emplace(nodes);
  if (fresh) at->second = {GroupInputs(graph_, nodes), GroupOutputs(graph_, nodes)};
  return at->second;
}

void KnownLayouts::Note(const Candidate& candidate) {
  const auto is_row_major = [](const Form& form) { return form.layout.is_row_major(); };
  if (std::ranges::all_of(candidate.in, is_row_major) && std::ranges::all_of(candidate.out, is_row_major)) return;
  const auto note = [&](const std::vector<ValueId>& values, const std::vector<Form>& forms) {
    for (size_t i = 0; i < values.size() && i < forms.size(); ++i) {
      if (!forms[i].layout.is_row_major()) known_[values[i]].insert(forms[i].layout);
    }
  };
  const Sides& sides = SidesOf(candidate.nodes);
  note(sides.in, candidate.in);
  note(sides.out, candidate.out);
}

bool KnownLayouts::Meet(Arrangement arrangement, const std::vector<NodeId>& nodes) {
  const auto is_known = [&](ValueId value) {
    const auto found = known_.find(value);
    return found != known_.end() &&
           found->second.contains(LayoutIn(arrangement, *graph_.value(value).type.static_dims()));
  };
  const Sides& sides = SidesOf(nodes);
  const auto is_known_image = [&](ValueId value) { return IsImage(graph_, value) && is_known(value); };
  return std::ranges::any_of(sides.in, is_known_image) || std::ranges::any_of(sides.out, is_known_image);
}

std::vector<MemoryDim> MemoryDims(const TensorLayout& tensor) {
  std::vector<MemoryDim> dims;
  for (const Layout::Block& block : tensor.layout.blocks) dims.push_back({block.dim, block.size, 1});
  for (size_t i = tensor.layout.order.size(); i-- > 0;) {
    const size_t dim = tensor.layout.order[i];
    const int64_t block = BlockOf(tensor, dim);
    dims.push_back({dim, tensor.dims[dim] / block, block});
  }
  return dims;
}

int64_t StrideAlong(const TensorLayout& tensor, const MemoryDim& dim) {
  const int64_t block = BlockOf(tensor, dim.dim);
  return dim.step < block ? dim.step : dim.step / block * tensor.strides[dim.dim];
}

}  // namespace pt::host
