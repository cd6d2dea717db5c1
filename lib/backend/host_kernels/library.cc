// The host library: own kernels for what no other library does well, vectorised for the instruction sets of the
// processor that they meet at run time. One candidate per host unit class and arrangement.
#include <algorithm>
#include <ranges>
#include <set>

#include "lib/backend/built_in.h"
#include "lib/backend/host_kernels/arrangement.h"
#include "lib/backend/host_kernels/attention_pattern.h"
#include "lib/backend/host_kernels/convolution.h"
#include "lib/backend/host_kernels/expression.h"
#include "lib/backend/host_kernels/kernel.h"
#include "lib/backend/host_kernels/product.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/run_time_sizes.h"

namespace pt {
namespace host {
namespace {

constexpr std::string_view kName = "host";

// Raised when a kernel changes so that its old measurements no longer hold.
constexpr const char* kVersion = "8";

Result<std::vector<TensorLayout>> DenseLayouts(const Graph& graph, Arrangement arrangement,
                                               std::span<const ValueId> values) {
  std::vector<TensorLayout> layouts;
  for (ValueId id : values) {
    const ValueType& type = graph.value(id).type;
    PT_ASSIGN(TensorLayout layout,
              DenseLayout(type.type, *type.static_dims(), LayoutIn(arrangement, *type.static_dims())));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

// As it would run on dense tensors.
Result<Prepared> PrepareDense(const Graph& graph, std::span<const NodeId> nodes, Arrangement arrangement,
                              uint32_t width) {
  if (!IsSizedBeforeRun(graph, nodes)) {
    return MakeError(ErrorCode::kUnsupported, "host.sizes", "it has tensors whose size is known only at run time");
  }
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  if (read.empty() || made.empty()) {
    return MakeError(ErrorCode::kUnsupported, "host.constant", "it reads nothing but constants, or nobody reads it");
  }
  PT_ASSIGN(const std::vector<TensorLayout> in, DenseLayouts(graph, arrangement, read));
  PT_ASSIGN(const std::vector<TensorLayout> out, DenseLayouts(graph, arrangement, made));
  return Prepare(graph, nodes, in, out, width);
}

Candidate MakeCandidate(const Graph& graph, std::span<const NodeId> nodes, Arrangement arrangement,
                        const Prepared& prepared) {
  Candidate candidate = RowMajorCandidate(graph, nodes, kName);
  const auto lay = [&](std::span<const ValueId> values, std::vector<Form>& forms) {
    for (size_t i = 0; i < values.size(); ++i) {
      forms[i].layout = LayoutIn(arrangement, *graph.value(values[i]).type.static_dims());
    }
  };
  lay(GroupInputs(graph, nodes), candidate.in);
  lay(GroupOutputs(graph, nodes), candidate.out);
  candidate.scratch_bytes = prepared.routine.scratch_bytes;
  candidate.elision = prepared.routine.elision;
  for (uint32_t i : prepared.routine.in_place) {
    const Operand& operand = prepared.site.in[i];
    const Alias alias{0, operand.slot, Alias::Kind::kAllowed};
    const bool known = std::find(candidate.aliases.begin(), candidate.aliases.end(), alias) != candidate.aliases.end();
    if (!operand.constant && !known) candidate.aliases.push_back(alias);
  }
  for (const Operand& operand : prepared.site.in) {
    if (operand.constant) candidate.constant_bytes += operand.constant->bytes().size();
  }
  return candidate;
}

class HostLibrary final : public Library {
 public:
  std::string_view name() const override { return kName; }
  std::string version() const override { return kVersion; }
  bool Serves(const Platform&, DeviceId device) const override { return IsHost(device); }

  // Single nodes, then groups: elementwise ones, products, convolutions, attention.
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform, const Precision&) const override {
    std::vector<Candidate> candidates;
    std::vector<bool> able(graph.nodes().size(), false);
    const auto offer = [&](std::span<const NodeId> nodes) {
      const size_t before = candidates.size();
      if (IsConvex(graph, nodes)) Offer(graph, platform, nodes, ArrangementsOf(graph, nodes).front(), candidates);
      return candidates.size() > before;
    };
    for (uint32_t n = 0; n < able.size(); ++n) {
      const NodeId node(n);
      able[n] = offer({&node, 1}) && IsElementwiseOperator(graph.node(node));
    }
    for (const std::vector<NodeId>& group : ElementwiseGroups(graph, able)) offer(group);
    for (const std::vector<NodeId>& group : ProductGroups(graph, able)) offer(group);
    for (const std::vector<NodeId>& group : ConvolutionGroups(graph)) offer(group);
    for (uint32_t n = 0; n < able.size(); ++n) {
      if (const auto attention = FindAttention(graph, NodeId(n))) offer(attention->nodes);
    }
    return candidates;
  }

  // Groups come in graph order, so that a layout travels down a chain of nodes.
  std::vector<Candidate> AgnosticCandidates(const Graph& graph, const Platform& platform,
                                            std::span<const Candidate> so_far) const override {
    std::vector<Candidate> candidates;
    KnownLayouts known(graph);
    for (const Candidate& candidate : so_far) known.Note(candidate);
    std::set<std::vector<NodeId>> seen;
    for (const Candidate& candidate : so_far) {
      if (!seen.insert(candidate.nodes).second) continue;
      for (Arrangement arrangement : ArrangementsOf(graph, candidate.nodes) | std::views::drop(1)) {
        const size_t before = candidates.size();
        if (!known.Meet(arrangement, candidate.nodes)) continue;
        Offer(graph, platform, candidate.nodes, arrangement, candidates);
        for (size_t i = before; i < candidates.size(); ++i) known.Note(candidates[i]);
      }
    }
    return candidates;
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision&) const override {
    std::vector<Candidate> candidates;
    if (!IsConvex(graph, nodes)) return candidates;
    for (Arrangement arrangement : ArrangementsOf(graph, nodes)) Offer(graph, platform, nodes, arrangement, candidates);
    return candidates;
  }

  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    const Result<Prepared> prepared = PrepareDense(graph, {&node, 1}, ArrangementsOf(graph, {&node, 1}).front(), 1);
    return prepared.ok() ? std::nullopt : std::optional(prepared.error().message);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    PT_ASSIGN(Prepared prepared,
              Prepare(graph, candidate.nodes, in, out, context.team == nullptr ? 1 : context.team->width()));
    if (prepared.routine.pack) PT_CHECK_OK(prepared.routine.pack(context));
    return MakeKernel(std::move(prepared));
  }

 private:
  // For every unit class of hosts; nothing where the nodes cannot run.
  static void Offer(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                    Arrangement arrangement, std::vector<Candidate>& candidates) {
    for (uint32_t c = 0; c < platform.unit_classes.size(); ++c) {
      if (!platform.unit_classes[c].on_host()) continue;
      const Result<Prepared> prepared = PrepareDense(graph, nodes, arrangement, platform.unit_classes[c].cores);
      if (!prepared.ok()) return;
      candidates.push_back(MakeCandidate(graph, nodes, arrangement, *prepared));
      candidates.back().unit_class = UnitClassId(c);
    }
  }
};

}  // namespace
}  // namespace host

std::unique_ptr<Library> MakeHostLibrary() { return std::make_unique<host::HostLibrary>(); }

Backend HostKernelsBackend() {
  return {"host_kernels",
          {},
          {{"host", "own vectorised kernels on host units: reductions, movement, indices, elementwise, normalisations",
            MakeHostLibrary}}};
}

}  // namespace pt
