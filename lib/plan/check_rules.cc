#include "lib/plan/check_rules.h"

#include "partitiontuner/graph/operators/axis.h"

namespace pt {
namespace {

bool IsDense(const Placement* placement) { return placement != nullptr && placement->strides.empty(); }

bool LiesOnItsInput(const RunGroup& group, const std::vector<const Placement*>& placements) {
  if (group.in.empty() || group.out.size() != 1) return false;
  const Placement* in = placements[group.in[0].index()];
  const Placement* out = placements[group.out[0].index()];
  return IsDense(in) && IsDense(out) && in->offset == out->offset && in->bytes == out->bytes;
}

// How many elements of a dim one position of its outer part stands for.
int64_t PositionSize(const Layout& layout, size_t dim) {
  int64_t size = 1;
  for (const Layout::Block& block : layout.blocks) size *= block.dim == dim ? block.size : 1;
  return size;
}

// One concatenation whose inputs may be parts of its result.
struct Joined {
  size_t axis = 0;
  TensorLayout whole;            // dense
  std::vector<int64_t> lengths;  // of the inputs along the axis
};

std::optional<Joined> JoinedBy(const Graph& graph, const Candidate& candidate) {
  if (candidate.nodes.size() != 1 || candidate.out.size() != 1) return std::nullopt;
  const Node& node = graph.node(candidate.nodes[0]);
  if (node.op != "Concat" || !node.domain.empty()) return std::nullopt;
  // A repeated or constant input is not an input of the candidate: nothing writes its part of the result.
  if (GroupInputs(graph, candidate.nodes) != node.inputs) return std::nullopt;
  const std::optional<std::vector<int64_t>> dims = graph.value(node.outputs[0]).type.static_dims();
  if (!dims || BytesOf(candidate.out[0].storage) <= 0) return std::nullopt;
  Joined joined;
  const Result<size_t> axis = ReadAxis(node, graph.opset(), dims->size());
  if (!axis.ok()) return std::nullopt;
  joined.axis = *axis;
  Result<TensorLayout> whole = DenseLayout(candidate.out[0].storage, *dims, candidate.out[0].layout);
  if (!whole.ok()) return std::nullopt;
  joined.whole = std::move(*whole);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::optional<std::vector<int64_t>> part = graph.value(node.inputs[i]).type.static_dims();
    if (!part || part->size() != dims->size() || candidate.in[i] != candidate.out[0]) return std::nullopt;
    joined.lengths.push_back((*part)[joined.axis]);
  }
  return joined;
}

// Each input begins where the whole holds its first element, has the whole's strides, and ends between two blocks.
bool LiesInItsInputs(const Graph& graph, const Candidate& candidate, const RunGroup& group,
                     const std::vector<const Placement*>& placements) {
  const std::optional<Joined> joined = JoinedBy(graph, candidate);
  const Placement* out = group.out.empty() ? nullptr : placements[group.out[0].index()];
  if (!joined || !IsDense(out)) return false;
  const int64_t position = PositionSize(joined->whole.layout, joined->axis);
  const int64_t position_bytes = joined->whole.strides[joined->axis] * BytesOf(joined->whole.type);
  int64_t start = 0;
  for (size_t i = 0; i < group.in.size(); ++i) {
    const Placement* in = placements[group.in[i].index()];
    if (in == nullptr || in->strides != joined->whole.strides || joined->lengths[i] % position != 0) return false;
    if (in->offset != out->offset + static_cast<uint64_t>(start / position * position_bytes)) return false;
    start += joined->lengths[i];
  }
  return start == joined->whole.dims[joined->axis];
}

}  // namespace

bool IsLent(const Graph& graph, const Plan& plan, const Instance& instance) {
  const Value& value = graph.value(instance.value);
  if (value.is_constant() || (value.producer.valid() && !value.is_graph_output)) return false;
  return instance.device == LentDevice(plan.lent_on, instance.value) &&
         instance.form == Form{RowMajor(instance.form.layout.order.size()), value.type.type};
}

bool HasRunTimeSize(const Graph& graph, const Instance& instance) {
  return !graph.value(instance.value).type.static_dims() || BitsOf(instance.form.storage) == 0;
}

bool IsGiven(const Graph& graph, const Plan& plan, const Instance& instance) {
  return !graph.value(instance.value).producer.valid() && IsLent(graph, plan, instance);
}

std::vector<Elided> ElisionsOf(const CheckedPlan& checked, const std::vector<const Placement*>& placements) {
  std::vector<Elided> elisions(checked.plan.steps.size(), Elided::kNo);
  for (size_t s = 0; s < elisions.size(); ++s) {
    const auto* group = std::get_if<RunGroup>(&checked.plan.steps[s].work);
    if (group == nullptr) continue;
    const Candidate& candidate = checked.candidate(*group);
    if (candidate.elision == Elision::kViewOfInput && LiesOnItsInput(*group, placements)) elisions[s] = Elided::kView;
    if (candidate.elision == Elision::kSlicesOfOutput &&
        LiesInItsInputs(checked.graph, candidate, *group, placements)) {
      elisions[s] = Elided::kSlices;
    }
  }
  return elisions;
}

}  // namespace pt
