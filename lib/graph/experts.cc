#include "partitiontuner/graph/experts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/reductions.h"

namespace pt {
namespace {

// What may lie between the two layers.
constexpr std::array<std::string_view, 14> kMiddle = {"Add", "Clip", "Div",  "Erf",     "Gelu", "Max",  "Min",
                                                      "Mul", "Pow",  "Relu", "Sigmoid", "Sub",  "Tanh", "Slice"};
constexpr size_t kMostMiddle = 16;

using Dims = std::vector<int64_t>;

class Finder {
 public:
  // folded: whatever is known is a constant by now.
  Finder(const Graph& graph, bool folded) : graph_(graph), folded_(folded) {}

  std::optional<Experts> Find(NodeId sum) {
    if (!Is(sum, "ReduceSum") || KeepsReducedDims(graph_.node(sum))) return std::nullopt;
    const auto reduced = ReadReducedDims(graph_, graph_.node(sum), 3);
    if (!reduced.ok() || *reduced != std::vector<bool>{true, false, false}) return std::nullopt;
    found_.result = graph_.node(sum).outputs[0];
    Take(sum);
    if (!TakeCounted(graph_.node(sum).inputs[0])) return std::nullopt;
    if (!TakeLayer(results_, found_.down, false) || !TakeMiddle(ProductInput(found_.down)) ||
        !found_.up.product.valid())
      return std::nullopt;
    found_.inner = ProductInput(found_.down);
    found_.tokens = ProductInput(found_.up);
    if (!SizesFit() || !AreReadWithinAlone()) return std::nullopt;
    for (std::vector<NodeId>* nodes : {&found_.nodes, &found_.slices, &found_.middle}) std::ranges::sort(*nodes);
    return std::move(found_);
  }

 private:
  bool Is(NodeId id, std::string_view op) const {
    return id.valid() && graph_.node(id).domain.empty() && graph_.node(id).op == op;
  }
  NodeId MakerOf(ValueId value) const { return value.valid() ? graph_.value(value).producer : NodeId(); }
  ValueId InputOf(NodeId id, size_t i) const {
    const Node& node = graph_.node(id);
    return i < node.inputs.size() ? node.inputs[i] : ValueId();
  }
  Dims DimsOf(ValueId value) const { return graph_.value(value).type.static_dims().value_or(Dims()); }
  void Take(NodeId id) {
    if (std::ranges::find(found_.nodes, id) == found_.nodes.end()) found_.nodes.push_back(id);
  }
  ValueId ProductInput(const ExpertLayer& layer) const { return InputOf(layer.product, 0); }

  // Constant, or to be folded: made of constants and of known sizes.
  bool IsKnown(ValueId value) const {
    if (!value.valid()) return false;
    if (graph_.value(value).is_constant()) return true;
    const NodeId maker = MakerOf(value);
    if (folded_ || !maker.valid() || !graph_.node(maker).subgraphs.empty() || graph_.node(maker).inputs.empty())
      return false;
    if (Is(maker, "Shape")) return graph_.value(InputOf(maker, 0)).type.is_static();
    return std::ranges::all_of(graph_.node(maker).inputs, [&](ValueId in) { return !in.valid() || IsKnown(in); });
  }
  bool IsZero(ValueId value) const {
    const std::optional<Tensor>& constant = graph_.value(value).constant;
    return IsKnown(value) &&
           (!constant || (constant->type() == DataType::kFloat32 &&
                          std::ranges::all_of(constant->values<float>(), [](float x) { return x == 0; })));
  }

  // Where(Equal(shares, 0), 0, Mul(results, shares))
  bool TakeCounted(ValueId counted) {
    const NodeId where = MakerOf(counted);
    if (!Is(where, "Where") || !IsZero(InputOf(where, 1))) return false;
    const NodeId equal = MakerOf(InputOf(where, 0)), mul = MakerOf(InputOf(where, 2));
    if (!Is(equal, "Equal") || !Is(mul, "Mul") || !IsZero(InputOf(equal, 1))) return false;
    const ValueId shares = InputOf(equal, 0);
    if (InputOf(mul, 1) != shares) return false;
    results_ = InputOf(mul, 0);
    for (const NodeId id : {where, equal, mul}) Take(id);
    return TakeShares(shares);
  }

