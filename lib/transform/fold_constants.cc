// Constant folding: what depends on constants only, and Shape and Size of values with static dims. Shape arithmetic of
// exported models disappears here. Nodes whose results are drawn at random, results over the limits, and the integer
// weights of quantised products and of packed ones stay.
#include <algorithm>
#include <array>
#include <memory>

#include "lib/transform/edit.h"
#include "lib/transform/integer_products.h"
#include "lib/transform/packed_products.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/chance.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/views.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

bool IsFoldable(const Graph& graph, const Node& node) { return node.subgraphs.empty() && !DrawsAtRandom(graph, node); }

// Integers that a product is to be computed on are not turned into real numbers here.
bool FeedsIntegerProducts(const Graph& graph, const Node& node) {
  if (!IsDequantisation(node) || node.outputs.size() != 1) return false;
  const Value& real = graph.value(node.outputs[0]);
  return !real.is_graph_output && !real.uses.empty() &&
         std::ranges::all_of(real.uses, [&](Use use) { return IsReadByIntegerProduct(graph, node, use); });
}

// The most bytes that an operator gives whose results are as large as its data says. Nothing for any other operator.
std::optional<uint64_t> MostSelectedBytes(const Node& node, std::span<const Tensor> inputs) {
  constexpr int64_t kIndex = sizeof(int64_t);
  if (inputs.empty()) return std::nullopt;
  const auto bytes = static_cast<uint64_t>(inputs[0].bytes().size());
  const int64_t count = inputs[0].element_count();
  if (IsOp(node, "Compress")) return bytes;
  std::optional<int64_t> indices;
  if (IsOp(node, "NonZero")) {
    const auto rank = static_cast<int64_t>(inputs[0].dims().size());
    indices = CheckedProduct(std::array{count, std::max<int64_t>(1, rank), kIndex});
  } else if (IsOp(node, "NonMaxSuppression") && inputs.size() > 1) {
    indices = CheckedProduct(std::array<int64_t, 3>{inputs[1].element_count(), 3, kIndex});  // one a score
  } else if (IsOp(node, "Unique")) {
    indices = CheckedProduct(std::array<int64_t, 3>{count, 3, kIndex});
    if (indices) indices = CheckedAdd(*indices, static_cast<int64_t>(bytes));
  }
  return indices ? std::optional(static_cast<uint64_t>(*indices)) : std::nullopt;
}

// Shape and Size need their input's dims only.
std::optional<Tensor> DimsAnswer(const Graph& graph, const Node& node) {
  const bool shape = IsOp(node, "Shape");
  if ((!shape && !IsOp(node, "Size")) || node.inputs.size() != 1) return std::nullopt;
  const auto dims = graph.value(node.inputs[0]).type.static_dims();
  if (!dims) return std::nullopt;
  if (!shape) {
    const auto count = CheckedProduct(*dims);
    return count ? std::optional(Tensor::Int64({}, {*count})) : std::nullopt;
  }
  const auto [begin, end] = ReadShapeRange(node, dims->size());
  const std::vector<int64_t> part(dims->begin() + static_cast<ptrdiff_t>(begin),
                                  dims->begin() + static_cast<ptrdiff_t>(end));
  return Tensor::Int64({static_cast<int64_t>(part.size())}, part);
}

class Folder {
 public:
  Folder(const Graph& graph, const PassContext& context)
      : context_(context),
        builder_(graph),
        added_(context.folded_bytes != nullptr ? context.folded_bytes : std::make_shared<int64_t>(0)),
        made_here_(graph.values().size(), false) {
    for (const Value& value : graph.values()) uses_left_.push_back(value.uses.size() + (value.is_graph_output ? 1 : 0));
  }

  Result<std::optional<Graph>> Run() {
    for (size_t i = 0; i < builder_.graph().nodes().size(); ++i) PT_CHECK_OK(Visit(NodeId(i)));
    return BuildIfChanged(builder_, changed_);
  }

