// Two Transposes in a row are one; a chain of views (Reshape, Flatten, Squeeze, Unsqueeze) is one Reshape.
#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/movements.h"

namespace pt {
namespace {

class Merger {
 public:
  explicit Merger(const Graph& graph) : builder_(graph), producers_(ProducerTable(graph)) {}

  Result<std::optional<Graph>> Run() {
    for (size_t i = 0; i < builder_.graph().nodes().size(); ++i) Visit(NodeId(i));
    return BuildIfChanged(builder_, changed_);
  }

 private:
  void Visit(NodeId id) {
    const Node& node = builder_.graph().node(id);
    if (node.inputs.empty() || !node.inputs[0].valid()) return;
    const NodeId producer = producers_[node.inputs[0].index()];
    if (!producer.valid()) return;
    const Node& first = builder_.graph().node(producer);
    if (IsOp(node, "Transpose") && IsOp(first, "Transpose")) MergeTransposes(id, producer);
    if (IsReshaping(node) && IsReshaping(first)) MergeViews(id, producer);
  }

  void MergeTransposes(NodeId id, NodeId producer) {
    const auto dims = builder_.graph().value(builder_.graph().node(id).outputs[0]).type.static_dims();
    if (!dims) return;
    const auto outer = ReadPermutation(builder_.graph().node(id), dims->size());
    const auto inner = ReadPermutation(builder_.graph().node(producer), dims->size());
    if (!outer.ok() || !inner.ok()) return;
    std::vector<int64_t> both;
    for (const size_t d : *outer) both.push_back(static_cast<int64_t>((*inner)[d]));
    const ValueId input = builder_.graph().node(producer).inputs[0];
    Node& node = builder_.node(id);
    node.inputs[0] = input;
    node.attributes["perm"] = both;
    MergeSources(builder_, id, producer);
    changed_ = true;
  }

  // Both static: only the last shape counts.
  void MergeViews(NodeId id, NodeId producer) {
    const Graph& graph = builder_.graph();
    const auto dims = graph.value(graph.node(id).outputs[0]).type.static_dims();
    const ValueId input = graph.node(producer).inputs[0];
    if (!dims || !graph.value(input).type.is_static()) return;
    const ValueId shape = builder_.AddConstant("", Tensor::Int64({static_cast<int64_t>(dims->size())}, *dims));
    producers_.emplace_back();
    Node& node = builder_.node(id);
    node.op = "Reshape";
    node.attributes = {{"allowzero", int64_t{1}}};
    node.inputs = {input, shape};
    node.formal_inputs = 2;
    MergeSources(builder_, id, producer);
    changed_ = true;
  }

  GraphBuilder builder_;
  std::vector<NodeId> producers_;
  bool changed_ = false;
};

}  // namespace

Result<std::optional<Graph>> MergeViewsAndTransposes(const Graph& graph, const PassContext&) {
  return Merger(graph).Run();
}

}  // namespace pt