  // Unsqueeze(Transpose(ScatterElements(0, indices, shares)))
  bool TakeShares(ValueId shares) {
    const NodeId unsqueeze = MakerOf(shares);
    if (!Is(unsqueeze, "Unsqueeze") && !Is(unsqueeze, "Reshape")) return false;
    const NodeId transpose = MakerOf(InputOf(unsqueeze, 0));
    if (!Is(transpose, "Transpose")) return false;
    const NodeId scatter = MakerOf(InputOf(transpose, 0));
    if (!Is(scatter, "ScatterElements") || !IsZero(InputOf(scatter, 0))) return false;
    const Node& node = graph_.node(scatter);
    const auto perm = ReadPermutation(graph_.node(transpose), 2);
    const auto axis = ReadAxis(node, graph_.opset(), 2);
    const auto reduction = ReadScatterReduction(node);
    if (!perm.ok() || perm->front() != 1 || !axis.ok() || *axis != 1) return false;
    if (!reduction.ok() || *reduction != ScatterReduction::kNone) return false;
    found_.indices = InputOf(scatter, 1);
    found_.shares = InputOf(scatter, 2);
    all_ = node.outputs[0];
    weights_ = shares;
    for (const NodeId id : {unsqueeze, transpose, scatter}) Take(id);
    return true;
  }

  // `result` of the product, or of the constant added to it. Of the first layer that is met, `product` must be one.
  bool TakeLayer(ValueId result, ExpertLayer& layer, bool is_up) {
    NodeId product = MakerOf(result);
    layer.result = result;
    if (Is(product, "Add") && IsKnown(InputOf(product, 1)) && Is(MakerOf(InputOf(product, 0)), "MatMul")) {
      layer.bias = InputOf(product, 1);
      Take(product);
      product = MakerOf(InputOf(product, 0));
    }
    if (!Is(product, "MatMul")) return false;
    layer.product = product;
    layer.matrices = InputOf(product, 1);
    Take(product);
    if (is_up && IsKnown(InputOf(product, 0))) return false;
    const NodeId transpose = MakerOf(layer.matrices);
    if (graph_.value(layer.matrices).is_constant()) return true;
    const auto perm = Is(transpose, "Transpose") ? ReadPermutation(graph_.node(transpose), 3)
                                                 : Result<std::vector<size_t>>(std::vector<size_t>());
    const NodeId dequantisation = transpose.valid() ? MakerOf(InputOf(transpose, 0)) : NodeId();
    if (dequantisation.valid() && IsDequantisation(graph_.node(dequantisation)) && perm.ok() &&
        *perm == std::vector<size_t>{0, 2, 1}) {
      layer.dequantisation = dequantisation;
      Take(transpose);
      Take(dequantisation);
      return true;
    }
    return IsKnown(layer.matrices);
  }

  // From what down reads back to what up makes.
  bool TakeMiddle(ValueId value) {
    if (value == found_.up.result && value.valid()) return true;
    if (IsKnown(value)) return true;
    const NodeId maker = MakerOf(value);
    if (!maker.valid()) return false;
    if (std::ranges::find(found_.middle, maker) != found_.middle.end() ||
        std::ranges::find(found_.slices, maker) != found_.slices.end()) {
      return true;
    }
    ExpertLayer layer;
    const size_t before = found_.nodes.size();
    if (!found_.up.product.valid() && TakeLayer(value, layer, true)) {
      found_.up = layer;
      return true;
    }
    found_.nodes.resize(before);
    const Node& node = graph_.node(maker);
    if (!node.domain.empty() || std::ranges::find(kMiddle, node.op) == kMiddle.end()) return false;
    if (found_.middle.size() + found_.slices.size() >= kMostMiddle) return false;
    (node.op == "Slice" ? found_.slices : found_.middle).push_back(maker);
    Take(maker);
    if (node.op == "Slice") {
      return TakeMiddle(node.inputs[0]) && node.inputs[0] == found_.up.result &&
             std::ranges::all_of(node.inputs, [&](ValueId in) { return in == node.inputs[0] || IsKnown(in); });
    }
    return std::ranges::all_of(node.inputs, [&](ValueId in) { return !in.valid() || TakeMiddle(in); });
  }

  bool SizesFit() const {
    const Dims tokens = DimsOf(found_.tokens), inner = DimsOf(found_.inner), up = DimsOf(found_.up.result);
    const Dims down = DimsOf(found_.down.result), chosen = DimsOf(found_.indices), all = DimsOf(all_);
    const Dims weights = DimsOf(weights_), matrices = DimsOf(found_.up.matrices);
    if (tokens.size() != 3 || inner.size() != 3 || up.size() != 3 || down.size() != 3 || chosen.size() != 2)
      return false;
    const int64_t experts = up[0], rows = up[1];
    if (tokens[0] != 1 || tokens[1] != rows || inner[0] != experts || inner[1] != rows) return false;
    if (down[0] != experts || down[1] != rows || chosen[0] != rows || DimsOf(found_.shares) != chosen) return false;
    if (all != Dims{rows, experts} || weights != Dims{experts, rows, 1} || matrices.size() != 3) return false;
    for (const ExpertLayer* layer : {&found_.up, &found_.down}) {
      const Dims of = DimsOf(layer->matrices), made = DimsOf(layer->result);
      if (of.size() != 3 || of[0] != experts || of[2] != made[2]) return false;
      if (layer->bias.valid() && DimsOf(layer->bias) != Dims{experts, 1, made[2]}) return false;
    }
    return AreFloat32();
  }

