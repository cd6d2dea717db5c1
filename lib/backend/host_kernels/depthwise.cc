#include "lib/backend/host_kernels/depthwise.h"

#include <algorithm>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/clip_bounds.h"
#include "lib/backend/host_kernels/depthwise_rows.h"
#include "lib/backend/window_parameters.h"
#include "partitiontuner/graph/uses.h"

namespace pt::host {
namespace {

constexpr int64_t kMostRows = 64;  // of a kernel

struct Image {
  size_t place = 0;  // into the site's inputs or outputs
  int64_t rows = 0, columns = 0, image_stride = 0, row_stride = 0, pixel_stride = 0;
};

template <typename T>
struct Depthwise {
  DepthwiseRows<T> rows;
  Image x, y;
  int64_t images = 0, channels = 0;
  int64_t kernel_rows = 0, stride = 1, dilation = 1, pad = 0;  // down the image
  DepthwiseRow<T> row;                                         // what all rows share
  std::vector<float> weights, bias;                            // in blocks of channels
  // Rows of so many channels are computed one after another, while those they share lie in the inner cache.
  int64_t rows_together = 0, channels_together = 0;

  int64_t stretches() const { return (y.rows + rows_together - 1) / rows_together; }  // of an image's rows
  int64_t row_weights() const { return row.kernel_columns * rows.lanes; }
};

// One row of the result, the channels from `first` on.
template <typename T>
void ComputeRow(const Depthwise<T>& d, const T* x, T* y, int64_t at, int64_t first) {
  std::array<const T*, kMostRows> inside;
  DepthwiseRow<T> row = d.row;
  int64_t skipped = 0;
  for (int64_t k = 0; k < d.kernel_rows; ++k) {
    const int64_t from = at * d.stride - d.pad + k * d.dilation;
    if (from < 0) ++skipped;
    if (from < 0 || from >= d.x.rows) continue;
    inside[static_cast<size_t>(row.rows_inside++)] = x + from * d.x.row_stride + first;
  }
  row.rows = inside.data();
  row.weights = d.weights.data() + first / d.rows.lanes * row.weights_stride + skipped * d.row_weights();
  row.bias = d.bias.empty() ? nullptr : d.bias.data() + first;
  row.channels = std::min(d.channels_together, d.channels - first);
  row.y = y + at * d.y.row_stride + first;
  d.rows.compute(row);
}

template <typename T>
void ComputeStretch(const Depthwise<T>& d, const T* x, T* y, int64_t stretch) {
  const int64_t begin = stretch * d.rows_together, end = std::min(begin + d.rows_together, d.y.rows);
  for (int64_t first = 0; first < d.channels; first += d.channels_together) {
    for (int64_t at = begin; at < end; ++at) ComputeRow(d, x, y, at, first);
  }
}

// T: float or Bfloat16, in which the images are stored.
template <typename T>
class Maker {
 public:
  Maker(const Site& site, const DepthwiseGroup& group)
      : site_(site), node_(site.graph.node(group.convolution)), group_(group) {}

  Result<Routine> Make() {
    Depthwise<T> d;
    d.rows = FindDepthwiseRows<T>();
    PT_CHECK_OK(ReadShapes(d));
    PT_CHECK_OK(PackConstants(d));
    Divide(d);
    Routine routine;
    const auto shared = std::make_shared<const Depthwise<T>>(std::move(d));
    routine.run = [shared](const Run& run) -> Status {
      const Depthwise<T>& all = *shared;
      const auto* x = run.input<T>(all.x.place);
      auto* y = run.output<T>(all.y.place);
      const double row = static_cast<double>(all.channels * all.y.columns) *
                         static_cast<double>(all.kernel_rows * all.row.kernel_columns) * 0.01;
      const int64_t stretches = all.stretches();
      ParallelRanges(run.team, all.images * stretches, (row + 10) * static_cast<double>(all.rows_together),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t image = i / stretches;
                         ComputeStretch(all, x + image * all.x.image_stride, y + image * all.y.image_stride,
                                        i % stretches);
                       }
                     });
      return {};
    };
    return routine;
  }

 private:
  Result<Image> ReadImage(const Operand& operand, size_t place) const {
    const bool stored = std::is_same_v<T, float> ? operand.type() == DataType::kFloat32 : site_.is_shortened(operand);
    if (!stored || operand.rank() != 4 || operand.count() == 0) return Refuse();
    const std::vector<int64_t>&dims = operand.dims(), &strides = operand.strides();
    if (dims[1] > 1 && strides[1] != 1) return Refuse();
    return Image{place, dims[2], dims[3], strides[0], strides[2], strides[3]};
  }

  size_t PlaceOf(ValueId value) const {
    return static_cast<size_t>(std::ranges::find(site_.in, value, &Operand::value) - site_.in.begin());
  }

