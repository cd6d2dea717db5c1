#include "lib/backend/onednn/winograd.h"

#include <algorithm>
#include <limits>

#include "lib/backend/onednn/team_pool.h"
#include "partitiontuner/backend/window_parameters.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/support/checked.h"

namespace pt::onednn {
namespace {

using Kind = WinogradStep::Kind;

// Patches and products of a piece should stay in a core's second-level cache beside the weights; where the weights do
// not fit anyway, larger pieces read them less often.
constexpr int64_t kCachedBytes = int64_t{1} << 19, kStreamedBytes = int64_t{1} << 22;
constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kGap = 16;  // elements between products, so that they do not all fall on the same cache lines

const Node& ConvolutionOf(const Graph& graph, const FusionGroup& group) { return graph.node(group.anchor); }

std::optional<WinogradSizes> SizesOf(const Graph& graph, const Node& node, int64_t tile) {
  const Dims x = DimsOf(graph, node.inputs[0]), w = DimsOf(graph, node.inputs[1]), y = DimsOf(graph, node.outputs[0]);
  const size_t rank = x.size(), rows = rank - 2;  // where height is; width is last
  if ((rank != 4 && rank != 5) || w.size() != rank || y.size() != rank) return std::nullopt;
  if (w[rows] != 3 || w[rows + 1] != 3) return std::nullopt;
  if (ReadConvolutionGroups(node) != 1 || !graph.value(node.inputs[1]).is_constant()) return std::nullopt;
  if (w[1] % kWinogradChannels != 0 || w[0] % kWinogradChannels != 0) return std::nullopt;
  const auto window = WindowOf(node, std::span(w).subspan(2), std::span(x).subspan(2), std::span(y).subspan(2));
  if (!window) return std::nullopt;
  for (const Dims* steps : {&window->strides, &window->dilations}) {
    if ((*steps)[rows - 2] != 1 || (*steps)[rows - 1] != 1) return std::nullopt;
  }
  WinogradSizes sizes{.tile = tile,
                      .batch = x[0],
                      .in_channels = x[1],
                      .out_channels = y[1],
                      .in_height = x[rows],
                      .in_width = x[rows + 1],
                      .out_height = y[rows],
                      .out_width = y[rows + 1],
                      .pad_top = window->pads_begin[rows - 2],
                      .pad_left = window->pads_begin[rows - 1]};
  if (rank == 5) {
    sizes.in_planes = x[2];
    sizes.out_planes = y[2];
    sizes.window_planes = w[2];
    sizes.plane_stride = window->strides[0];
    sizes.plane_dilation = window->dilations[0];
    sizes.pad_front = window->pads_begin[0];
  }
  return sizes;
}

// Blocks of channels or channels-last.
Result<ChannelPlanes> PlanesOf(const TensorLayout& tensor) {
  const Layout& layout = tensor.layout;
  const size_t rank = tensor.dims.size();
  if (tensor.type != DataType::kFloat32 || (rank != 4 && rank != 5)) return Unsupported("it is not a float32 image");
  const std::vector<int64_t>& strides = tensor.strides;
  ChannelPlanes planes{.image = strides[0], .row = strides[rank - 2], .column = strides[rank - 1]};
  if (rank == 5) planes.plane = strides[2];
  if (layout == ChannelsLast(rank)) {
    planes.block = tensor.dims[1];
    return planes;
  }
  if (layout.blocks.size() == 1 && layout == ChannelBlocked(rank, layout.blocks[0].size) &&
      layout.blocks[0].size % WinogradLanes() == 0) {
    planes.block = layout.blocks[0].size;
    planes.block_stride = strides[1];
    return planes;
  }
  return Unsupported("its channels do not lie side by side");
}

WinogradOperation Number(Kind kind, float a, float b) {
  WinogradOperation operation;
  operation.step.kind = kind;
  operation.step.a = a;
  operation.step.b = b;
  return operation;
}

std::optional<WinogradOperation> EltwiseOperation(const Pointwise& op) {
  switch (op.algorithm) {
    case dnnl::algorithm::eltwise_relu:
      if (op.alpha != 0) return Number(Kind::kLeaky, op.alpha, 0);
      return Number(Kind::kClip, 0, std::numeric_limits<float>::infinity());
    case dnnl::algorithm::eltwise_clip:
      return Number(Kind::kClip, op.alpha, op.beta);
    case dnnl::algorithm::eltwise_linear:
      return Number(Kind::kLinear, op.alpha, op.beta);
    default:
      return std::nullopt;
  }
}

// Of dims that line up with those of an image of that rank from the right: one number for each channel and nothing
// else.
bool IsChannelVector(const std::vector<int64_t>& dims, size_t rank, int64_t channels) {
  if (dims.size() + 1 < rank || dims.size() > rank) return false;
  const size_t channel = dims.size() + 1 - rank;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != (i == channel ? channels : 1)) return false;
  }
  return true;
}

