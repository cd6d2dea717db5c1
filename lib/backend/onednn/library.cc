#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "lib/backend/built_in.h"
#include "lib/backend/math_modes.h"
#include "lib/backend/onednn/family.h"
#include "lib/backend/onednn/kernel.h"
#include "lib/backend/onednn/nan.h"
#include "lib/backend/onednn/proposals.h"
#include "lib/backend/onednn/team_pool.h"
#include "lib/backend/onednn/winograd.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/backend/nan.h"
#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/platform/discover.h"

namespace pt {
namespace onednn {
namespace {

constexpr std::string_view kName = "onednn";

// What is known of a group in one layout on one width, without its primitive.
struct Outcome {
  bool possible = false, slow = false, moves_only = false;
  uint64_t scratch_bytes = 0, constant_bytes = 0;
  int32_t accumulates_into = -1;
  std::vector<uint32_t> in_place;
};

// Asking oneDNN costs up to a millisecond, and networks repeat themselves.
class OutcomeMemo {
 public:
  template <typename Ask>
  Outcome Get(const std::string& key, const Ask& ask) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = known_.find(key); at != known_.end()) return at->second;
    }
    Outcome outcome = ask();
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kMost) known_.clear();
    return known_.emplace(key, std::move(outcome)).first->second;
  }

 private:
  static constexpr size_t kMost = 20000;
  std::mutex mutex_;
  std::unordered_map<std::string, Outcome> known_;
};

Result<TensorLayout> DenseOf(const Graph& graph, ValueId value, const Form& form) {
  return DenseLayout(form.storage, DimsOf(graph, value), form.layout);
}

// What all candidates of a group have in common.
struct Subject {
  Subject(const Graph& graph, const FusionGroup& group)
      : group(group),
        inputs(GroupInputs(graph, group.nodes)),
        outputs(GroupOutputs(graph, group.nodes)),
        signature(WorkSignature(graph, group.nodes)) {}
  const FusionGroup& group;
  std::vector<ValueId> inputs, outputs;
  std::string signature;
};

// Its inputs may be placed as slices of the result only where such slices are contiguous: oneDNN
// writes few other strided formats.
bool MakesContiguousSlices(const Graph& graph, const FusionGroup& group, const Layout& layout) {
  const Node& node = graph.node(group.anchor);
  const Dims dims = DimsOf(graph, group.result);
  const Result<size_t> axis = ReadAxis(node, graph.opset(), dims.size());
  if (!axis.ok()) return false;
  for (uint8_t dim : layout.order) {
    if (dim == *axis) break;
    if (dims[dim] != 1) return false;
  }
  for (const Layout::Block& block : layout.blocks) {
    if (block.dim != *axis) continue;
    for (ValueId input : node.inputs) {
      if (DimsOf(graph, input)[block.dim] % block.size != 0) return false;
    }
  }
  return true;
}

// A product on integers that quantises what it makes and waits for nothing beyond its own operands.
std::optional<FusionGroup> QuantisedProduct(const Graph& graph, const FusionGroup& group) {
  if (!group.anchor.valid() || !IsProduct(graph.node(group.anchor))) return std::nullopt;
  auto whole = WithIntegers(graph, group);
  const auto waits = [](const Pointwise& op) { return op.operand.value.valid() && !op.operand.constant; };
  if (!whole || !whole->writes || std::ranges::any_of(whole->ops, waits)) return std::nullopt;
  return whole;
}