  Status ReadShapes(Depthwise<T>& d) {
    const size_t place = PlaceOf(node_.inputs[0]);
    if (site_.out.size() != 1 || place == site_.in.size()) return Refuse();
    PT_ASSIGN(d.x, ReadImage(site_.in[place], place));
    PT_ASSIGN(d.y, ReadImage(site_.out[0], 0));
    const std::vector<int64_t>&in = site_.in[place].dims(), &out = site_.out[0].dims();
    const std::vector<int64_t>& kernel = site_.graph.value(node_.inputs[1]).constant->dims();
    d.images = in[0];
    d.channels = in[1];
    if (kernel.size() != 4 || kernel[0] != d.channels || kernel[1] != 1 || out[0] != in[0] || out[1] != d.channels ||
        kernel[2] > kMostRows || node_.int_or("group", 1) != d.channels) {
      return Refuse();
    }
    const auto window =
        WindowOf(node_, std::span(kernel).subspan(2), std::span(in).subspan(2), std::span(out).subspan(2));
    if (!window) return Refuse();
    d.kernel_rows = kernel[2];
    d.stride = window->strides[0];
    d.dilation = window->dilations[0];
    d.pad = window->pads_begin[0];
    d.row.kernel_columns = kernel[3];
    d.row.stride = window->strides[1];
    d.row.dilation = window->dilations[1];
    d.row.pad = window->pads_begin[1];
    d.row.channels = d.channels;
    d.row.in_pixels = d.x.columns;
    d.row.in_pixel_stride = d.x.pixel_stride;
    d.row.out_pixels = d.y.columns;
    d.row.out_pixel_stride = d.y.pixel_stride;
    d.row.bounded = group_.activation.valid();
    d.row.low = group_.low;
    d.row.high = group_.high;
    return {};
  }

  // Small beside what they are multiplied with, so each kernel packs its own.
  Status PackConstants(Depthwise<T>& d) {
    const int64_t lanes = d.rows.lanes, elements = d.kernel_rows * d.row.kernel_columns;
    const int64_t blocks = (d.channels + lanes - 1) / lanes;
    const auto weights = site_.graph.value(node_.inputs[1]).constant->values<float>();
    d.weights.assign(static_cast<size_t>(blocks * elements * lanes), 0.0F);
    for (int64_t c = 0; c < d.channels; ++c) {
      float* to = d.weights.data() + c / lanes * elements * lanes + c % lanes;
      for (int64_t k = 0; k < elements; ++k) to[k * lanes] = weights[static_cast<size_t>(c * elements + k)];
    }
    d.row.weights_stride = elements * lanes;
    if (node_.inputs.size() < 3 || !node_.inputs[2].valid()) return {};
    const auto& bias = site_.graph.value(node_.inputs[2]).constant;
    if (!bias || bias->type() != DataType::kFloat32 || bias->element_count() != d.channels) return Refuse();
    const auto values = bias->values<float>();
    d.bias.assign(values.begin(), values.end());
    d.bias.resize(static_cast<size_t>(blocks * lanes));
    return {};
  }

  void Divide(Depthwise<T>& d) const {
    constexpr int64_t kInnerCache = 12288, kManyRows = 16, kFewBlocks = 4;  // the cache in floats
    const int64_t shares = std::max<int64_t>(site_.width / d.images, 1);
    d.rows_together = std::clamp<int64_t>((d.y.rows + shares - 1) / shares, 1, kManyRows);
    const int64_t fitting = kInnerCache / (d.x.columns * d.kernel_rows) / d.rows.lanes;
    d.channels_together = std::max(fitting, kFewBlocks) * d.rows.lanes;
  }

  Error Refuse() const {
    return site_.Unsupported("this is no depthwise convolution of channels-last images in float32");
  }

  const Site& site_;
  const Node& node_;
  const DepthwiseGroup& group_;
};

// A Conv that has as many groups as filters, with constant filters.
bool IsDepthwise(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.op != "Conv") return false;
  const auto& filters = graph.value(node.inputs[1]).constant;
  return filters && filters->type() == DataType::kFloat32 && filters->rank() == 4 && filters->dims()[1] == 1 &&
         node.int_or("group", 1) == filters->dims()[0] && filters->dims()[0] > 1;
}

// The bounds of a Relu or a Clip with constant ones; nullopt for other nodes.
std::optional<std::pair<float, float>> Bounds(const Graph& graph, const Node& node) {
  if (!node.domain.empty()) return std::nullopt;
  if (node.op == "Relu") return std::pair(0.0F, std::numeric_limits<float>::infinity());
  return node.op == "Clip" ? ClipBounds(graph, node) : std::nullopt;
}

}  // namespace

std::optional<DepthwiseGroup> ReadDepthwise(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.empty() || nodes.size() > 2 || !IsDepthwise(graph, graph.node(nodes[0]))) return std::nullopt;
  DepthwiseGroup group{nodes[0], NodeId()};
  if (nodes.size() == 1) return group;
  const auto bounds = Bounds(graph, graph.node(nodes[1]));
  if (!bounds || OnlyReader(graph, graph.node(nodes[0]).outputs[0]) != nodes[1] ||
      graph.node(nodes[1]).inputs[0] != graph.node(nodes[0]).outputs[0]) {
    return std::nullopt;
  }
  group.activation = nodes[1];
  std::tie(group.low, group.high) = *bounds;
  return group;
}

std::vector<std::vector<NodeId>> DepthwiseGroups(const Graph& graph) {
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.node(NodeId(n));
    if (!IsDepthwise(graph, node)) continue;
    const NodeId reader = OnlyReader(graph, node.outputs[0]);
    if (reader.valid() && Bounds(graph, graph.node(reader))) groups.push_back({NodeId(n), reader});
  }
  return groups;
}

Result<Routine> MakeDepthwise(const Site& site, const DepthwiseGroup& group) {
  const bool shortened = site.out.size() == 1 && site.is_shortened(site.out[0]);
  return shortened ? Maker<Bfloat16>(site, group).Make() : Maker<float>(site, group).Make();
}

}  // namespace pt::host