Result<WinogradOperation> BinaryOperation(const Request& request, const Pointwise& op, int64_t channels,
                                          WinogradDescriptor& descriptor) {
  const bool add = op.algorithm == dnnl::algorithm::binary_add;
  if (!add && op.algorithm != dnnl::algorithm::binary_mul) return Unsupported("no such operation on the results");
  if (const auto& constant = op.operand.constant) {
    if (constant->element_count() == 1) {
      const float value = constant->values<float>()[0];
      return add ? Number(Kind::kLinear, 1, value) : Number(Kind::kLinear, value, -0.0F);
    }
    const size_t rank = DimsOf(request.graph, request.group.result).size();
    if (!IsChannelVector(op.operand.dims, rank, channels)) return Unsupported("a constant is not one number a channel");
    WinogradOperation operation = Number(add ? Kind::kAddChannel : Kind::kMulChannel, 0, 0);
    operation.channel = constant;
    return operation;
  }
  const auto index = InputIndex(request, op.operand.value);
  if (!index || DimsOf(request.graph, op.operand.value) != DimsOf(request.graph, request.group.result)) {
    return Unsupported("an operand is not of full size");
  }
  WinogradOperation operation = Number(add ? Kind::kAddTensor : Kind::kMulTensor, 0, 0);
  PT_ASSIGN(operation.step.planes, PlanesOf(request.in[*index]));
  operation.tensor_input = index;
  // Each element is read just before the result is written in its place.
  if (request.in[*index] == request.out && *index != descriptor.source) descriptor.in_place.push_back(*index);
  return operation;
}

Status AddOperations(const Request& request, WinogradDescriptor& descriptor) {
  const Graph& graph = request.graph;
  const Node& node = ConvolutionOf(graph, request.group);
  if (node.inputs.size() > 2 && node.inputs[2].valid()) {
    const auto& bias = graph.value(node.inputs[2]).constant;
    if (!bias) return Unsupported("its bias is not constant");
    WinogradOperation operation = Number(Kind::kAddChannel, 0, 0);
    operation.channel = bias;
    descriptor.operations.push_back(std::move(operation));
  }
  for (const Pointwise& op : request.group.ops) {
    if (op.kind == Pointwise::Kind::kBinary) {
      PT_ASSIGN(WinogradOperation operation, BinaryOperation(request, op, descriptor.sizes.out_channels, descriptor));
      descriptor.operations.push_back(std::move(operation));
      continue;
    }
    const auto operation = op.kind == Pointwise::Kind::kEltwise ? EltwiseOperation(op) : std::nullopt;
    if (!operation) return Unsupported("no such operation on the results");
    descriptor.operations.push_back(*operation);
  }
  return {};
}

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How tiles and products are shared among the cores.
void Divide(WinogradDescriptor& descriptor, uint32_t width) {
  const WinogradSizes& sizes = descriptor.sizes;
  const int64_t products = sizes.products(), tiles = sizes.tiles();
  const int64_t weight_bytes = products * sizes.row() * sizes.out_channels * kFloat;
  const int64_t tile_bytes = products * (sizes.row() + sizes.out_channels) * kFloat;
  const bool cached = weight_bytes <= kCachedBytes;
  const int64_t most = std::max<int64_t>(1, (cached ? kCachedBytes : kStreamedBytes) / tile_bytes);
  if (width > 1 && !cached) {
    descriptor.parts = std::min<int64_t>(width, products);
    while (products % descriptor.parts != 0) ++descriptor.parts;
  } else {
    descriptor.workers = std::min<int64_t>(width, tiles);
  }
  const int64_t share = CeilDiv(tiles, descriptor.workers);
  descriptor.piece = CeilDiv(share, CeilDiv(share, most));
  descriptor.pieces = CeilDiv(tiles, descriptor.piece);
  descriptor.tail = tiles - (descriptor.pieces - 1) * descriptor.piece;
  descriptor.in_stride = descriptor.piece * sizes.row() + kGap;
  descriptor.out_stride = descriptor.piece * sizes.out_channels + kGap;
}

