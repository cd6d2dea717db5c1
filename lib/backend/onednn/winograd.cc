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

// Which of the window's dims are a tile's columns and rows, and which are planes; at most three.
struct Roles {
  size_t columns = 0;
  std::optional<size_t> rows, planes;
};

// Two dims along which the window is 3 or more and moves by one; else one, where it is 1 along all others.
std::optional<Roles> RolesOf(const WindowParameters& window) {
  std::vector<size_t> filtered, others;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    (window.kernel[i] >= 3 && window.strides[i] == 1 ? filtered : others).push_back(i);
  }
  if (filtered.empty() || window.kernel.size() > 3) return std::nullopt;
  Roles roles{filtered.back(), {}, {}};
  if (filtered.size() == 3) others = {filtered[0]};
  if (filtered.size() > 1) {
    roles.rows = filtered[filtered.size() - 2];
    if (others.empty()) return roles;
    roles.planes = others[0];
    // Weights of a plane lie side by side.
    return window.kernel[others[0]] == 1 || others[0] < *roles.rows ? std::optional(roles) : std::nullopt;
  }
  if (std::ranges::any_of(others, [&](size_t i) { return window.kernel[i] != 1; })) return std::nullopt;
  if (others.size() > 1 && window.strides[others[1]] != 1) std::swap(others[0], others[1]);
  if (!others.empty()) roles.planes = others[0];
  if (others.size() < 2) return roles;
  roles.rows = others[1];
  return window.strides[others[1]] == 1 ? std::optional(roles) : std::nullopt;
}

struct WinogradShape {
  WinogradSizes sizes;
  Roles roles;
};

// Phases of a dilated window shorter than a tile.
bool IsMostlyPadding(const WinogradSizes& sizes) {
  constexpr double kMostComputed = 4;  // results for each that is there
  if (sizes.rows.dilation == 1 && sizes.columns.dilation == 1) return false;
  const auto computed = [](const WinogradAxis& axis, int64_t tiles, int64_t tile) {
    return static_cast<double>(tiles) * static_cast<double>(tile) / static_cast<double>(std::max<int64_t>(axis.out, 1));
  };
  return computed(sizes.rows, sizes.tiles_high(), sizes.tile_rows()) *
             computed(sizes.columns, sizes.tiles_wide(), sizes.tile) >
         kMostComputed;
}

std::optional<WinogradShape> ShapeOf(const Graph& graph, const Node& node, int64_t tile) {
  const Dims x = DimsOf(graph, node.inputs[0]), w = DimsOf(graph, node.inputs[1]), y = DimsOf(graph, node.outputs[0]);
  const size_t rank = x.size();
  if (rank < 3 || w.size() != rank || y.size() != rank) return std::nullopt;
  if (ReadConvolutionGroups(node) != 1 || !graph.value(node.inputs[1]).is_constant()) return std::nullopt;
  if (w[1] % kWinogradChannels != 0 || w[0] % kWinogradChannels != 0) return std::nullopt;
  const auto window = WindowOf(node, std::span(w).subspan(2), std::span(x).subspan(2), std::span(y).subspan(2));
  const auto roles = window ? RolesOf(*window) : std::nullopt;
  if (!roles) return std::nullopt;
  const auto axis = [&](std::optional<size_t> i) {
    if (!i) return WinogradAxis();
    const int64_t kernel = window->kernel[*i];
    return WinogradAxis{x[2 + *i],
                        y[2 + *i],
                        kernel,
                        window->strides[*i],
                        kernel == 1 ? 1 : window->dilations[*i],
                        window->pads_begin[*i]};
  };
  WinogradSizes sizes{.tile = tile,
                      .batch = x[0],
                      .in_channels = x[1],
                      .out_channels = y[1],
                      .rows = axis(roles->rows),
                      .columns = axis(roles->columns),
                      .planes = axis(roles->planes)};
  sizes.line = sizes.rows.window == 1;
  if (IsMostlyPadding(sizes)) return std::nullopt;
  return WinogradShape{sizes, *roles};
}