  bool AreFloat32() const {
    const auto is = [&](ValueId value) { return graph_.value(value).type.type == DataType::kFloat32; };
    return is(found_.tokens) && is(found_.shares) && is(found_.inner) && is(found_.result);
  }

  // Nothing but the sum is read by anyone else.
  bool AreReadWithinAlone() const {
    return std::ranges::all_of(found_.nodes, [&](NodeId id) {
      return std::ranges::all_of(graph_.node(id).outputs, [&](ValueId output) {
        if (!output.valid() || output == found_.result) return true;
        const Value& value = graph_.value(output);
        return !value.is_graph_output && std::ranges::all_of(value.uses, [&](const Use& use) {
          return std::ranges::find(found_.nodes, use.node) != found_.nodes.end();
        });
      });
    });
  }

  const Graph& graph_;
  bool folded_;
  Experts found_;
  ValueId results_, all_, weights_;
};

// One expert's part of a constant whose first dim is that of experts; nullopt where that does not begin at a byte.
std::optional<Tensor> PartOf(const Tensor& all, int64_t expert) {
  const std::vector<int64_t> dims(all.dims().begin() + 1, all.dims().end());
  int64_t bits = BitsOf(all.type());
  for (const int64_t dim : dims) bits *= dim;
  if (bits % 8 != 0) return std::nullopt;
  const auto bytes = static_cast<size_t>(bits / 8);
  const auto part = all.bytes().subspan(static_cast<size_t>(expert) * bytes, bytes);
  Result<Tensor> made =
      Tensor::FromBytes(all.type(), dims, std::string(reinterpret_cast<const char*>(part.data()), bytes));
  return made.ok() ? std::optional(std::move(*made)) : std::nullopt;
}

}  // namespace

std::optional<Experts> FindExperts(const Graph& graph, NodeId sum) { return Finder(graph, true).Find(sum); }

std::optional<Experts> ReadExperts(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.empty()) return std::nullopt;
  auto experts = FindExperts(graph, nodes.back());
  return experts && std::ranges::equal(experts->nodes, nodes) ? std::move(experts) : std::nullopt;
}

std::optional<PackedMatrix> PackedMatrixOf(const Graph& graph, const ExpertLayer& layer, int64_t expert) {
  if (!layer.is_packed()) return std::nullopt;
  const Node& node = graph.node(layer.dequantisation);
  const auto constant = [&](size_t i) -> std::optional<Tensor> {
    return i < node.inputs.size() && node.inputs[i].valid() ? graph.value(node.inputs[i]).constant : std::nullopt;
  };
  const auto elements = constant(0), scales = constant(1), zeros = constant(2);
  const bool has_zeros = node.inputs.size() > 2 && node.inputs[2].valid();
  const Result<size_t> axis = ReadAxis(node, graph.opset(), 3);
  const int64_t block = ReadBlockSize(node);
  if (!elements || !scales || elements->rank() != 3 || scales->rank() != 3 || !axis.ok() || *axis != 2 || block < 1)
    return std::nullopt;
  if (scales->type() != DataType::kFloat32 || (has_zeros && (!zeros || zeros->dims() != scales->dims())))
    return std::nullopt;
  const auto part = PartOf(*elements, expert), own = PartOf(*scales, expert);
  if (!part || !own) return std::nullopt;
  PackedMatrix matrix{layer.dequantisation, *part, true, *own, std::nullopt};
  if (has_zeros) {
    matrix.zero_points = PartOf(*zeros, expert);
    if (!matrix.zero_points) return std::nullopt;
  }
  matrix.columns = part->dims()[0];
  matrix.depth = part->dims()[1];
  matrix.block = std::min(block, matrix.depth);
  matrix.block_step = 1;
  matrix.column_step = matrix.blocks();
  const bool fits = own->dims() == std::vector<int64_t>{matrix.columns, matrix.blocks()};
  return fits ? std::optional(std::move(matrix)) : std::nullopt;
}

bool FeedsExperts(const Graph& graph, NodeId dequantisation) {
  const Node& node = graph.node(dequantisation);
  if (!IsDequantisation(node) || !node.inputs[0].valid() || graph.value(node.inputs[0]).type.dims.size() != 3)
    return false;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (graph.node(NodeId(n)).op != "ReduceSum") continue;
    const auto experts = Finder(graph, false).Find(NodeId(n));
    if (!experts) continue;
    for (const ExpertLayer* layer : {&experts->up, &experts->down}) {
      if (layer->dequantisation == dequantisation) return PackedMatrixOf(graph, *layer, 0).has_value();
    }
  }
  return false;
}

}  // namespace pt
