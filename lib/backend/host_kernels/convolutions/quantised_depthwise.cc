#include "lib/backend/host_kernels/convolutions/quantised_depthwise.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/clip_bounds.h"
#include "lib/backend/host_kernels/convolutions/convolution.h"
#include "lib/backend/host_kernels/convolutions/quantised_depthwise_rows.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/graph/uses.h"
#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

constexpr int64_t kMostKernelRows = 64;
constexpr int64_t kMostKernelElements = 32768;  // of a kernel: sums of as many products of bytes fit into 32 bits
constexpr int64_t kMostRowWords = 1 << 18;      // of a row, a megabyte
constexpr int64_t kGoodWordColumns = 256;       // whose words stay in the inner cache
constexpr int64_t kFewestPixels = 28;           // of a row that are worth a stretch of their own

// What makes the Conv's input from 8-bit integers, for it alone.
struct Dequantised {
  NodeId node;
  ValueId integers;
  LinearQuantisation quantisation;
};

std::optional<Dequantised> ReadDequantised(const Graph& graph, ValueId real) {
  const NodeId producer = real.valid() ? graph.value(real).producer : NodeId();
  if (!producer.valid() || !OnlyReader(graph, real).valid()) return std::nullopt;
  const Node& node = graph.node(producer);
  auto quantisation = IsDequantisation(node) ? LinearQuantisationOf(graph, node) : std::nullopt;
  if (!quantisation || !IsByte(quantisation->type)) return std::nullopt;
  return Dequantised{producer, node.inputs[0], std::move(*quantisation)};
}

bool IsDepthwise(const Node& node, const Tensor& filters) {
  const std::vector<int64_t>& dims = filters.dims();
  return (dims.size() == 3 || dims.size() == 4) && dims[1] == 1 && dims[0] > 1 &&
         ReadConvolutionGroups(node) == dims[0];
}

// The group around the Conv, as far as `inside` lets it reach.
template <typename F>
std::optional<QuantisedDepthwise> ReadAround(const Graph& graph, NodeId id, const F& inside) {
  const Node& node = graph.node(id);
  if (!node.domain.empty() || node.op != "Conv") return std::nullopt;
  auto x = ReadDequantised(graph, node.inputs[0]), w = ReadDequantised(graph, node.inputs[1]);
  if (!x || !w || !x->quantisation.is_whole() || graph.value(x->integers).constant) return std::nullopt;
  const auto& filters = graph.value(w->integers).constant;
  if (!filters || !IsDepthwise(node, *filters)) return std::nullopt;
  if (!w->quantisation.is_whole() && w->quantisation.axis != 0) return std::nullopt;
  QuantisedDepthwise group{id, x->integers, w->integers, std::move(x->quantisation), std::move(w->quantisation)};
  group.nodes = {x->node, w->node, id};
  ValueId result = node.outputs[0];
  if (const auto activation = ActivationBehind(graph, result); activation && inside(activation->node)) {
    group.bounds = activation->bounds;
    group.nodes.push_back(activation->node);
    result = graph.node(activation->node).outputs[0];
  }
  const NodeId reader = OnlyReader(graph, result);
  if (reader.valid() && IsQuantisation(graph.node(reader)) && graph.node(reader).inputs[0] == result &&
      inside(reader)) {
    auto written = LinearQuantisationOf(graph, graph.node(reader));
    if (written && IsByte(written->type) && written->is_whole()) {
      group.y_quantisation = std::move(*written);
      group.nodes.push_back(reader);
    }
  }
  std::ranges::sort(group.nodes);
  return group;
}

// A group with all that its loops need.
struct QuantisedRoutine {
  QuantisedDepthwiseRows rows;
  Convolution shapes;
  QuantisedDepthwiseRow row;  // what all rows share
  bool makes_reals = false;
  // Small beside what they are multiplied with, so each kernel packs its own.
  std::vector<uint32_t> weights;
  std::vector<int32_t> starts;
  std::vector<float> scales, bias;
  uint64_t words_bytes = 0;
  // A row is computed in stretches of pixels. Images of few rows are divided among cores by channels as well.
  int64_t pixels_together = 0, channel_parts = 1;

  int64_t channels() const { return shapes.x.channels; }
  int64_t blocks() const { return (channels() + rows.lanes - 1) / rows.lanes; }
  int64_t words_of_channel() const { return (row.kernel_rows + 3) / 4 * row.kernel_columns; }
  size_t padded_channels() const { return static_cast<size_t>(blocks() * rows.lanes); }
};

// What is computed at once: one row of one image's result, the channels of some blocks.
struct RowOfBlocks {
  int64_t image = 0, at = 0, first = 0, last = 0;
};

