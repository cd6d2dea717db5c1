// Images become sequences of tokens, channels last, and the reverse. Exporters flatten the spatial dims first and move
// the channels then; the other way round the Transpose is of images, which moves nothing where they lie channels-last:
//   Transpose(Reshape(x [N, C, H, W]) [N, C, HW]) -> Reshape(Transpose(x) [N, H, W, C])
//   Reshape(Transpose(t [N, HW, C]) [N, C, HW]) [N, C, H, W] -> Transpose(Reshape(t) [N, H, W, C])
// with the three dims in any order where the channels are the last.

#include <algorithm>
#include <set>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/movements.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

constexpr size_t kSequenceRank = 3, kSpatial = 2;  // the place of the spatial dims in [N, C, ...]

// Whether the second is the first with all dims from the third on as one, two at least.
bool Flattens(const Dims& image, const Dims& sequence) {
  if (image.size() < kSequenceRank + 1 || sequence.size() != kSequenceRank) return false;
  int64_t pixels = 1;
  for (size_t d = kSpatial; d < image.size(); ++d) pixels *= image[d];
  return image[0] == sequence[0] && image[1] == sequence[1] && pixels == sequence[kSpatial];
}

// The permutation of an image's dims of which this one of [N, C, pixels] is.
std::vector<int64_t> OfImage(const std::vector<size_t>& permutation, size_t rank) {
  std::vector<int64_t> dims;
  for (const size_t d : permutation) {
    if (d != kSpatial) dims.push_back(static_cast<int64_t>(d));
    for (size_t i = kSpatial; d == kSpatial && i < rank; ++i) dims.push_back(static_cast<int64_t>(i));
  }
  return dims;
}

class Turner {
 public:
  explicit Turner(const Graph& graph) : graph_(graph), builder_(graph) {}

  Result<std::optional<Graph>> Run() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const NodeId second(i);
      if (!FollowsAlone(second)) continue;
      const NodeId first = graph_.value(graph_.node(second).inputs[0]).producer;
      if (removed_.contains(first)) continue;
      if (IsReshaping(graph_.node(first)) && IsOp(graph_.node(second), "Transpose")) MoveChannelsFirst(first, second);
      if (IsOp(graph_.node(first), "Transpose") && IsReshaping(graph_.node(second))) MoveChannelsLater(first, second);
    }
    return BuildIfChanged(builder_, !removed_.empty());
  }

 private:
  // It is the only reader of a node's result, all dims known.
  bool FollowsAlone(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.inputs.empty() || !node.inputs[0].valid() || node.outputs.size() != 1) return false;
    const Value& between = graph_.value(node.inputs[0]);
    if (!between.producer.valid() || between.uses.size() != 1 || between.is_graph_output) return false;
    const Node& first = graph_.node(between.producer);
    const auto known = [&](ValueId value) {
      return value.valid() && !graph_.value(value).is_constant() && graph_.value(value).type.is_static();
    };
    return !first.inputs.empty() && known(first.inputs[0]) && known(node.inputs[0]) && known(node.outputs[0]);
  }
  Dims DimsOf(ValueId value) const { return *graph_.value(value).type.static_dims(); }

  // The reshaped image's Transpose, before the Reshape.
  void MoveChannelsFirst(NodeId reshape, NodeId transpose) {
    const ValueId image = graph_.node(reshape).inputs[0], tokens = graph_.node(transpose).outputs[0];
    const Dims dims = DimsOf(image);
    const auto permutation = ReadPermutation(graph_.node(transpose), kSequenceRank);
    if (!Flattens(dims, DimsOf(graph_.node(reshape).outputs[0])) || !permutation.ok() || permutation->back() != 1)
      return;
    const std::vector<int64_t> turn = OfImage(*permutation, dims.size());
    Dims turned;
    for (const int64_t d : turn) turned.push_back(dims[static_cast<size_t>(d)]);
    const ValueId middle = builder_.AddValue("", StaticType(graph_.value(image).type.type, turned));
    const std::vector<Source> source = Remove(reshape, transpose);
    AddTranspose(image, middle, turn, source);
    builder_.node(AddReshape(builder_, middle, tokens)).source = source;
  }

  // Sequences taken apart into heads look alike, but products and other orders of their dims follow.
  bool IsReadAsImage(ValueId image) const {
    return std::ranges::none_of(graph_.value(image).uses, [&](const Use& use) {
      return IsOp(graph_.node(use.node), "MatMul") || IsOp(graph_.node(use.node), "Transpose");
    });
  }

  // The Reshape of transposed tokens, before the Transpose.
  void MoveChannelsLater(NodeId transpose, NodeId reshape) {
    const ValueId tokens = graph_.node(transpose).inputs[0], image = graph_.node(reshape).outputs[0];
    const Dims dims = DimsOf(image);
    const auto permutation = ReadPermutation(graph_.node(transpose), kSequenceRank);
    if (!IsReadAsImage(image) || !Flattens(dims, DimsOf(graph_.node(transpose).outputs[0])) || !permutation.ok())
      return;
    std::vector<size_t> back(kSequenceRank);  // of the tokens' dims: which of [N, C, pixels] each is
    for (size_t d = 0; d < kSequenceRank; ++d) back[(*permutation)[d]] = d;
    if (back.back() != 1) return;
    const std::vector<int64_t> order = OfImage(back, dims.size());
    Dims apart;
    std::vector<int64_t> turn(dims.size());
    for (size_t i = 0; i < order.size(); ++i) {
      apart.push_back(dims[static_cast<size_t>(order[i])]);
      turn[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    const ValueId middle = builder_.AddValue("", StaticType(graph_.value(image).type.type, apart));
    const std::vector<Source> source = Remove(transpose, reshape);
    builder_.node(AddReshape(builder_, tokens, middle)).source = source;
    AddTranspose(middle, image, turn, source);
  }

  // Both nodes; what they stood for.
  std::vector<Source> Remove(NodeId first, NodeId second) {
    removed_.insert({first, second});
    std::vector<Source> source = graph_.node(first).source;
    const std::vector<Source>& more = graph_.node(second).source;
    source.insert(source.end(), more.begin(), more.end());
    builder_.RemoveNode(first);
    builder_.RemoveNode(second);
    return source;
  }

  void AddTranspose(ValueId from, ValueId to, const std::vector<int64_t>& permutation,
                    const std::vector<Source>& source) {
    Node node;
    node.op = "Transpose";
    node.attributes["perm"] = permutation;
    node.inputs = {from};
    node.outputs = {to};
    node.source = source;
    builder_.AddNode(std::move(node));
  }

  const Graph& graph_;
  GraphBuilder builder_;
  std::set<NodeId> removed_;
};

}  // namespace

Result<std::optional<Graph>> TurnFlattenedImages(const Graph& graph, const PassContext&) { return Turner(graph).Run(); }

}  // namespace pt