 private:
  Status Visit(NodeId id) {
    const Graph& graph = builder_.graph();
    const Node& node = graph.node(id);
    if (auto answer = DimsAnswer(graph, node)) {
      Replace(id, {std::move(*answer)});
      return {};
    }
    if (!IsFoldable(graph, node)) return {};
    std::vector<Tensor> inputs;
    for (ValueId input : node.inputs) {
      if (!input.valid()) {
        inputs.emplace_back();
        continue;
      }
      if (!graph.value(input).is_constant()) return {};
      inputs.push_back(*graph.value(input).constant);
    }
    if (FeedsIntegerProducts(graph, node)) return {};
    if (FeedsPackedProducts(graph, id) && !(context_.settled && FeedsUnsizedProducts(graph, id))) return {};
    auto bytes = ResultBytes(graph, node);
    if (!bytes) bytes = MostSelectedBytes(node, inputs);
    const uint64_t most_bytes = context_.limits.tensor_bytes;
    if (!bytes || (most_bytes != 0 && *bytes > most_bytes)) return {};
    if (!MayAdd(AddedBy(node, *bytes))) return {};
    auto results = context_.evaluate(graph, id, inputs);
    if (!results.ok()) {
      // What the evaluator does not know stays a node; what is wrong with the data is the user's to hear.
      if (results.error().code == ErrorCode::kUnsupported) return {};
      return std::move(results).error();
    }
    uint64_t made_bytes = 0;
    for (const Tensor& result : *results) made_bytes += result.bytes().size();
    *added_ += AddedBy(node, made_bytes);
    Replace(id, *std::move(results));
    return {};
  }

  bool MayAdd(int64_t bytes) const {
    const uint64_t limit = context_.limits.folded_bytes;
    return limit == 0 || *added_ + bytes <= static_cast<int64_t>(std::min<uint64_t>(limit, INT64_MAX));
  }

  // What results of that many bytes add in the place of the node, whose inputs go where nothing else reads them.
  int64_t AddedBy(const Node& node, uint64_t result_bytes) const {
    const Graph& graph = builder_.graph();
    int64_t given = 0, made = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!input.valid() || std::ranges::find(node.inputs, input) != node.inputs.begin() + static_cast<ptrdiff_t>(i))
        continue;
      if (static_cast<size_t>(std::ranges::count(node.inputs, input)) < uses_left_[input.index()]) continue;
      (made_here_[input.index()] ? made : given) += static_cast<int64_t>(graph.value(input).constant->bytes().size());
    }
    return std::max<int64_t>(0, static_cast<int64_t>(std::min<uint64_t>(result_bytes, INT64_MAX / 4)) - given) - made;
  }

  void Replace(NodeId id, std::vector<Tensor> results) {
    const std::vector<ValueId> inputs = builder_.graph().node(id).inputs, outputs = builder_.graph().node(id).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].valid()) continue;
      Value& value = builder_.value(outputs[i]);
      value.type = StaticType(results[i].type(), results[i].dims());
      value.constant = std::move(results[i]);
      value.producer = NodeId();
      made_here_[outputs[i].index()] = true;
    }
    builder_.RemoveNode(id);
    changed_ = true;
    for (const ValueId input : inputs) {
      // In a chain of a thousand nodes only the last result is kept.
      if (input.valid() && --uses_left_[input.index()] == 0 && made_here_[input.index()]) {
        builder_.value(input).constant.reset();
      }
    }
  }

  const PassContext& context_;
  GraphBuilder builder_;
  const std::shared_ptr<int64_t> added_;
  std::vector<size_t> uses_left_;  // by value: uses by nodes that are still there, and by the graph's outputs
  std::vector<bool> made_here_;    // by value
  bool changed_ = false;
};

}  // namespace

Result<std::optional<Graph>> FoldConstants(const Graph& graph, const PassContext& context) {
  return Folder(graph, context).Run();
}

}  // namespace pt