void ComputeRow(const QuantisedRoutine& q, const HostCall& run, const RowOfBlocks& which, std::byte* words) {
  const Images &from = q.shapes.x, &to = q.shapes.y;
  const WindowParameters& window = q.shapes.window;
  const int64_t channel = which.first * q.rows.lanes;
  const uint8_t* x = run.input<uint8_t>(from.place) + which.image * from.image_stride + channel;
  std::array<const uint8_t*, kMostKernelRows> under;
  for (int64_t r = 0; r < q.row.kernel_rows; ++r) {
    const int64_t y = which.at * window.strides[0] - window.pads_begin[0] + r * window.dilations[0];
    under[static_cast<size_t>(r)] = y < 0 || y >= from.rows ? nullptr : x + y * from.row_stride;
  }
  QuantisedDepthwiseRow row = q.row;
  row.rows = under.data();
  row.channels = std::min(which.last * q.rows.lanes, q.channels()) - channel;
  row.weights = q.weights.data() + channel * q.words_of_channel();
  row.starts = q.starts.data() + channel;
  row.scales = q.scales.data() + channel;
  row.bias = q.bias.data() + channel;
  row.words = reinterpret_cast<uint32_t*>(words);
  for (int64_t pixel = 0; pixel < to.columns; pixel += q.pixels_together) {
    const int64_t offset = which.image * to.image_stride + which.at * to.row_stride + pixel * to.pixel_stride + channel;
    row.from = pixel * row.stride - window.pads_begin[1];
    row.out_pixels = std::min(q.pixels_together, to.columns - pixel);
    if (q.makes_reals) {
      row.reals = run.output<float>(to.place) + offset;
    } else {
      row.bytes = run.output<uint8_t>(to.place) + offset;
    }
    q.rows.compute(row);
  }
}

void ComputeAll(const QuantisedRoutine& q, const HostCall& run) {
  const int64_t rows = q.shapes.y.rows, parts = q.channel_parts;
  const double outputs = static_cast<double>(q.shapes.y.columns * q.channels());
  const double work = (q.shapes.macs_of_row() * 0.003 + outputs * 0.04 + 20) / static_cast<double>(parts);
  const int64_t most = run.team == nullptr ? 1 : run.team->width();
  ParallelParts(run.team, q.shapes.images * rows * parts, work, most, [&](int64_t core, int64_t begin, int64_t end) {
    std::byte* words = run.scratch + static_cast<uint64_t>(core) * q.words_bytes;
    for (int64_t i = begin; i < end; ++i) {
      const auto [first, last] = EvenShare(q.blocks(), i % parts, parts);
      ComputeRow(q, run, {i / parts / rows, i / parts % rows, first, last}, words);
    }
  });
}

class QuantisedMaker {
 public:
  QuantisedMaker(const HostSite& site, const QuantisedDepthwise& group) : site_(site), group_(group) {}

  Result<HostRoutine> Make() {
    if (site_.dequantised) return site_.Unsupported("its filters stay integers");
    QuantisedRoutine q;
    q.rows = FindQuantisedDepthwiseRows();
    q.makes_reals = !group_.y_quantisation;
    const ConvolutionOperands operands{group_.x, *site_.graph.value(group_.filters).constant,
                                       group_.x_quantisation.type,
                                       q.makes_reals ? DataType::kFloat32 : group_.y_quantisation->type};
    PT_ASSIGN(q.shapes, ReadShapes(site_, group_.convolution, operands));
    DescribeRow(q);
    PT_CHECK_OK(Divide(q));
    PT_CHECK_OK(PackFilters(q));
    PT_CHECK_OK(PackScales(q));
    HostRoutine routine;
    routine.scratch_bytes = q.words_bytes * site_.width;
    const auto shared = std::make_shared<const QuantisedRoutine>(std::move(q));
    routine.run = [shared](const HostCall& run) -> Status {
      ComputeAll(*shared, run);
      return {};
    };
    return routine;
  }

 private:
  void DescribeRow(QuantisedRoutine& q) const {
    const Convolution& c = q.shapes;
    q.row.kernel_rows = c.window.kernel[0];
    q.row.kernel_columns = c.window.kernel[1];
    q.row.stride = c.window.strides[1];
    q.row.dilation = c.window.dilations[1];
    q.row.in_pixels = c.x.columns;
    q.row.in_pixel_stride = c.x.pixel_stride;
    q.row.out_pixel_stride = c.y.pixel_stride;
    q.row.zero = static_cast<uint8_t>(group_.x_quantisation.zero_points[0]);
    q.row.flips = group_.x_quantisation.type == DataType::kInt8;
  }

  Status Divide(QuantisedRoutine& q) const {
    const auto reach = CheckedMul(q.row.kernel_columns - 1, q.row.dilation);
    const auto elements = CheckedMul(q.row.kernel_rows, q.row.kernel_columns);
    if (q.row.kernel_rows > kMostKernelRows || !elements || *elements > kMostKernelElements || !reach ||
        *reach > kMostRowWords || q.row.stride > kMostRowWords) {
      return site_.Unsupported("its kernels are larger than there is room for");
    }
    const int64_t fitting = (kGoodWordColumns - *reach) / q.row.stride;
    q.pixels_together = std::min(std::max(fitting, kFewestPixels), q.shapes.y.columns);
    q.row.out_pixels = q.pixels_together;
    const int64_t words = WordsOf(q.row, q.rows.lanes);
    if (words > kMostRowWords) return site_.Unsupported("what a row of its result sees is too large");
    q.words_bytes = (static_cast<uint64_t>(words) * sizeof(uint32_t) + 63) / 64 * 64;
    constexpr int64_t kManyItems = 8;  // for a core
    const int64_t rows = q.shapes.images * q.shapes.y.rows;
    q.channel_parts = std::min((kManyItems * site_.width - 1) / rows + 1, q.blocks());
    if (site_.width == 1) q.channel_parts = 1;
    return {};
  }

