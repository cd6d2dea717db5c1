#include "lib/backend/simulated/arithmetic.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/backend/simulated/rounding.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"

namespace pt {

struct Arithmetic::Way {
  const Library* library = nullptr;
  Candidate candidate;
};

namespace {

// Row-major tensors are turned into the candidate's forms and back where it has others.
std::optional<size_t> ReordersOf(const Graph& graph, const Platform& platform, const Library& library,
                                 const Candidate& candidate) {
  size_t count = 0;
  const auto can_reorder = [&](ValueId value, const Form& form, bool to_form) {
    const ValueType& type = graph.value(value).type;
    const Form plain = RowMajorForm(type);
    if (form == plain) return true;
    ++count;
    const std::optional<std::vector<int64_t>> dims = type.static_dims();
    return dims && form.storage == plain.storage && !form.quantisation.valid() &&
           library.CanReorder(platform, candidate.unit_class, *dims, to_form ? plain : form, to_form ? form : plain);
  };
  const std::vector<ValueId> in = GroupInputs(graph, candidate.nodes), out = GroupOutputs(graph, candidate.nodes);
  for (size_t i = 0; i < in.size(); ++i) {
    if (!can_reorder(in[i], candidate.in[i], true)) return std::nullopt;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!can_reorder(out[i], candidate.out[i], false)) return std::nullopt;
  }
  return count;
}

// Whatever the plan places in place by the reference's word must be safe here too.
bool AllowsInPlace(const Candidate& candidate, const Candidate& reference) {
  return std::ranges::all_of(reference.aliases, [&](const Alias& alias) {
    return std::ranges::find(candidate.aliases, alias) != candidate.aliases.end();
  });
}

bool Accumulates(const Candidate& candidate) {
  return std::ranges::any_of(candidate.aliases,
                             [](const Alias& alias) { return alias.kind == Alias::Kind::kRequired; });
}

// The one of the library's ways that needs the fewest reorders.
std::optional<Candidate> BestOf(const Graph& graph, const Platform& platform, const Library& library,
                                const Candidate& reference) {
  std::optional<Candidate> best;
  size_t fewest = 0;
  for (Candidate& way : library.CandidatesFor(graph, platform, reference.nodes, Precision())) {
    if (way.unit_class != reference.unit_class || way.math != reference.math || Accumulates(way)) continue;
    if (!AllowsInPlace(way, reference)) continue;
    const std::optional<size_t> reorders = ReordersOf(graph, platform, library, way);
    if (!reorders || (best && *reorders >= fewest)) continue;
    fewest = *reorders;
    best = std::move(way);
  }
  return best;
}

size_t AddTensor(TensorLayout layout, Computation& computation) {
  computation.tensors.push_back(std::move(layout));
  return computation.tensors.size() - 1;
}

// The tensor of a value that lies between the nodes; made row-major when it is met first.
Result<size_t> TensorOf(const Graph& graph, ValueId value, std::map<ValueId, size_t>& known, Computation& computation) {
  if (const auto at = known.find(value); at != known.end()) return at->second;
  const ValueType& type = graph.value(value).type;
  const std::optional<std::vector<int64_t>> dims = type.static_dims();
  if (!dims) {
    return MakeError(ErrorCode::kUnsupported, "simulated.dynamic",
                     "the size of '" + graph.value(value).name + "' is not known");
  }
  PT_ASSIGN(TensorLayout layout, DenseLayout(type.type, *dims, RowMajor(dims->size())));
  return known[value] = AddTensor(std::move(layout), computation);
}

std::vector<TensorLayout> LayoutsOf(const Computation& computation, std::span<const size_t> tensors) {
  std::vector<TensorLayout> layouts;
  for (const size_t tensor : tensors) layouts.push_back(computation.tensors[tensor]);
  return layouts;
}

// A tensor like this one in the layout of that form.
Result<size_t> AddReordered(size_t tensor, const Form& form, Computation& computation) {
  const TensorLayout& plain = computation.tensors[tensor];
  PT_ASSIGN(TensorLayout layout, DenseLayout(form.storage, plain.dims, form.layout));
  return AddTensor(std::move(layout), computation);
}

Status AddReorder(const Library& library, size_t from, size_t to, CompileContext& context, Computation& computation) {
  PT_ASSIGN(std::unique_ptr<Kernel> reorder,
            library.CompileReorder(computation.tensors[from], computation.tensors[to], context));
  computation.parts.push_back({std::move(reorder), {from}, {to}});
  return {};
}

bool IsInForm(const Computation& computation, size_t tensor, const Form& form) {
  return computation.tensors[tensor].layout == form.layout;
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

Result<Arithmetic::Way> Arithmetic::FindWay(const Graph& graph, const Platform& platform, NodeId node) const {
  std::optional<Candidate> reference = OnHost(graph, platform, node);
  if (!reference) {
    return MakeError(ErrorCode::kUnsupported, "simulated.node",
                     "the reference library cannot run " + NodeLabel(graph, node));
  }
  // Kernels for several cores may wait for each other; here is one.
  if (platform.unit_class(reference->unit_class).cores == 1) {
    for (const std::unique_ptr<Library>& library : fast()) {
      if (!library->Serves(platform, kHostDevice)) continue;
      std::optional<Candidate> best = BestOf(graph, platform, *library, *reference);
      if (best) return Way{library.get(), *std::move(best)};
    }
  }
  return Way{reference_.get(), *std::move(reference)};
}

Status Arithmetic::AddNode(const Graph& graph, const Way& way, std::vector<size_t> in, std::vector<size_t> out,
                           CompileContext& context, Computation& computation) const {
  for (size_t i = 0; i < in.size(); ++i) {
    if (IsInForm(computation, in[i], way.candidate.in[i])) continue;
    PT_ASSIGN(const size_t reordered, AddReordered(in[i], way.candidate.in[i], computation));
    PT_CHECK_OK(AddReorder(*way.library, in[i], reordered, context, computation));
    in[i] = reordered;
  }
  std::vector<std::pair<size_t, size_t>> back;
  for (size_t i = 0; i < out.size(); ++i) {
    if (IsInForm(computation, out[i], way.candidate.out[i])) continue;
    PT_ASSIGN(const size_t reordered, AddReordered(out[i], way.candidate.out[i], computation));
    back.emplace_back(reordered, std::exchange(out[i], reordered));
  }
  PT_ASSIGN(std::unique_ptr<Kernel> kernel, way.library->Compile(graph, way.candidate, LayoutsOf(computation, in),
                                                                 LayoutsOf(computation, out), context));
  computation.parts.push_back({std::move(kernel), std::move(in), std::move(out)});
  for (const auto& [from, to] : back) PT_CHECK_OK(AddReorder(*way.library, from, to, context, computation));
  return {};
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
    PT_ASSIGN(const Way way, FindWay(graph, context.platform, node));
    PT_CHECK_OK(AddNode(graph, way, std::move(node_in), std::move(node_out), context, computation));
    for (const size_t tensor : rounded) computation.parts.push_back({MakeRoundingKernel(mode), {tensor}, {tensor}});
  }
  return {};
}

Result<BoundComputation> BoundComputation::Make(const Computation& computation, TensorSlots in, TensorSlots out) {
  BoundComputation bound;
  const auto allocate = [&](uint64_t bytes) -> Result<std::span<std::byte>> {
    PT_ASSIGN(AlignedBytes memory, AllocateAligned(bytes));
    bound.memory_.push_back(std::move(memory));
    return bound.memory_.back().bytes;
  };
  std::vector<const TensorView*> slots(in.begin(), in.end());
  slots.insert(slots.end(), out.begin(), out.end());
  for (size_t i = slots.size(); i < computation.tensors.size(); ++i) {
    PT_ASSIGN(const uint64_t bytes, BytesOf(computation.tensors[i]));
    PT_ASSIGN(const std::span<std::byte> data, allocate(bytes));
    bound.between_.push_back(std::make_unique<TensorView>(TensorView{data.data(), computation.tensors[i]}));
    slots.push_back(bound.between_.back().get());
  }
  const auto pick = [&](const std::vector<size_t>& tensors) {
    std::vector<const TensorView*> picked;
    for (const size_t tensor : tensors) picked.push_back(slots[tensor]);
    return picked;
  };
  for (const Computation::Part& part : computation.parts) {
    PT_ASSIGN(const std::span<std::byte> scratch, allocate(part.kernel->scratch_bytes()));
    PT_ASSIGN(std::unique_ptr<BoundKernel> kernel, part.kernel->Bind(pick(part.in), pick(part.out), scratch));
    bound.parts_.push_back(std::move(kernel));
  }
  return bound;
}

Status BoundComputation::Run(const RunContext& run) noexcept {
  for (const std::unique_ptr<BoundKernel>& part : parts_) PT_CHECK_OK(part->Enqueue(run));
  return {};
}

}  // namespace pt