// Every natural group, taken on integers first where it can be. Where that is offered, products and groups of several
// nodes are not offered on real numbers as well: they would be dequantised first, weights included. Nor is any part of
// a quantised product offered: it would make four times the bytes to be read again by the rest.
template <typename Offer>
void OfferNaturalGroups(const Graph& graph, const std::vector<Candidate>& candidates, const Offer& offer) {
  const std::vector<FusionGroup> groups = NaturalGroups(graph);
  std::set<NodeId> quantised;
  for (const FusionGroup& group : groups) {
    const size_t before = candidates.size();
    const auto whole = QuantisedProduct(graph, group);
    if (whole) offer(*whole);
    if (candidates.size() > before) quantised.insert(group.anchor);
  }
  for (const FusionGroup& group : groups) {
    if (quantised.contains(group.anchor)) continue;
    const size_t before = candidates.size();
    const auto whole = group.is_conversion() ? std::nullopt : WithIntegers(graph, group);
    if (whole) offer(*whole);
    const bool product = group.anchor.valid() && IsProduct(graph.node(group.anchor));
    if (product && candidates.size() == before) {
      if (const auto real = WithRealWeights(graph, group)) offer(*real);
    }
    if (candidates.size() == before || (group.nodes.size() == 1 && !product)) offer(group);
  }
}

class OneDnnLibrary final : public Library, public TellsOfNan {
 public:
  OneDnnLibrary() : foreign_threads_(StopForeignThreads()), engine_(dnnl::engine::kind::cpu, 0) {}

  std::string_view name() const override { return kName; }
  std::string version() const override {
    const dnnl_version_t* v = dnnl_version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }
  // oneDNN says what the processor it runs on can do, so it cannot speak for a host with other instruction sets. A
  // platform that says nothing of them is taken to be this machine's.
  Precision Modes(const Platform& platform) const override;
  bool Serves(const Platform& platform, DeviceId device) const override {
    const std::string& isa = platform.device(device).isa;
    return IsHost(device) && (isa.empty() || isa == isa_);
  }

  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override;
  std::vector<Candidate> AgnosticCandidates(const Graph& graph, const Platform& platform,
                                            std::span<const Candidate> so_far) const override;
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override;
  Result<Candidate> Describe(const Graph& graph, const Platform& platform, const Candidate& asked) const override;
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override;
  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override;
  bool KeepsNan(const Graph& graph, const Candidate& candidate) const override;
  bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims, const Form& from,
                  const Form& to) const override;
  Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                 CompileContext& context) const override;

 private:
  std::vector<UnitClassId> Classes(const Platform& platform) const;
  Outcome Ask(const Graph& graph, const Subject& subject, std::span<const Form> forms, const Proposal& proposal,
              uint32_t width) const;
  // The candidate of a proposal on a unit class; nullopt when oneDNN cannot do it.
  struct Offered {
    Candidate candidate;
    bool slow = false;
  };
  std::optional<Offered> Make(const Graph& graph, const Platform& platform, const Subject& subject,
                              const Proposal& proposal, UnitClassId unit_class) const;
  // Candidates for the proposals that oneDNN can do well, or, where it can do none well, for those
  // it can do at all.
  void Offer(const Graph& graph, const Platform& platform, const FusionGroup& group,
             std::span<const Proposal> proposals, std::vector<Candidate>& candidates) const;
  // Row-major or proposed by the group itself.
  void OfferFirst(const Graph& graph, const Platform& platform, const FusionGroup& group, const Precision& precision,
                  std::vector<Candidate>& candidates) const;
  Result<KernelDescriptor> ReorderDescriptor(const TensorLayout& from, const TensorLayout& to) const;

  ForeignThreadsStopped foreign_threads_;
  dnnl::engine engine_;
  const std::string isa_ = HostInstructionSets();
  mutable OutcomeMemo memo_;
};

Precision OneDnnLibrary::Modes(const Platform& platform) const {
  return ModesWithInstructions(platform, Classes(platform));
}

std::vector<UnitClassId> OneDnnLibrary::Classes(const Platform& platform) const {
  std::vector<UnitClassId> classes;
  for (uint32_t i = 0; i < platform.unit_classes.size(); ++i) {
    const UnitClass& unit_class = platform.unit_classes[i];
    if (Serves(platform, unit_class.device)) classes.push_back(UnitClassId(i));
  }
  return classes;
}