Status DescribeProducts(const dnnl::engine& engine, WinogradDescriptor& descriptor) {
  const WinogradSizes& sizes = descriptor.sizes;
  const int64_t count = descriptor.products_per_part(), in = sizes.row(), out = sizes.out_channels;
  constexpr auto kF32 = dnnl::memory::data_type::f32;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto describe = [&](int64_t rows, const Desc& weights) {
    const Desc patches({count, rows, in}, kF32, Dims{descriptor.in_stride, in, 1});
    const Desc results({count, rows, out}, kF32, Dims{descriptor.out_stride, out, 1});
    return dnnl::matmul::primitive_desc(engine, patches, weights, results, attributes, true);
  };
  const ConcurrencyScope alone(1);
  descriptor.product = describe(descriptor.piece, AnyDesc({count, in, out}));
  if (!descriptor.product) return Unsupported("oneDNN has no product for these tiles");
  descriptor.rest = describe(descriptor.tail, descriptor.product.weights_desc());
  if (!descriptor.rest) return Unsupported("oneDNN has no product for the last tiles");
  for (const auto* product : {&descriptor.product, &descriptor.rest}) {
    if (IsReferenceImplementation(product->impl_info_str())) return Unsupported("oneDNN's product is slow");
  }
  return {};
}

}  // namespace

std::optional<int64_t> WinogradTile(Way way) {
  if (way == Way::kWinograd2) return 2;
  if (way == Way::kWinograd4) return 4;
  return std::nullopt;
}

bool IsWinogradShape(const Graph& graph, const FusionGroup& group) {
  return group.anchor.valid() && ConvolutionOf(graph, group).op == "Conv" &&
         SizesOf(graph, ConvolutionOf(graph, group), 4).has_value();
}

Result<WinogradDescriptor> DescribeWinograd(const Request& request, int64_t tile, uint32_t width) {
  const Graph& graph = request.graph;
  const Node& node = ConvolutionOf(graph, request.group);
  const auto sizes = SizesOf(graph, node, tile);
  const auto source = InputIndex(request, node.inputs[0]);
  if (!sizes || !source)
    return Unsupported("not a 3x3 convolution of stride 1 with constant weights, nor one of three dims");
  const auto weights = CheckedProduct(
      std::array{sizes->products(), sizes->window_planes, sizes->in_channels, sizes->out_channels, kFloat});
  const auto scratch = CheckedProduct(
      std::array{sizes->products(), sizes->tiles() + 1, sizes->row() + sizes->out_channels + kGap, kFloat});
  if (!weights || !scratch || sizes->tiles() == 0) return Unsupported("its sizes are out of range");
  try {
    WinogradDescriptor descriptor;
    descriptor.sizes = *sizes;
    descriptor.source = *source;
    descriptor.weights = *graph.value(node.inputs[1]).constant;
    PT_ASSIGN(descriptor.in, PlanesOf(request.in[*source]));
    PT_ASSIGN(descriptor.out, PlanesOf(request.out));
    PT_CHECK_OK(AddOperations(request, descriptor));
    Divide(descriptor, width);
    PT_CHECK_OK(DescribeProducts(request.engine, descriptor));
    return descriptor;
  } catch (const dnnl::error& error) {
    return Unsupported(std::string("oneDNN: ") + error.what());
  }
}

}  // namespace pt::onednn
