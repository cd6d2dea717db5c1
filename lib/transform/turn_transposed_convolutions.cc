// A transposed convolution whose windows do not overlap, or move by one, is a convolution:
//   - along a dim of stride 1 it is one with the filter turned round, padded by what the window reaches beyond the
//   pads;
//   - along a dim whose kernel is as wide as its stride each input element makes a block of outputs of its own: the
//     block's places become channels of a convolution of width 1, and a Transpose lays them side by side.
// Convolutions have more and better kernels on all libraries, and fuse with what follows; hence elementwise operators
// behind the node are computed before the Transpose. Shi et al., "Is the deconvolution layer the same as a
// convolutional layer?" (2016).
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/support/aligned_bytes.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

// The convolution that computes the same, by its spatial dims.
struct Turned {
  Dims kernel, dilations, pads_begin, pads_end;
  Dims block;  // outputs that one input element makes by itself; 1: the filter is turned round instead
  int64_t groups = 1, places = 1;  // places: of a block
};

// nullopt where there is none; also where attributes contradict the weights, which is for others to say.
std::optional<Turned> Turn(const Node& node, const Dims& weights) {
  if (weights.size() < 3) return std::nullopt;
  const size_t spatial = weights.size() - 2;
  const Result<WindowNode> window = ReadWindowNode(node, spatial);
  if (!window.ok() || window->auto_pad != AutoPad::kNotSet || !window->output_shape.empty()) return std::nullopt;
  const Dims &strides = window->strides, &dilations = window->dilations, &pads = window->pads;
  const auto is_zero = [](int64_t n) { return n == 0; };
  if (!std::ranges::all_of(window->output_padding, is_zero)) return std::nullopt;
  Turned turned;
  turned.groups = ReadConvolutionGroups(node);
  if (turned.groups < 1 || weights[0] % turned.groups != 0) return std::nullopt;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t kernel = weights[d + 2], begin = pads[d], end = pads[d + spatial];
    const bool slides = strides[d] == 1;
    if (!slides && (kernel != strides[d] || dilations[d] != 1 || begin != 0 || end != 0)) return std::nullopt;
    const std::optional<int64_t> reaches = CheckedMul(dilations[d], kernel - 1);
    if (!reaches || dilations[d] < 1 || begin < 0 || end < 0) return std::nullopt;
    const int64_t reach = slides ? *reaches : 0;
    if (begin > reach || end > reach) return std::nullopt;  // a convolution cannot leave out what it is given
    turned.kernel.push_back(slides ? kernel : 1);
    turned.dilations.push_back(slides ? dilations[d] : 1);
    turned.pads_begin.push_back(reach - begin);
    turned.pads_end.push_back(reach - end);
    turned.block.push_back(slides ? 1 : kernel);
    turned.places *= turned.block.back();
  }
  return turned;
}

// The next index of a box of dims, in row-major order.
void Advance(Dims& index, const Dims& dims) {
  for (size_t d = index.size(); d-- > 0 && ++index[d] == dims[d];) index[d] = 0;
}

// From [inputs, outputs / groups, taps…] to [outputs · places, inputs / groups, taps…].
Result<Tensor> TurnedWeights(const Tensor& weights, const Turned& turned) {
  const Dims& dims = weights.dims();
  const Dims from_taps(dims.begin() + 2, dims.end());
  const int64_t per_group = dims[1], inputs = dims[0] / turned.groups;
  Dims to_dims = {per_group * turned.groups * turned.places, inputs};
  to_dims.insert(to_dims.end(), turned.kernel.begin(), turned.kernel.end());
  PT_ASSIGN(AlignedBytes bytes, AllocateAligned(weights.values<float>().size_bytes()));
  auto* to = reinterpret_cast<float*>(bytes.bytes.data());
  const std::span<const float> from = weights.values<float>();

  Dims index(to_dims.size(), 0);  // of the result, whose elements are written in order
  for (size_t written = 0; written < from.size(); ++written) {
    const int64_t output = index[0] / turned.places;
    int64_t place = index[0] % turned.places, tap = 0, scale = 1;
    for (size_t d = from_taps.size(); d-- > 0;) {
      const int64_t at = turned.block[d] > 1 ? place % turned.block[d] : from_taps[d] - 1 - index[d + 2];
      place /= turned.block[d];
      tap += at * scale;
      scale *= from_taps[d];
    }
    const int64_t input = output / per_group * inputs + index[1];
    to[written] = from[static_cast<size_t>((input * per_group + output % per_group) * scale + tap)];
    Advance(index, to_dims);
  }
  return Tensor::FromShared(DataType::kFloat32, std::move(to_dims), std::move(bytes.owner), bytes.bytes);
}

Tensor TurnedBias(const Tensor& bias, int64_t places) {
  std::vector<float> repeated;
  for (float value : bias.values<float>()) repeated.insert(repeated.end(), static_cast<size_t>(places), value);
  const auto count = static_cast<int64_t>(repeated.size());
  return Tensor::Float32({count}, repeated);
}

// Dims of the convolution's result as it is made, with the places of blocks apart from channels, and with each beside
// the dim that it belongs to.
struct Blocks {
  Dims made, apart, order, joined;  // order: the Transpose from apart to joined
};

