// The reference library: every operator it knows as one candidate per host unit class, all tensors row-major.
#include <algorithm>

#include "lib/backend/built_in.h"
#include "lib/backend/reference/element_copy.h"
#include "lib/backend/reference/kernel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/run_time_kernel.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/backend/nan.h"
#include "partitiontuner/graph/operators/axis.h"

namespace pt {
namespace {

using reference::PreparedNode;

// Raised when a kernel changes so that its old measurements no longer hold.
constexpr const char* kVersion = "1";

// Elementwise kernels read each element before they write it.
std::vector<Alias> InPlaceAliases(const Graph& graph, std::span<const ValueId> in, std::span<const ValueId> out) {
  std::vector<Alias> aliases;
  for (uint32_t i = 0; i < in.size() && out.size() == 1; ++i) {
    if (graph.value(in[i]).type == graph.value(out[0]).type) aliases.push_back({0, i, Alias::Kind::kAllowed});
  }
  return aliases;
}

// Inputs can be slices of the output only where no dim outside the joined one repeats.
bool JoinsOutermostDim(const Graph& graph, const Node& node) {
  const std::optional<std::vector<int64_t>> dims = graph.value(node.outputs[0]).type.static_dims();
  if (!dims) return false;
  const Result<size_t> axis = ReadAxis(node, graph.opset(), dims->size());
  return axis.ok() &&
         std::all_of(dims->begin(), dims->begin() + static_cast<ptrdiff_t>(*axis), [](int64_t d) { return d == 1; });
}

Elision ElisionOf(const Graph& graph, const Node& node, const reference::ReferenceRow& row, std::span<const ValueId> in,
                  std::span<const ValueId> out) {
  if (out.size() != 1 || in.empty()) return Elision::kNone;
  if (row.elision == Elision::kViewOfInput) return in.size() == 1 ? Elision::kViewOfInput : Elision::kNone;
  if (row.elision == Elision::kSlicesOfOutput) {
    // Every input once, none constant: else some part of the output has no producer to place there.
    const bool plain = in.size() == node.inputs.size() && BitsOf(graph.value(out[0]).type.type) >= 8;
    return plain && JoinsOutermostDim(graph, node) ? Elision::kSlicesOfOutput : Elision::kNone;
  }
  return Elision::kNone;
}

uint64_t ConstantBytes(const PreparedNode& prepared) {
  uint64_t bytes = 0;
  for (const reference::TensorFacts& operand : prepared.in) {
    if (operand.constant) bytes += operand.constant->bytes().size();
  }
  return bytes;
}

class ReferenceLibrary final : public Library, public TellsOfNan {
 public:
  std::string_view name() const override { return "reference"; }
  std::string version() const override { return kVersion; }
  bool Serves(const Platform&, DeviceId device) const override { return IsHost(device); }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision&) const override {
    if (nodes.size() != 1) return {};
    const NodeId id = nodes[0];
    const std::vector<ValueId> in = GroupInputs(graph, {&id, 1}), out = GroupOutputs(graph, {&id, 1});
    Candidate candidate = RowMajorCandidate(graph, {&id, 1}, name());
    if (reference::IsPreparedInRun(graph, id)) {
      // Nothing can be promised about memory whose size is not known.
      if (!reference::CheckForRunTime(graph, id).ok()) return {};
    } else {
      const Result<PreparedNode> prepared = reference::Prepare(graph, id, nullptr);
      if (!prepared.ok()) return {};
      if (prepared->row->in_place) candidate.aliases = InPlaceAliases(graph, in, out);
      candidate.elision = ElisionOf(graph, graph.node(id), *prepared->row, in, out);
      candidate.scratch_bytes = reference::DenseScratchBytes(*prepared);
      candidate.constant_bytes = ConstantBytes(*prepared);
    }
    std::vector<Candidate> candidates;
    for (uint32_t c = 0; c < platform.unit_classes.size(); ++c) {
      if (!platform.unit_classes[c].on_host()) continue;
      candidate.unit_class = UnitClassId(c);
      candidates.push_back(candidate);
    }
    return candidates;
  }

  bool KeepsNan(const Graph&, const Candidate&) const override { return true; }  // it is the definition
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    if (reference::IsPreparedInRun(graph, node)) {
      const Status possible = reference::CheckForRunTime(graph, node);
      return possible.ok() ? std::nullopt : std::optional(possible.error().message);
    }
    const Result<PreparedNode> prepared = reference::Prepare(graph, node, nullptr);
    return prepared.ok() ? std::nullopt : std::optional(prepared.error().message);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    if (candidate.nodes.size() != 1) {
      return MakeError(ErrorCode::kUnsupported, "reference.group", "the reference library runs single nodes only");
    }
    return reference::CompileNode(graph, candidate.nodes[0], in, out, context);
  }

  bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t>, const Form& from,
                  const Form& to) const override {
    return platform.unit_class(unit_class).on_host() && from.quantisation == to.quantisation &&
           reference::ElementCopy::CanConvert(from.storage, to.storage);
  }

  Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                 CompileContext&) const override {
    return reference::CompileElementCopy(from, to);
  }
};

}  // namespace

std::unique_ptr<Library> MakeReferenceLibrary() { return std::make_unique<ReferenceLibrary>(); }

Backend ReferenceBackend() {
  return {"reference",
          {},
          {{"reference", "plain kernels for every operator, the oracle of all others", MakeReferenceLibrary}}};
}

}  // namespace pt