  Status PackFilters(QuantisedRoutine& q) const {
    const LinearQuantisation& w = group_.filter_quantisation;
    const std::vector<int64_t> numbers = q.shapes.filters.ToInts();
    const int64_t lanes = q.rows.lanes, rows = q.row.kernel_rows, columns = q.row.kernel_columns;
    const int64_t zero = group_.x_quantisation.zero_points[0] + (q.row.flips ? 128 : 0);
    q.weights.assign(q.padded_channels() * static_cast<size_t>(q.words_of_channel()), 0);
    q.starts.assign(q.padded_channels(), 0);
    for (int64_t c = 0; c < q.channels(); ++c) {
      const int64_t w_zero = w.zero_points[w.is_whole() ? 0 : static_cast<size_t>(c)];
      int64_t sum = 0;
      for (int64_t e = 0; e < rows * columns; ++e) {
        const int64_t number = numbers[static_cast<size_t>(c * rows * columns + e)] - w_zero;
        if (number < -128 || number > 127) return site_.Unsupported("its filters do not fit into int8");
        sum += number;
        const int64_t row = e / columns, word = c / lanes * q.words_of_channel() + row / 4 * columns + e % columns;
        q.weights[static_cast<size_t>(word * lanes + c % lanes)] |= static_cast<uint32_t>(static_cast<uint8_t>(number))
                                                                    << static_cast<uint32_t>(row % 4 * 8);
      }
      q.starts[static_cast<size_t>(c)] = static_cast<int32_t>(-zero * sum);
    }
    return {};
  }

  // In units of the result where that is integers, so that bounds and the ends of their type are one and the same.
  Status PackScales(QuantisedRoutine& q) const {
    constexpr double kMostScale = 1e27;  // no product of it and a sum is infinite
    const LinearQuantisation& w = group_.filter_quantisation;
    const float unit = q.makes_reals ? 1.0F : group_.y_quantisation->scales[0];
    q.scales.assign(q.padded_channels(), 0.0F);
    q.bias.assign(q.padded_channels(), 0.0F);
    for (size_t c = 0; c < static_cast<size_t>(q.channels()); ++c) {
      const double scale = static_cast<double>(group_.x_quantisation.scales[0]) * w.scales[w.is_whole() ? 0 : c] / unit;
      if (scale > kMostScale) return site_.Unsupported("its scales are too large");
      q.scales[c] = static_cast<float>(scale);
      if (!q.shapes.bias.empty()) q.bias[c] = q.shapes.bias[c] / unit;
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const Bounds bounds = group_.bounds.value_or(Bounds{-kInfinity, kInfinity});
    q.row.low = bounds.low;
    q.row.high = bounds.high;
    if (q.makes_reals) return {};
    const int64_t zero = group_.y_quantisation->zero_points[0];
    const IntegerRange range = *RangeOf(group_.y_quantisation->type);
    const auto low = static_cast<float>(range.low) - static_cast<float>(zero),
               high = static_cast<float>(range.high) - static_cast<float>(zero);
    q.row.low = std::clamp(bounds.low / unit, low, high);
    q.row.high = std::clamp(bounds.high / unit, low, high);
    q.row.result_zero = static_cast<int32_t>(zero);
    return {};
  }

  const HostSite& site_;
  const QuantisedDepthwise& group_;
};

}  // namespace

std::optional<QuantisedDepthwise> ReadQuantisedDepthwise(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.size() < 3) return std::nullopt;  // before what is slower to find out
  const auto is_convolution = [&](NodeId id) { return graph.node(id).op == "Conv"; };
  const auto at = std::ranges::find_if(nodes, is_convolution);
  if (at == nodes.end()) return std::nullopt;
  const auto inside = [&](NodeId id) { return std::ranges::find(nodes, id) != nodes.end(); };
  auto group = ReadAround(graph, *at, inside);
  if (!group || !std::ranges::equal(group->nodes, nodes)) return std::nullopt;
  return group;
}

std::vector<std::vector<NodeId>> QuantisedDepthwiseGroups(const Graph& graph) {
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (auto group = ReadAround(graph, NodeId(n), [](NodeId) { return true; })) {
      groups.push_back(std::move(group->nodes));
    }
  }
  return groups;
}

Result<HostRoutine> MakeQuantisedDepthwise(const HostSite& site, const QuantisedDepthwise& group) {
  return QuantisedMaker(site, group).Make();
}

}  // namespace pt::host