Outcome OneDnnLibrary::Ask(const Graph& graph, const Subject& subject, std::span<const Form> forms,
                           const Proposal& proposal, uint32_t width) const {
  std::vector<TensorLayout> in, out;
  for (size_t i = 0; i < subject.inputs.size(); ++i) {
    auto tensor = DenseOf(graph, subject.inputs[i], forms[i]);
    if (!tensor.ok()) return {};
    in.push_back(std::move(*tensor));
  }
  for (const ValueId output : subject.outputs) {
    auto tensor = DenseOf(graph, output, OutputForm(graph, subject.group, output, proposal));
    if (!tensor.ok()) return {};
    out.push_back(std::move(*tensor));
  }
  if (out.empty()) return {};
  const Request request{engine_, graph, subject.group, subject.inputs, in, out[0], proposal.math(), proposal.way};
  if (const auto tile = WinogradTile(proposal.way)) {
    const auto winograd = DescribeWinograd(request, *tile, width);
    if (!winograd.ok()) return {};
    return {true, false, false, winograd->scratch_bytes(), winograd->constant_bytes(), -1, winograd->in_place};
  }
  const ConcurrencyScope scope(width);
  const auto descriptor = Build(request);
  if (!descriptor.ok()) return {};
  return {true,
          descriptor->is_slow(),
          descriptor->moves_only,
          descriptor->scratch_bytes(),
          descriptor->constant_bytes(),
          descriptor->accumulates_into,
          descriptor->in_place};
}

std::optional<OneDnnLibrary::Offered> OneDnnLibrary::Make(const Graph& graph, const Platform& platform,
                                                          const Subject& subject, const Proposal& proposal,
                                                          UnitClassId unit_class) const {
  const FusionGroup& group = subject.group;
  std::vector<Form> forms = InputForms(graph, group, subject.inputs, proposal);
  if (forms.size() != subject.inputs.size() || !HasInstructions(platform, unit_class, proposal.math())) {
    return std::nullopt;
  }
  Offered offered;
  Candidate& candidate = offered.candidate;
  candidate.nodes = group.nodes;
  candidate.unit_class = unit_class;
  candidate.library = kName;
  candidate.variant = proposal.variant();
  candidate.math = proposal.math();
  const uint32_t width = platform.unit_class(unit_class).cores;
  const Outcome outcome = memo_.Get(subject.signature + " # " + candidate.variant + " # " + std::to_string(width),
                                    [&] { return Ask(graph, subject, forms, proposal, width); });
  if (!outcome.possible) return std::nullopt;
  candidate.in = std::move(forms);
  for (const ValueId output : subject.outputs) candidate.out.push_back(OutputForm(graph, group, output, proposal));
  candidate.scratch_bytes = outcome.scratch_bytes;
  candidate.constant_bytes = outcome.constant_bytes;
  const bool concat = group.anchor.valid() && graph.node(group.anchor).op == "Concat";
  if (concat && MakesContiguousSlices(graph, group, proposal.out.layout)) candidate.elision = Elision::kSlicesOfOutput;
  if (outcome.moves_only) candidate.elision = Elision::kViewOfInput;
  for (uint32_t i : outcome.in_place) candidate.aliases.push_back({0, i, Alias::Kind::kAllowed});
  if (outcome.accumulates_into >= 0) {
    candidate.aliases.push_back({0, static_cast<uint32_t>(outcome.accumulates_into), Alias::Kind::kRequired});
  }
  offered.slow = outcome.slow;
  return offered;
}

void OneDnnLibrary::Offer(const Graph& graph, const Platform& platform, const FusionGroup& group,
                          std::span<const Proposal> proposals, std::vector<Candidate>& candidates) const {
  if (proposals.empty()) return;
  const Subject subject(graph, group);
  std::vector<Candidate> slow;
  const size_t before = candidates.size();
  for (const Proposal& proposal : proposals) {
    for (UnitClassId unit_class : Classes(platform)) {
      std::optional<Offered> offered = Make(graph, platform, subject, proposal, unit_class);
      if (!offered || (offered->slow && proposal.math() != MathMode::kFp32)) continue;
      (offered->slow ? slow : candidates).push_back(std::move(offered->candidate));
    }
  }
  if (candidates.size() == before && group.nodes.size() == 1) {
    candidates.insert(candidates.end(), slow.begin(), slow.end());
  }
}

