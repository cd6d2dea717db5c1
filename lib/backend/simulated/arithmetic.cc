#include "lib/backend/simulated/arithmetic.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/backend/simulated/rounding.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"

namespace pt {
namespace {

// Whatever the plan places in place by the reference's word must be safe here too.
bool AllowsInPlace(const Candidate& candidate, const Candidate& reference) {
  return std::ranges::all_of(reference.aliases, [&](const Alias& alias) {
    return std::ranges::find(candidate.aliases, alias) != candidate.aliases.end();
  });
}

}  // namespace

UnitClassId ComputingClass(const Platform& platform) {
  UnitClassId narrowest;
  for (size_t i = 0; i < platform.unit_classes.size(); ++i) {
    const UnitClass& unit_class = platform.unit_classes[i];
    if (!unit_class.on_host()) continue;
    if (!narrowest.valid() || unit_class.cores < platform.unit_class(narrowest).cores) narrowest = UnitClassId(i);
  }
  return narrowest;
}

Arithmetic::Arithmetic() : reference_(MakeReferenceLibrary()), host_(MakeHostDriver(kHostDevice)) {}

// Made when the first kernel is: machines without simulated devices make this library too.
std::span<const std::unique_ptr<Library>> Arithmetic::fast() const {
  std::call_once(made_fast_, [&] {
    for (const LibraryRow& row : BuiltInLibraries()) {
      if (row.name != "simulated" && row.name != reference_->name()) fast_.push_back(row.make());
    }
  });
  return fast_;
}

std::optional<Candidate> Arithmetic::OnHost(const Graph& graph, const Platform& platform, NodeId node) const {
  const UnitClassId host = ComputingClass(platform);
  for (Candidate& candidate : reference_->CandidatesFor(graph, platform, std::span(&node, 1), Precision())) {
    if (candidate.unit_class == host) return std::move(candidate);
  }
  return std::nullopt;
}

Result<LibraryCandidate> Arithmetic::FindWay(const Graph& graph, const Platform& platform, NodeId node) const {
  std::optional<Candidate> reference = OnHost(graph, platform, node);
  if (!reference) {
    return MakeError(ErrorCode::kUnsupported, "simulated.node",
                     "the reference library cannot run " + NodeLabel(graph, node));
  }
  // Kernels for several cores may wait for each other; here is one.
  if (platform.unit_class(reference->unit_class).cores == 1) {
    for (const std::unique_ptr<Library>& library : fast()) {
      if (!library->Serves(platform, kHostDevice)) continue;
      std::optional<Candidate> best = PlainestWay(
          graph, platform, *library, reference->nodes, reference->unit_class,
          [&](const Candidate& way) { return way.math == reference->math && AllowsInPlace(way, *reference); });
      if (best) return LibraryCandidate{library.get(), *std::move(best)};
    }
  }
  return LibraryCandidate{reference_.get(), *std::move(reference)};
}

Result<Computation> Arithmetic::Compile(const Graph& graph, std::span<const NodeId> nodes, MathMode mode,
                                        std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                        const CompileContext& context) const {
  CompileContext host{context.platform, *host_, context.team, context.weights, context.subgraphs};
  Computation computation;
  if (!Rounds(mode)) {
    PT_CHECK_OK(AddGroup(graph, nodes, mode, in, out, host, computation));
    return computation;
  }
  PT_ASSIGN(const Graph group, RoundedGroup(graph, nodes, mode));
  std::vector<NodeId> all(group.nodes().size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = NodeId(i);
  PT_CHECK_OK(AddGroup(group, all, mode, in, out, host, computation));
  return computation;
}

Status Arithmetic::AddGroup(const Graph& graph, std::span<const NodeId> nodes, MathMode mode,
                            std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                            CompileContext& context, Computation& computation) const {
  std::map<ValueId, size_t> known;
  const std::vector<ValueId> inputs = GroupInputs(graph, nodes), outputs = GroupOutputs(graph, nodes);
  for (size_t i = 0; i < inputs.size(); ++i) known[inputs[i]] = AddTensor(in[i], computation);
  for (size_t i = 0; i < outputs.size(); ++i) known[outputs[i]] = AddTensor(out[i], computation);
  computation.inputs = inputs.size();
  computation.outputs = outputs.size();
  const auto rounds = [&](ValueId value) { return Rounds(mode) && graph.value(value).type.type == DataType::kFloat32; };
  for (const ValueId input : inputs) {
    if (!rounds(input)) continue;
    const size_t given = std::exchange(known[input], 0);
    PT_ASSIGN(TensorLayout layout, DenseLayout(DataType::kFloat32, computation.tensors[given].dims,
                                               RowMajor(computation.tensors[given].dims.size())));
    known[input] = AddTensor(std::move(layout), computation);
    computation.parts.push_back({MakeRoundingKernel(mode), {given}, {known[input]}});
  }
  for (const NodeId node : nodes) {
    std::vector<size_t> node_in, node_out, rounded;
    for (const ValueId value : GroupInputs(graph, {&node, 1})) {
      PT_ASSIGN(const size_t tensor, TensorOf(graph, value, known, computation));
      node_in.push_back(tensor);
    }
    for (const ValueId value : GroupOutputs(graph, {&node, 1})) {
      PT_ASSIGN(const size_t tensor, TensorOf(graph, value, known, computation));
      node_out.push_back(tensor);
      if (rounds(value)) rounded.push_back(tensor);
    }
    PT_ASSIGN(const LibraryCandidate way, FindWay(graph, context.platform, node));
    PT_CHECK_OK(AddWay(graph, way, std::move(node_in), std::move(node_out), context, computation));
    for (const size_t tensor : rounded) computation.parts.push_back({MakeRoundingKernel(mode), {tensor}, {tensor}});
  }
  return {};
}

}  // namespace pt
