// What a node before a convolution or pooling adds around the image, or a node behind it cuts off, becomes its padding:
//   - a Pad by zeros before Conv and AveragePool, by the least number before MaxPool, or by zeros where what it pads is
//     never negative; before the DequantizeLinear of a Conv, a Pad of the integers by their zero point;
//   - a Slice, or a Pad by negative numbers, behind Conv, which then computes less, and behind ConvTranspose, whose
//     padding is what it leaves out of its result. Elementwise operators between the two take part.
// That is how exporters write causal convolutions, and padding that is not the same on both sides. As long as every
// window still meets the image: kernels are not made for windows that do not.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/windows.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

constexpr int64_t kMost = int64_t{1} << 30;  // of all sizes, so that no sum of a few overflows

bool AllWithin(const Dims& values, int64_t least, int64_t most = kMost) {
  return std::ranges::all_of(values, [=](int64_t v) { return v >= least && v <= most; });
}

// A node's windows along its spatial dims, with the padding that it states.
struct Windows {
  Dims strides, extents;  // extents: what a window spans, dilation included
  Dims before, behind;    // padding

  size_t spatial() const { return strides.size(); }
  // Whether the first and the last window along each dim would meet the image with that padding.
  bool Meet(const Dims& new_before, const Dims& new_behind) const {
    for (size_t d = 0; d < spatial(); ++d) {
      if (new_before[d] < 0 || new_behind[d] < 0 || std::max(new_before[d], new_behind[d]) >= extents[d]) return false;
    }
    return true;
  }
};

// nullopt where padding is not stated in numbers, or nothing fits together.
std::optional<Windows> WindowsOf(const Node& node, const Dims& kernel) {
  const size_t spatial = kernel.size();
  const Result<WindowNode> said = ReadWindowNode(node, spatial);
  if (!said.ok() || said->is_same() || said->rounds_up || !said->output_shape.empty()) return std::nullopt;
  Windows windows;
  Dims pads = said->pads;
  if (said->auto_pad == AutoPad::kValid) pads.assign(2 * spatial, 0);
  if (spatial == 0 || !AllWithin(kernel, 1) || !AllWithin(said->strides, 1) || !AllWithin(said->dilations, 1) ||
      !AllWithin(pads, 0)) {
    return std::nullopt;
  }
  windows.strides = said->strides;
  windows.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  windows.behind.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  for (size_t d = 0; d < spatial; ++d) windows.extents.push_back((kernel[d] - 1) * said->dilations[d] + 1);
  return AllWithin(windows.extents, 1) ? std::optional(std::move(windows)) : std::nullopt;
}

class BorderFolding {
 public:
  explicit BorderFolding(const Graph& graph) : graph_(graph), builder_(graph), is_taken_(graph.nodes().size(), false) {}

  Result<std::optional<Graph>> Run() {
    bool changed = false;
    for (uint32_t n = 0; n < graph_.nodes().size(); ++n) {
      // A node that was changed is looked at again in the next round.
      if (!is_taken_[n] && (TakePadBefore(NodeId(n)) || TakeCutBehind(NodeId(n)))) changed = true;
    }
    return BuildIfChanged(builder_, changed);
  }

 private:
  std::optional<Dims> DimsOf(ValueId value) const {
    auto dims = graph_.value(value).type.static_dims();
    return dims && AllWithin(*dims, 1) ? dims : std::nullopt;
  }
  static bool Has(const Node& node, size_t input) { return node.inputs.size() > input && node.inputs[input].valid(); }
  // The integers of a constant input; nullopt where it is computed.
  std::optional<Dims> Integers(ValueId value) const {
    const auto& constant = graph_.value(value).constant;
    if (!constant || (constant->type() != DataType::kInt64 && constant->type() != DataType::kInt32))
      return std::nullopt;
    return constant->ToInts();
  }
  // Which dim each entry of a node's lists speaks of; without the input, the dims in order.
  std::optional<std::vector<size_t>> AxesOf(const Node& node, size_t input, size_t count, size_t rank) const {
    std::vector<size_t> axes;
    const std::optional<Dims> given = Has(node, input) ? Integers(node.inputs[input]) : std::nullopt;
    if (Has(node, input) && (!given || given->size() != count)) return std::nullopt;
    for (size_t i = 0; i < count; ++i) {
      int64_t axis = given ? (*given)[i] : static_cast<int64_t>(i);
      if (axis < 0) axis += static_cast<int64_t>(rank);
      if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
      axes.push_back(static_cast<size_t>(axis));
      if (std::ranges::count(axes, axes.back()) > 1) return std::nullopt;
    }
    return axes;
  }

