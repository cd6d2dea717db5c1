#include "lib/backend/computation.h"

#include <algorithm>
#include <compare>
#include <utility>

#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

// Where what a computation has of its own lies in its memory: one piece behind the other.
class Pieces {
 public:
  // Of the next piece; kOutOfMemory where they do not fit 64 bits.
  Result<uint64_t> Take(uint64_t bytes) {
    const uint64_t at = end_;
    const std::optional<uint64_t> aligned = CheckedAlignUp(bytes, kTensorAlignment);
    if (!aligned || __builtin_add_overflow(end_, *aligned, &end_)) {
      return MakeError(ErrorCode::kOutOfMemory, "computation.memory", "what lies between kernels does not fit 64 bits");
    }
    return at;
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
};

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

// What a candidate costs beside its kernel: reorders, and tensors that are larger than their elements, where channels
// do not fill the blocks of a layout and the rest is computed in vain.
struct Detours {
  size_t reorders = 0;
  uint64_t bytes = 0;

  friend auto operator<=>(const Detours&, const Detours&) = default;
};

// nullopt where the library lacks one of the reorders.
std::optional<Detours> DetoursOf(const Graph& graph, const Platform& platform, const Library& library,
                                 const Candidate& candidate) {
  Detours detours;
  const auto can_reorder = [&](ValueId value, const Form& form, bool to_form) {
    const ValueType& type = graph.value(value).type;
    const Form plain = RowMajorForm(type);
    const std::optional<std::vector<int64_t>> dims = type.static_dims();
    if (dims) {
      const Result<TensorLayout> layout = DenseLayout(form.storage, *dims, form.layout);
      const Result<uint64_t> bytes = layout.ok() ? BytesOf(*layout) : Result<uint64_t>(layout.error());
      detours.bytes += bytes.ok() ? *bytes : 0;
    }
    if (form == plain) return true;
    ++detours.reorders;
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
  return detours;
}

bool Accumulates(const Candidate& candidate) {
  return std::ranges::any_of(candidate.aliases,
                             [](const Alias& alias) { return alias.kind == Alias::Kind::kRequired; });
}

}  // namespace

Result<uint64_t> Computation::memory_bytes() const {
  Pieces pieces;
  for (size_t i = inputs + outputs; i < tensors.size(); ++i) {
    PT_ASSIGN(const uint64_t bytes, BytesOf(tensors[i]));
    PT_CHECK_OK(pieces.Take(bytes));
  }
  for (const Part& part : parts) PT_CHECK_OK(pieces.Take(part.kernel->scratch_bytes()));
  return pieces.end();
}

Result<BoundComputation> BoundComputation::Make(const Computation& computation, TensorSlots in, TensorSlots out,
                                                std::span<std::byte> memory) {
  PT_ASSIGN(const uint64_t needed, computation.memory_bytes());
  if (memory.size() < needed) {
    return MakeError(ErrorCode::kInternal, "computation.memory", "kernels were bound to too little memory");
  }
  BoundComputation bound;
  Pieces pieces;
  std::vector<const TensorView*> slots(in.begin(), in.end());
  slots.insert(slots.end(), out.begin(), out.end());
  for (size_t i = slots.size(); i < computation.tensors.size(); ++i) {
    PT_ASSIGN(const uint64_t bytes, BytesOf(computation.tensors[i]));
    PT_ASSIGN(const uint64_t at, pieces.Take(bytes));
    void* const data = bytes == 0 ? nullptr : memory.data() + at;
    bound.between_.push_back(std::make_unique<TensorView>(TensorView{data, computation.tensors[i]}));
    slots.push_back(bound.between_.back().get());
  }
  const auto pick = [&](const std::vector<size_t>& tensors) {
    std::vector<const TensorView*> picked;
    for (const size_t tensor : tensors) picked.push_back(slots[tensor]);
    return picked;
  };
  for (const Computation::Part& part : computation.parts) {
    const uint64_t bytes = part.kernel->scratch_bytes();
    PT_ASSIGN(const uint64_t at, pieces.Take(bytes));
    PT_ASSIGN(std::unique_ptr<BoundKernel> kernel,
              part.kernel->Bind(pick(part.in), pick(part.out), memory.subspan(at, bytes)));
    bound.parts_.push_back(std::move(kernel));
  }
  return bound;
}

Status BoundComputation::Run(const RunContext& run) noexcept {
  for (const std::unique_ptr<BoundKernel>& part : parts_) PT_CHECK_OK(part->Enqueue(run));
  return {};
}

std::optional<Candidate> PlainestWay(const Graph& graph, const Platform& platform, const Library& library,
                                     std::span<const NodeId> nodes, UnitClassId unit_class,
                                     const std::function<bool(const Candidate&)>& fits) {
  std::optional<Candidate> best;
  Detours least;
  for (Candidate& way : library.CandidatesFor(graph, platform, nodes, Precision())) {
    if (way.unit_class != unit_class || way.math != MathMode::kFp32 || Accumulates(way) || !fits(way)) continue;
    const std::optional<Detours> detours = DetoursOf(graph, platform, library, way);
    if (!detours || (best && *detours >= least)) continue;
    least = *detours;
    best = std::move(way);
  }
  return best;
}

size_t AddTensor(TensorLayout layout, Computation& computation) {
  computation.tensors.push_back(std::move(layout));
  return computation.tensors.size() - 1;
}

Result<size_t> TensorOf(const Graph& graph, ValueId value, std::map<ValueId, size_t>& known, Computation& computation) {
  if (const auto at = known.find(value); at != known.end()) return at->second;
  const ValueType& type = graph.value(value).type;
  const std::optional<std::vector<int64_t>> dims = type.static_dims();
  if (!dims) {
    return MakeError(ErrorCode::kUnsupported, "computation.dynamic",
                     "the size of '" + graph.value(value).name + "' is not known");
  }
  PT_ASSIGN(TensorLayout layout, DenseLayout(type.type, *dims, RowMajor(dims->size())));
  return known[value] = AddTensor(std::move(layout), computation);
}

Status AddWay(const Graph& graph, const LibraryCandidate& way, std::vector<size_t> in, std::vector<size_t> out,
              CompileContext& context, Computation& computation) {
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

}  // namespace pt