void OneDnnLibrary::OfferFirst(const Graph& graph, const Platform& platform, const FusionGroup& group,
                               const Precision& precision, std::vector<Candidate>& candidates) const {
  const size_t before = candidates.size();
  Offer(graph, platform, group, FirstProposals(graph, group, precision), candidates);
  if (candidates.size() == before) Offer(graph, platform, group, LastResorts(graph, group), candidates);
}

std::vector<Candidate> OneDnnLibrary::Candidates(const Graph& graph, const Platform& platform,
                                                 const Precision& precision) const {
  std::vector<Candidate> candidates;
  OfferNaturalGroups(graph, candidates,
                     [&](const FusionGroup& group) { OfferFirst(graph, platform, group, precision, candidates); });
  return candidates;
}

// Of the types that this library computes on.
bool HasLayouts(const Graph& graph, ValueId value) {
  const DataType type = graph.value(value).type.type;
  return type == DataType::kFloat32 || IsByte(type);
}

void Note(const Graph& graph, const Candidate& candidate, const std::vector<ValueId>& inputs,
          const std::vector<ValueId>& outputs, KnownForms& known) {
  for (size_t i = 0; i < inputs.size() && i < candidate.in.size(); ++i) {
    if (HasLayouts(graph, inputs[i])) known[inputs[i]].insert(candidate.in[i]);
  }
  for (size_t i = 0; i < outputs.size() && i < candidate.out.size(); ++i) {
    if (HasLayouts(graph, outputs[i])) known[outputs[i]].insert(candidate.out[i]);
  }
}

std::vector<Candidate> OneDnnLibrary::AgnosticCandidates(const Graph& graph, const Platform& platform,
                                                         std::span<const Candidate> so_far) const {
  const auto is_plain = [](const Form& form) {
    return form.layout.is_row_major() && form.storage != DataType::kBfloat16;
  };
  const bool all_plain = std::ranges::all_of(so_far, [&](const Candidate& candidate) {
    return std::ranges::all_of(candidate.in, is_plain) && std::ranges::all_of(candidate.out, is_plain);
  });
  if (all_plain) return {};  // no form to follow
  KnownForms known;
  std::map<std::vector<NodeId>, std::pair<std::vector<ValueId>, std::vector<ValueId>>> sides;
  auto note = [&](const Candidate& candidate) {
    auto [at, fresh] = sides.try_emplace(candidate.nodes);
    if (fresh) at->second = {GroupInputs(graph, candidate.nodes), GroupOutputs(graph, candidate.nodes)};
    Note(graph, candidate, at->second.first, at->second.second, known);
  };
  for (const Candidate& candidate : so_far) note(candidate);
  std::vector<Candidate> candidates;
  const auto offer = [&](const FusionGroup& group) {
    const size_t before = candidates.size();
    Offer(graph, platform, group, AgnosticProposals(graph, group, known), candidates);
    for (size_t i = before; i < candidates.size(); ++i) note(candidates[i]);
  };
  // Groups come in graph order, so a layout travels down a chain of agnostic operators in this one
  // pass. Transposes come last: what they make lies as their readers take it, which is known then.
  std::vector<FusionGroup> transposes;
  OfferNaturalGroups(graph, candidates, [&](const FusionGroup& group) {
    if (group.anchor.valid() && IsTranspose(graph.node(group.anchor))) {
      transposes.push_back(group);
    } else {
      offer(group);
    }
  });
  std::ranges::for_each(transposes, offer);
  return candidates;
}