  // What a Pad by a constant adds before each dim, then behind each. Less than 0: it cuts off.
  std::optional<Dims> PadsOf(const Node& node, size_t rank) const {
    const Result<PadMode> mode = ReadPadMode(node);
    if (!mode.ok() || *mode != PadMode::kConstant || !Has(node, 1)) return std::nullopt;
    const std::optional<Dims> pads = Integers(node.inputs[1]);
    if (!pads || pads->size() % 2 != 0 || !AllWithin(*pads, -kMost)) return std::nullopt;
    const size_t count = pads->size() / 2;
    const auto axes = AxesOf(node, 3, count, rank);
    if (!axes) return std::nullopt;
    Dims all(2 * rank, 0);
    for (size_t i = 0; i < count; ++i) {
      all[(*axes)[i]] = (*pads)[i];
      all[(*axes)[i] + rank] = (*pads)[i + count];
    }
    return all;
  }
  // What it fills up with; nullopt where that is not a float32 known now.
  std::optional<float> FillOf(const Node& node) const {
    if (graph_.value(node.inputs[0]).type.type != DataType::kFloat32) return std::nullopt;
    if (!Has(node, 2)) return ReadPadValue(node);
    const auto& constant = graph_.value(node.inputs[2]).constant;
    if (!constant || constant->type() != DataType::kFloat32 || constant->element_count() != 1) return std::nullopt;
    return constant->values<float>()[0];
  }
  // Whether that many around the image are what the padding of the operator stands for.
  bool IsPaddingOf(const Node& node, const Node& pad) const {
    const std::optional<float> known = FillOf(pad);
    if (!known) return false;
    const float fill = *known;
    if (!IsOp(node, "MaxPool")) return fill == 0;
    if (fill == -std::numeric_limits<float>::infinity() || fill == std::numeric_limits<float>::lowest()) return true;
    const NodeId maker = graph_.value(pad.inputs[0]).producer;
    return fill == 0 && maker.valid() && IsOp(graph_.node(maker), "Relu");
  }

  // What makes a Conv's input from integers for it alone; invalid where nothing does.
  NodeId DequantisationBefore(NodeId id) const {
    const Node& node = graph_.node(id);
    const NodeId maker = graph_.value(node.inputs[0]).producer;
    const bool is_one = IsOp(node, "Conv") && maker.valid() && IsDequantisation(graph_.node(maker));
    return is_one && IsReadBy(maker, id) ? maker : NodeId();
  }
  // Whether the Pad fills up with the integer that stands for 0.
  bool FillsWithZeroPoint(const Node& pad, const Node& dequantisation) const {
    const auto quantisation = LinearQuantisationOf(graph_, dequantisation);
    if (!quantisation || !quantisation->is_whole()) return false;
    const int64_t zero = quantisation->zero_points[0];
    if (!Has(pad, 2)) return zero == 0;
    const auto& constant = graph_.value(pad.inputs[2]).constant;
    return constant && constant->element_count() == 1 && constant->type() == quantisation->type &&
           constant->ToInts()[0] == zero;
  }

  std::optional<Dims> KernelOf(const Node& node) const {
    if (!IsOp(node, "Conv") && !IsOp(node, "ConvTranspose")) return ReadKernelShape(node);
    const std::optional<Dims> weights = DimsOf(node.inputs[1]);
    if (!weights || weights->size() < 3) return std::nullopt;
    return Dims(weights->begin() + 2, weights->end());
  }