Blocks BlocksOf(const Turned& turned, const Dims& out) {
  Blocks blocks{{out[0], out[1] * turned.places}, {out[0], out[1]}, {0, 1}, {out[0], out[1]}};
  const auto split = [](int64_t length) { return length > 1; };
  std::ranges::copy_if(turned.block, std::back_inserter(blocks.apart), split);
  auto place = int64_t{2}, inner = static_cast<int64_t>(blocks.apart.size());
  for (size_t d = 0; d < turned.block.size(); ++d) {
    const int64_t length = out[d + 2] / turned.block[d];
    blocks.made.push_back(length);
    blocks.apart.push_back(length);
    blocks.joined.push_back(length);
    blocks.order.push_back(inner++);
    if (!split(turned.block[d])) continue;
    blocks.joined.push_back(turned.block[d]);
    blocks.order.push_back(place++);
  }
  return blocks;
}

class Turning {
 public:
  explicit Turning(const Graph& graph) : graph_(graph), builder_(graph) {}

  Result<std::optional<Graph>> Run() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) PT_CHECK_OK(Visit(NodeId(i)));
    return BuildIfChanged(builder_, changed_);
  }

 private:
  const Tensor* FloatConstant(ValueId value) const {
    const auto& constant = graph_.value(value).constant;
    return constant && constant->type() == DataType::kFloat32 ? &*constant : nullptr;
  }

  Status Visit(NodeId id) {
    const Node& node = graph_.node(id);
    if (!IsOp(node, "ConvTranspose")) return {};
    const Tensor* const weights = FloatConstant(node.inputs[1]);
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
    const Tensor* const bias = has_bias ? FloatConstant(node.inputs[2]) : nullptr;
    const auto out = graph_.value(node.outputs[0]).type.static_dims();
    if (weights == nullptr || (has_bias && bias == nullptr) || !out || weights->element_count() == 0) return {};
    const auto turned = Turn(node, weights->dims());
    if (!turned || out->size() != weights->dims().size()) return {};
    if (bias != nullptr && bias->element_count() != weights->dims()[1] * turned->groups) return {};
    PT_ASSIGN(Tensor filters, TurnedWeights(*weights, *turned));
    std::vector<ValueId> inputs = {node.inputs[0], builder_.AddConstant("", std::move(filters))};
    if (bias != nullptr) inputs.push_back(builder_.AddConstant("", TurnedBias(*bias, turned->places)));
    Replace(id, *turned, std::move(inputs), *out);
    changed_ = true;
    return {};
  }

  // The node becomes a convolution.
  void Replace(NodeId id, const Turned& turned, std::vector<ValueId> inputs, const Dims& out) {
    Node& node = builder_.node(id);
    node.op = "Conv";
    node.formal_inputs = static_cast<uint32_t>(inputs.size());
    node.inputs = std::move(inputs);
    Dims pads = turned.pads_begin;
    pads.insert(pads.end(), turned.pads_end.begin(), turned.pads_end.end());
    node.attributes.clear();
    node.attributes["kernel_shape"] = turned.kernel;
    node.attributes["dilations"] = turned.dilations;
    node.attributes["pads"] = std::move(pads);
    node.attributes["group"] = turned.groups;
    if (turned.places == 1) return;
    LayBlocksSideBySide(id, turned, out);
  }

  // The convolution makes [batch, channels · places, …]; what follows it reads blocks that lie side by side.
  void LayBlocksSideBySide(NodeId id, const Turned& turned, const Dims& out) {
    const Blocks blocks = BlocksOf(turned, out);
    const std::vector<Source> source = graph_.node(id).source;
    const auto [made, read] = MoveElementwise(id, blocks.made);
    const ValueId apart = AddValue(blocks.apart), joined = AddValue(blocks.joined);
    builder_.node(AddReshape(builder_, made, apart)).source = source;
    Node transpose;
    transpose.op = "Transpose";
    transpose.attributes["perm"] = blocks.order;
    transpose.inputs = {apart};
    transpose.outputs = {joined};
    transpose.source = source;
    builder_.AddNode(std::move(transpose));
    builder_.node(AddReshape(builder_, joined, read)).source = source;
  }

  ValueId AddValue(const Dims& dims) { return builder_.AddValue("", StaticType(DataType::kFloat32, dims)); }

  // Gives the node a result of those dims, and elementwise operators that alone read it likewise. The last of these
  // results, and the value whose place it takes.
  std::pair<ValueId, ValueId> MoveElementwise(NodeId id, const Dims& dims) {
    ValueId made = AddValue(dims), read = graph_.node(id).outputs[0];
    builder_.node(id).outputs[0] = made;
    for (NodeId reader = OnlyReader(graph_, read); reader.valid() && IsUnaryElementwise(graph_.node(reader));
         reader = OnlyReader(graph_, read)) {
      read = graph_.node(reader).outputs[0];
      builder_.node(reader).inputs[0] = made;
      made = AddValue(dims);
      builder_.node(reader).outputs[0] = made;
    }
    return {made, read};
  }

  const Graph& graph_;
  GraphBuilder builder_;
  bool changed_ = false;
};

}  // namespace

Result<std::optional<Graph>> TurnTransposedConvolutions(const Graph& graph, const PassContext&) {
  return Turning(graph).Run();
}

}  // namespace pt