std::vector<Candidate> OneDnnLibrary::CandidatesFor(const Graph& graph, const Platform& platform,
                                                    std::span<const NodeId> nodes, const Precision& precision) const {
  const auto group = GroupOf(graph, nodes);
  if (!group) return {};
  KnownForms usual;
  auto add_usual = [&](ValueId value) {
    const size_t rank = graph.value(value).type.dims.size();
    std::vector<Layout> layouts{RowMajor(rank)};
    if (rank >= 3 && rank <= 5) layouts = {RowMajor(rank), ChannelsLast(rank), ChannelBlocked(rank, PreferredBlock())};
    for (const Layout& layout : layouts) {
      const DataType type = graph.value(value).type.type;
      usual[value].insert({layout, type});
      if (precision.allows(MathMode::kBf16) && type == DataType::kFloat32)
        usual[value].insert({layout, DataType::kBfloat16});
    }
  };
  for (ValueId input : GroupInputs(graph, group->nodes)) add_usual(input);
  add_usual(group->result);
  std::vector<Candidate> candidates;
  OfferFirst(graph, platform, *group, precision, candidates);
  Offer(graph, platform, *group, AgnosticProposals(graph, *group, usual), candidates);
  return candidates;
}

// The forms asked for stand for what the neighbours make and take. A slow candidate is described like any other:
// what this one is does not depend on whether a faster one exists.
Result<Candidate> OneDnnLibrary::Describe(const Graph& graph, const Platform& platform, const Candidate& asked) const {
  const auto group = GroupOf(graph, asked.nodes);
  const std::vector<UnitClassId> classes = Classes(platform);
  if (!group || std::find(classes.begin(), classes.end(), asked.unit_class) == classes.end()) {
    return NoSuchCandidate(graph, platform, asked);
  }
  const Subject subject(graph, *group);
  KnownForms known;
  Note(graph, asked, subject.inputs, GroupOutputs(graph, asked.nodes), known);
  const std::vector<Proposal> from_asked = AgnosticProposals(graph, *group, known);
  for (const std::vector<Proposal>& proposals :
       {FirstProposals(graph, *group, Precision({asked.math})), LastResorts(graph, *group), from_asked}) {
    for (const Proposal& proposal : proposals) {
      if (proposal.variant() != asked.variant) continue;
      std::optional<Offered> offered = Make(graph, platform, subject, proposal, asked.unit_class);
      if (offered && IsSameKernel(offered->candidate, asked)) return std::move(offered->candidate);
    }
  }
  return NoSuchCandidate(graph, platform, asked);
}

std::optional<std::string> OneDnnLibrary::WhyUnsupported(const Graph& graph, NodeId id) const {
  const Node& node = graph.node(id);
  if (const Family* family = FindFamily(node)) {
    if (auto why = family->why_not(graph, node)) return node.op + ": " + *why;
  } else if (!IsPointwiseOperator(node)) {
    return "oneDNN library has no operator " + (node.domain.empty() ? "" : node.domain + ".") + node.op;
  } else if (!MainInput(graph, node).valid()) {
    return node.op + ": its inputs are not float32 tensors of known size of which one has the output's dims";
  }
  if (const auto group = SingleGroup(graph, id)) {
    const Subject subject(graph, *group);
    std::vector<Proposal> proposals = FirstProposals(graph, *group, Precision());
    for (Proposal& proposal : LastResorts(graph, *group)) proposals.push_back(std::move(proposal));
    for (const Proposal& proposal : proposals) {
      const std::vector<Form> forms = InputForms(graph, *group, subject.inputs, proposal);
      if (forms.size() != subject.inputs.size()) continue;
      if (Ask(graph, subject, forms, proposal, 1).possible) return std::nullopt;
    }
  }
  return node.op + ": oneDNN has no implementation for these shapes";
}

