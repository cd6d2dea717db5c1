// What the data of a plan means where PlanMemory, the timeline and the executor must agree: externals, slices, elided
// steps. The checker has rules of its own.
#include <algorithm>

#include "lib/plan/work.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/plan/memory_plan.h"
#include "partitiontuner/plan/timeline.h"

namespace pt {
namespace {

// Elements that one step along `dim`'s outer part spans: the product of its blocks.
int64_t BlockOf(const Layout& layout, size_t dim) {
  int64_t size = 1;
  for (const Layout::Block& block : layout.blocks) {
    if (block.dim == dim) size *= block.size;
  }
  return size;
}

bool IsViewInPlace(const RunGroup& group, const std::vector<const Placement*>& placements) {
  if (group.in.empty() || group.out.size() != 1) return false;
  const Placement* in = placements[group.in[0].index()];
  const Placement* out = placements[group.out[0].index()];
  return in != nullptr && out != nullptr && in->offset == out->offset && in->bytes == out->bytes &&
         in->strides.empty() && out->strides.empty();
}

bool IsConcatInPlace(const Graph& graph, const Candidate& candidate, const RunGroup& group,
                     const std::vector<const Placement*>& placements) {
  const std::optional<ConcatSlices> slices = SlicesOf(graph, candidate);
  if (!slices || slices->offsets.size() != group.in.size() || group.out.size() != 1) return false;
  const Placement* out = placements[group.out[0].index()];
  if (out == nullptr || !out->strides.empty()) return false;
  const auto element_bytes = static_cast<uint64_t>(BytesOf(candidate.out[0].storage));
  for (size_t i = 0; i < group.in.size(); ++i) {
    const Placement* in = placements[group.in[i].index()];
    if (in == nullptr || in->strides != slices->strides) return false;
    if (in->offset != out->offset + static_cast<uint64_t>(slices->offsets[i]) * element_bytes) return false;
  }
  return true;
}

}  // namespace

bool IsExternal(const Graph& graph, const LentOn& lent_on, const Instance& instance) {
  const Value& value = graph.value(instance.value);
  const bool graph_input = !value.producer.valid() && !value.is_constant();
  const bool graph_output = value.producer.valid() && value.is_graph_output;
  return (graph_input || graph_output) && instance.device == LentDevice(lent_on, instance.value) &&
         instance.form.layout.is_row_major() && instance.form.storage == value.type.type;
}

bool IsDynamic(const Graph& graph, const Instance& instance) {
  return !graph.value(instance.value).type.is_static() || BitsOf(instance.form.storage) == 0;
}

Result<uint64_t> InstanceBytes(const Graph& graph, const Instance& instance) {
  const Value& value = graph.value(instance.value);
  std::optional<std::vector<int64_t>> dims = value.type.static_dims();
  if (!dims || BitsOf(instance.form.storage) == 0) {
    return MakeError(ErrorCode::kUnsupported, "plan.dynamic",
                     "value '" + value.name + "' (" + ToString(value.type) + ") has no size before a run");
  }
  PT_ASSIGN(const TensorLayout dense, DenseLayout(instance.form.storage, std::move(*dims), instance.form.layout));
  return BytesOf(dense);
}

std::optional<ConcatSlices> SlicesOf(const Graph& graph, const Candidate& candidate) {
  if (candidate.elision != Elision::kSlicesOfOutput || candidate.nodes.size() != 1 || candidate.out.size() != 1) {
    return std::nullopt;
  }
  const Node& node = graph.node(candidate.nodes[0]);
  // Constants and repeats are not inputs of the candidate, and cannot be slices.
  if (node.op != "Concat" || !node.domain.empty() || node.inputs.size() != candidate.in.size()) return std::nullopt;
  const Form& form = candidate.out[0];
  if (BytesOf(form.storage) <= 0) return std::nullopt;
  std::optional<std::vector<int64_t>> out_dims = graph.value(node.outputs[0]).type.static_dims();
  if (!out_dims || out_dims->empty()) return std::nullopt;
  const Result<size_t> joined = ReadAxis(node, graph.opset(), out_dims->size());
  if (!joined.ok()) return std::nullopt;
  const size_t axis = *joined;
  const Result<TensorLayout> dense = DenseLayout(form.storage, std::move(*out_dims), form.layout);
  if (!dense.ok()) return std::nullopt;

  ConcatSlices slices;
  slices.strides = dense->strides;
  const int64_t block = BlockOf(form.layout, axis);
  int64_t start = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::optional<std::vector<int64_t>> dims = graph.value(node.inputs[i]).type.static_dims();
    if (candidate.in[i] != form || !dims || dims->size() != dense->dims.size()) return std::nullopt;
    if ((*dims)[axis] % block != 0) return std::nullopt;
    slices.offsets.push_back(start / block * slices.strides[axis]);
    start += (*dims)[axis];
  }
  return start == dense->dims[axis] ? std::optional(std::move(slices)) : std::nullopt;
}

std::vector<bool> ElidedSteps(const Graph& graph, const Plan& plan) {
  std::vector<bool> elided(plan.steps.size(), false);
  const std::vector<const Placement*> placements = PlacementsOf(plan);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto* group = std::get_if<RunGroup>(&plan.steps[s].work);
    if (group == nullptr) continue;
    const Candidate& candidate = plan.candidates[group->candidate.index()];
    if (candidate.elision == Elision::kViewOfInput) {
      elided[s] = IsViewInPlace(*group, placements);
    } else if (candidate.elision == Elision::kSlicesOfOutput) {
      elided[s] = IsConcatInPlace(graph, candidate, *group, placements);
    }
  }
  return elided;
}

}  // namespace pt