// Blocks of channels or channels-last.
Result<ChannelPlanes> PlanesOf(const TensorLayout& tensor, const Roles& roles) {
  const Layout& layout = tensor.layout;
  const size_t rank = tensor.dims.size();
  if (tensor.type != DataType::kFloat32 || rank < 3) return Unsupported("it is not a float32 image");
  const auto stride = [&](std::optional<size_t> i) { return i ? tensor.strides[2 + *i] : 0; };
  ChannelPlanes planes{.image = tensor.strides[0],
                       .plane = stride(roles.planes),
                       .row = stride(roles.rows),
                       .column = stride(roles.columns)};
  if (layout == ChannelsLast(rank)) {
    planes.block = tensor.dims[1];
    return planes;
  }
  if (layout.blocks.size() == 1 && layout == ChannelBlocked(rank, layout.blocks[0].size) &&
      layout.blocks[0].size % WinogradLanes() == 0) {
    planes.block = layout.blocks[0].size;
    planes.block_stride = tensor.strides[1];
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

Result<WinogradOperation> BinaryOperation(const Request& request, const Pointwise& op, const Roles& roles,
                                          WinogradDescriptor& descriptor) {
  const int64_t channels = descriptor.sizes.out_channels;
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
  PT_ASSIGN(operation.step.planes, PlanesOf(request.in[*index], roles));
  operation.tensor_input = index;
  // Each element is read just before the result is written in its place.
  if (request.in[*index] == request.out && *index != descriptor.source) descriptor.in_place.push_back(*index);
  return operation;
}

Status AddOperations(const Request& request, const Roles& roles, WinogradDescriptor& descriptor) {
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
      PT_ASSIGN(WinogradOperation operation, BinaryOperation(request, op, roles, descriptor));
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
  const int64_t weight_bytes = products * sizes.inner() * sizes.out_channels * kFloat;
  const int64_t tile_bytes = products * (sizes.inner() + sizes.out_channels) * kFloat;
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
  descriptor.in_stride = descriptor.piece * sizes.inner() + kGap;
  descriptor.out_stride = descriptor.piece * sizes.out_channels + kGap;
}

Status DescribeProducts(const dnnl::engine& engine, WinogradDescriptor& descriptor) {
  const WinogradSizes& sizes = descriptor.sizes;
  const int64_t count = descriptor.products_per_part(), in = sizes.inner(), out = sizes.out_channels;
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
         ShapeOf(graph, ConvolutionOf(graph, group), 4).has_value();
}

Result<WinogradDescriptor> DescribeWinograd(const Request& request, int64_t tile, uint32_t width) {
  const Graph& graph = request.graph;
  const Node& node = ConvolutionOf(graph, request.group);
  const auto shape = ShapeOf(graph, node, tile);
  const auto source = InputIndex(request, node.inputs[0]);
  if (!shape || !source)
    return Unsupported("its window is narrow or moves by more than one, or its weights are not constant");
  const WinogradSizes* const sizes = &shape->sizes;
  const auto weights = CheckedProduct(std::array{sizes->products(), sizes->inner(), sizes->out_channels, kFloat});
  const auto scratch = CheckedProduct(
      std::array{sizes->products(), sizes->tiles() + 1, sizes->inner() + sizes->out_channels + kGap, kFloat});
  if (!weights || !scratch || sizes->tiles() == 0) return Unsupported("its sizes are out of range");
  try {
    WinogradDescriptor descriptor;
    descriptor.sizes = *sizes;
    descriptor.source = *source;
    descriptor.weights = *graph.value(node.inputs[1]).constant;
    PT_ASSIGN(descriptor.in, PlanesOf(request.in[*source], shape->roles));
    PT_ASSIGN(descriptor.out, PlanesOf(request.out, shape->roles));
    PT_CHECK_OK(AddOperations(request, shape->roles, descriptor));
    Divide(descriptor, width);
    PT_CHECK_OK(DescribeProducts(request.engine, descriptor));
    return descriptor;
  } catch (const dnnl::error& error) {
    return Unsupported(std::string("oneDNN: ") + error.what());
  }
}

}  // namespace pt::onednn