Result<std::unique_ptr<Kernel>> OneDnnLibrary::Compile(const Graph& graph, const Candidate& candidate,
                                                       std::span<const TensorLayout> in,
                                                       std::span<const TensorLayout> out,
                                                       CompileContext& context) const {
  const auto group = GroupOf(graph, candidate.nodes);
  const std::vector<ValueId> inputs = GroupInputs(graph, candidate.nodes);
  const std::vector<ValueId> outputs = GroupOutputs(graph, candidate.nodes);
  if (!group || in.size() != inputs.size() || out.empty() || out.size() != outputs.size()) {
    return MakeError(ErrorCode::kStale, "onednn.candidate", "these nodes are not a group of the oneDNN library");
  }
  const uint32_t width = context.team == nullptr ? 1 : context.team->width();
  const Request request{engine_, graph, *group, inputs, in, out[0], candidate.math, WayOf(candidate.variant)};
  if (const auto tile = WinogradTile(request.way)) {
    PT_ASSIGN(WinogradDescriptor winograd, DescribeWinograd(request, *tile, width));
    return MakeWinogradKernel(engine_, std::move(winograd), context);
  }
  const ConcurrencyScope scope(width);
  PT_ASSIGN(KernelDescriptor descriptor, Build(request));
  return MakeKernel(engine_, std::move(descriptor), context);
}

bool OneDnnLibrary::KeepsNan(const Graph& graph, const Candidate& candidate) const {
  const auto group = GroupOf(graph, candidate.nodes);
  return group && GroupKeepsNan(graph, *group, WayOf(candidate.variant));
}

Result<KernelDescriptor> OneDnnLibrary::ReorderDescriptor(const TensorLayout& from, const TensorLayout& to) const {
  try {
    PT_ASSIGN(const Desc src, DescOf(from));
    PT_ASSIGN(const Desc dst, DescOf(to));
    if (from.dims != to.dims) return Unsupported("a reorder changes no dims");
    KernelDescriptor descriptor;
    PT_ASSIGN(descriptor.call, MoveCall(engine_, {DNNL_ARG_FROM, Argument::Source::kInput, 0, src},
                                        {DNNL_ARG_TO, Argument::Source::kOutput, 0, dst}, descriptor));
    return descriptor;
  } catch (const dnnl::error& error) {
    return Unsupported(std::string("oneDNN: ") + error.what());
  }
}

bool OneDnnLibrary::CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims,
                               const Form& from, const Form& to) const {
  if (!Serves(platform, platform.unit_class(unit_class).device)) return false;
  if (from.quantisation.valid() || to.quantisation.valid()) return false;
  std::string key = "reorder";
  for (int64_t d : dims) key += " " + std::to_string(d);
  for (const Form* form : {&from, &to}) {
    key += " " + ToString(form->layout) + ":" + std::string(DataTypeName(form->storage));
  }
  const std::vector<int64_t> own(dims.begin(), dims.end());
  return memo_
      .Get(key,
           [&]() -> Outcome {
             const auto source = DenseLayout(from.storage, own, from.layout),
                        result = DenseLayout(to.storage, own, to.layout);
             Outcome outcome;
             outcome.possible = source.ok() && result.ok() && ReorderDescriptor(*source, *result).ok();
             return outcome;
           })
      .possible;
}

Result<std::unique_ptr<Kernel>> OneDnnLibrary::CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                              CompileContext& context) const {
  const ConcurrencyScope scope(context.team == nullptr ? 1 : context.team->width());
  PT_ASSIGN(KernelDescriptor descriptor, ReorderDescriptor(from, to));
  return MakeKernel(engine_, std::move(descriptor), context);
}

}  // namespace
}  // namespace onednn

std::unique_ptr<Library> MakeOneDnnLibrary() { return std::make_unique<onednn::OneDnnLibrary>(); }

Backend OneDnnBackend() {
  return {"onednn",
          {},
          {{"onednn", "oneDNN on host units: blocked layouts, packed weights, fused groups", MakeOneDnnLibrary}}};
}

}  // namespace pt