  bool TakePadBefore(NodeId id) {
    const Node& node = graph_.node(id);
    const bool averages = IsOp(node, "AveragePool");
    // The indices that a MaxPool gives are those within the padded image.
    if (!IsOp(node, "Conv") && !averages && !(IsOp(node, "MaxPool") && node.outputs.size() == 1)) return false;
    const NodeId between = DequantisationBefore(id), reader = between.valid() ? between : id;
    const NodeId maker = graph_.value(graph_.node(reader).inputs[0]).producer;
    if (!maker.valid() || !IsOp(graph_.node(maker), "Pad")) return false;
    const Node& pad = graph_.node(maker);
    const std::optional<Dims> image = DimsOf(pad.inputs[0]), kernel = KernelOf(node);
    if (!image || !kernel || image->size() != kernel->size() + 2) return false;
    const std::optional<Dims> pads = PadsOf(pad, image->size());
    std::optional<Windows> windows = WindowsOf(node, *kernel);
    const bool is_padding = between.valid() ? FillsWithZeroPoint(pad, graph_.node(between)) : IsPaddingOf(node, pad);
    if (!pads || !windows || !AllWithin(*pads, 0) || !is_padding) return false;
    const auto is_padded = [](int64_t n) { return n != 0; };
    const bool had_padding =
        std::ranges::any_of(windows->before, is_padded) || std::ranges::any_of(windows->behind, is_padded);
    if (averages && had_padding && !ReadPoolingNode(node).counts_pads) return false;
    const size_t rank = image->size();
    if ((*pads)[0] != 0 || (*pads)[1] != 0 || (*pads)[rank] != 0 || (*pads)[rank + 1] != 0) return false;
    for (size_t d = 0; d < kernel->size(); ++d) {
      windows->before[d] += (*pads)[d + 2];
      windows->behind[d] += (*pads)[d + 2 + rank];
    }
    if (!windows->Meet(windows->before, windows->behind)) return false;
    builder_.node(reader).inputs[0] = pad.inputs[0];
    if (between.valid()) {
      is_taken_[between.index()] = true;
      builder_.value(node.inputs[0]).type = StaticType(DataType::kFloat32, *image);
    }
    if (averages) builder_.node(id).attributes["count_include_pad"] = int64_t{1};
    SetPadding(id, *windows);
    MergeSources(builder_, id, maker);
    return true;
  }

  // What a Slice by steps of one, or a Pad, leaves of its input: the first element along each dim. nullopt where it
  // does something else.
  std::optional<Dims> FirstKept(const Node& node, const Dims& from, const Dims& kept) const {
    if (from.size() != kept.size()) return std::nullopt;
    for (size_t d = 0; d < from.size(); ++d) {
      if (kept[d] > from[d]) return std::nullopt;
    }
    Dims first(from.size(), 0);
    if (IsOp(node, "Pad")) {
      const std::optional<Dims> pads = PadsOf(node, from.size());
      if (!pads || !AllWithin(*pads, -kMost, 0)) return std::nullopt;
      for (size_t d = 0; d < from.size(); ++d) first[d] = -(*pads)[d];
      return first;
    }
    if (!Has(node, 1) || !Has(node, 2)) return std::nullopt;
    const std::optional<Dims> starts = Integers(node.inputs[1]);
    const std::optional<Dims> steps = Has(node, 4) ? Integers(node.inputs[4]) : Dims();
    if (!starts || !steps || !AllWithin(*steps, 1, 1)) return std::nullopt;
    const auto axes = AxesOf(node, 3, starts->size(), from.size());
    if (!axes) return std::nullopt;
    for (size_t i = 0; i < axes->size(); ++i) {
      const int64_t dim = from[(*axes)[i]], start = (*starts)[i];
      first[(*axes)[i]] = std::clamp<int64_t>(start < 0 ? std::max(start, -dim) + dim : start, 0, dim);
    }
    return first;
  }

  // Whether nothing but that node needs the only result, and neither was changed in this round.
  bool IsReadBy(NodeId maker, NodeId reader) const {
    return !is_taken_[maker.index()] && OnlyReader(graph_, graph_.node(maker).outputs[0]) == reader;
  }

