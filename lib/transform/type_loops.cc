// Sizes of what a Loop carries: inference leaves them open, since a value may have other dims after each trip. Where it
// has not, by induction: given dims in, the body gives the same dims out. Of what it collects: as many as there are
// trips, where their number is known.
#include <algorithm>

#include "lib/transform/bodies.h"
#include "lib/transform/pass_list.h"

namespace pt {
namespace {

bool IsSized(const ValueType& type) { return type.is_static() && type.type != DataType::kString; }

// Nothing that the old type says is denied by the new one.
bool Refines(const ValueType& now, const ValueType& old) {
  if (!old.other.empty() || (old.type != DataType::kUndefined && old.type != now.type)) return false;
  if (!old.ranked) return true;
  return std::ranges::equal(old.dims, now.dims,
                            [](const Dim& was, const Dim& is) { return !was.known() || was.value == is.value; });
}

class LoopTyper {
 public:
  LoopTyper(GraphBuilder& builder, NodeId id, const PassContext& context)
      : builder_(builder), id_(id), context_(context), body_(*builder.graph().node(id).subgraphs[0].graph) {}

  Result<bool> Run() {
    const Node& node = builder_.graph().node(id_);
    const size_t carried = node.formal_inputs - 2;
    if (body_.inputs().size() != carried + 2 || body_.outputs().size() < carried + 1) return false;
    std::vector<size_t> open;
    for (size_t i = 0; i < carried; ++i) {
      const ValueType& given = TypeOutside(i);
      const ValueType& inside = body_.value(body_.inputs()[2 + i]).type;
      if (IsSized(given) && !IsSized(inside) && Refines(given, inside)) open.push_back(i);
    }
    PT_ASSIGN(bool changed, TypeBody(std::move(open)));
    for (size_t i = 0; i < carried; ++i) changed |= TypeResult(i);
    const std::optional<int64_t> trips = ConstantTrips(builder_.graph(), builder_.graph().node(id_));
    for (size_t i = carried; trips && *trips >= 0 && i + 1 < body_.outputs().size(); ++i) {
      changed |= TypeCollected(i, *trips);
    }
    return changed;
  }

 private:
  const ValueType& TypeOutside(size_t i) const {
    const ValueId initial = builder_.graph().node(id_).inputs[2 + i];
    static const ValueType kUnknown;
    return initial.valid() ? builder_.graph().value(initial).type : kUnknown;
  }

  // Of the values that may have the dims they are given outside, those that keep them together.
  Result<bool> TypeBody(std::vector<size_t> open) {
    while (!open.empty()) {
      GraphBuilder typed(body_);
      for (const size_t i : open) typed.value(body_.inputs()[2 + i]).type = TypeOutside(i);
      PT_ASSIGN(Graph body, typed.Build());
      PT_ASSIGN(body, context_.infer_types(body));
      const size_t removed = std::erase_if(open, [&](size_t i) {
        return body.value(body.outputs()[1 + i]).type != body.value(body.inputs()[2 + i]).type;
      });
      if (removed > 0) continue;
      body_ = std::move(body);
      builder_.node(id_).subgraphs[0].graph = std::make_shared<const Graph>(body_);
      return true;
    }
    return false;
  }

  bool TypeResult(size_t i) {
    const Node& node = builder_.graph().node(id_);
    if (i >= node.outputs.size() || !node.outputs[i].valid()) return false;
    const ValueType& in = body_.value(body_.inputs()[2 + i]).type;
    ValueType& result = builder_.value(node.outputs[i]).type;
    if (!IsSized(in) || in != TypeOutside(i) || in != body_.value(body_.outputs()[1 + i]).type) return false;
    return Refine(result, in);
  }

  bool TypeCollected(size_t i, int64_t trips) {
    const Node& node = builder_.graph().node(id_);
    const ValueType& part = body_.value(body_.outputs()[1 + i]).type;
    if (i >= node.outputs.size() || !node.outputs[i].valid() || !IsSized(part)) return false;
    std::vector<int64_t> dims = *part.static_dims();
    dims.insert(dims.begin(), trips);
    // A loop that may go on for ever has no size to plan with: the run's limit of memory ends it.
    const Result<int64_t> bytes = TensorByteCount(part.type, dims);
    const uint64_t most = context_.limits.tensor_bytes;
    if (!bytes.ok() || (most != 0 && static_cast<uint64_t>(*bytes) > most)) return false;
    return Refine(builder_.value(node.outputs[i]).type, StaticType(part.type, std::move(dims)));
  }

  static bool Refine(ValueType& old, const ValueType& now) {
    if (IsSized(old) || !Refines(now, old)) return false;
    old = now;
    return true;
  }

  GraphBuilder& builder_;
  const NodeId id_;
  const PassContext& context_;
  Graph body_;
};

}  // namespace

Result<std::optional<Graph>> TypeLoops(const Graph& graph, const PassContext& context) {
  GraphBuilder builder(graph);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!IsOp(node, "Loop") || node.formal_inputs < 2 || node.subgraphs.size() != 1) continue;
    PT_ASSIGN(const bool now, LoopTyper(builder, NodeId(n), context).Run());
    changed |= now;
  }
  if (!changed) return {std::nullopt};
  PT_ASSIGN(Graph typed, builder.Build());
  return {std::optional<Graph>(std::move(typed))};
}

}  // namespace pt