  bool TakeCutBehind(NodeId id) {
    const Node& cut = graph_.node(id);
    if (!IsOp(cut, "Slice") && !IsOp(cut, "Pad")) return false;
    // From the cut back to the convolution, each read by nothing but the next.
    std::vector<NodeId> between;
    NodeId reader = id, maker = graph_.value(cut.inputs[0]).producer;
    while (maker.valid() && IsUnaryElementwise(graph_.node(maker)) && IsReadBy(maker, reader)) {
      between.push_back(maker);
      reader = maker;
      maker = graph_.value(graph_.node(maker).inputs[0]).producer;
    }
    if (!maker.valid()) return false;
    const Node& node = graph_.node(maker);
    if ((!IsOp(node, "Conv") && !IsOp(node, "ConvTranspose")) || !IsReadBy(maker, reader)) return false;
    const std::optional<Dims> kept = DimsOf(cut.outputs[0]), made = DimsOf(node.outputs[0]),
                              in = DimsOf(node.inputs[0]), kernel = KernelOf(node);
    if (!kept || !made || !in || !kernel || in->size() != kernel->size() + 2 || made->size() != in->size())
      return false;
    const std::optional<Dims> first = FirstKept(cut, *made, *kept);
    std::optional<Windows> windows = WindowsOf(node, *kernel);
    if (!first || !windows || (*kept)[0] != (*made)[0] || (*kept)[1] != (*made)[1]) return false;
    const bool fits =
        IsOp(node, "Conv") ? CutConvolution(*in, *kept, *first, *windows) : CutTransposed(*in, *kept, *first, *windows);
    if (!fits) return false;
    SetPadding(maker, *windows);
    TakePlaceOf(id, maker, between, *kept);
    return true;
  }

  // The convolution that makes what is kept, and no more, by its padding.
  static bool CutConvolution(const Dims& in, const Dims& kept, const Dims& first, Windows& windows) {
    for (size_t d = 0; d < windows.spatial(); ++d) {
      if (first[d + 2] >= kMost / windows.strides[d] || kept[d + 2] >= kMost / windows.strides[d]) return false;
      windows.before[d] -= first[d + 2] * windows.strides[d];
      const int64_t reach = (kept[d + 2] - 1) * windows.strides[d] + windows.extents[d];
      // Beyond the image, or short of its end by less than a stride: then no further window fits.
      const int64_t behind = reach - windows.before[d] - in[d + 2];
      if (behind <= -windows.strides[d]) return false;
      windows.behind[d] = std::max<int64_t>(behind, 0);
    }
    return windows.Meet(windows.before, windows.behind);
  }
  static bool CutTransposed(const Dims& in, const Dims& kept, const Dims& first, Windows& windows) {
    for (size_t d = 0; d < windows.spatial(); ++d) {
      if (in[d + 2] >= kMost / windows.strides[d]) return false;
      const int64_t full = (in[d + 2] - 1) * windows.strides[d] + windows.extents[d];
      windows.before[d] += first[d + 2];
      windows.behind[d] = full - windows.before[d] - kept[d + 2];
    }
    return windows.Meet(windows.before, windows.behind);
  }

  void SetPadding(NodeId id, const Windows& windows) {
    is_taken_[id.index()] = true;
    Dims pads = windows.before;
    pads.insert(pads.end(), windows.behind.begin(), windows.behind.end());
    auto& attributes = builder_.node(id).attributes;
    attributes.erase("auto_pad");
    attributes.erase("output_padding");
    attributes["pads"] = std::move(pads);
  }

  // The last node between makes what the cut made; those before it make as much.
  void TakePlaceOf(NodeId cut, NodeId maker, const std::vector<NodeId>& between, const Dims& kept) {
    const NodeId last = between.empty() ? maker : between.front();
    for (size_t i = between.size(); i-- > 0;) {
      const ValueId value = graph_.node(between[i]).inputs[0];
      builder_.value(value).type = StaticType(graph_.value(value).type.type, kept);
      is_taken_[between[i].index()] = true;
    }
    MergeSources(builder_, last, cut);
    const ValueId result = graph_.node(cut).outputs[0];
    builder_.RemoveNode(cut);
    builder_.node(last).outputs[0] = result;
  }

  const Graph& graph_;
  GraphBuilder builder_;
  std::vector<bool> is_taken_;  // nodes that are not as graph_ has them any more
};

}  // namespace

Result<std::optional<Graph>> FoldBorders(const Graph& graph, const PassContext&) { return BorderFolding(graph).Run(); }

}  // namespace pt
