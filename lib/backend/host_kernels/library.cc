// The host library: own kernels for what no other library does well, vectorised for the instruction sets of the
// processor that they meet at run time. One candidate per host unit class, in one layout.
#include <algorithm>
#include <iterator>

#include "lib/backend/built_in.h"
#include "lib/backend/host_kernels/attention_pattern.h"
#include "lib/backend/host_kernels/depthwise.h"
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
constexpr const char* kVersion = "5";

Result<std::vector<TensorLayout>> DenseLayouts(const Graph& graph, std::span<const NodeId> nodes,
                                               std::span<const ValueId> values) {
  std::vector<TensorLayout> layouts;
  for (ValueId id : values) {
    const ValueType& type = graph.value(id).type;
    PT_ASSIGN(TensorLayout layout,
              DenseLayout(type.type, *type.static_dims(), LayoutFor(graph, nodes, type.dims.size())));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

// As it would run on dense tensors.
Result<Prepared> PrepareDense(const Graph& graph, std::span<const NodeId> nodes, uint32_t width) {
  if (!IsSizedBeforeRun(graph, nodes)) {
    return MakeError(ErrorCode::kUnsupported, "host.sizes", "it has tensors whose size is known only at run time");
  }
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  if (read.empty() || made.empty()) {
    return MakeError(ErrorCode::kUnsupported, "host.constant", "it reads nothing but constants, or nobody reads it");
  }
  PT_ASSIGN(const std::vector<TensorLayout> in, DenseLayouts(graph, nodes, read));
  PT_ASSIGN(const std::vector<TensorLayout> out, DenseLayouts(graph, nodes, made));
  return Prepare(graph, nodes, in, out, width);
}

void Describe(const Prepared& prepared, Candidate& candidate) {
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
}

class HostLibrary final : public Library {
 public:
  std::string_view name() const override { return kName; }
  std::string version() const override { return kVersion; }
  bool Serves(const Platform&, DeviceId device) const override { return IsHost(device); }

  // Single nodes, then groups: elementwise ones, products, depthwise convolutions, attention.
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    std::vector<Candidate> candidates;
    std::vector<bool> able(graph.nodes().size(), false);
    const auto offer = [&](std::span<const NodeId> nodes) {
      std::vector<Candidate> ways = CandidatesFor(graph, platform, nodes, precision);
      candidates.insert(candidates.end(), std::make_move_iterator(ways.begin()), std::make_move_iterator(ways.end()));
      return !ways.empty();
    };
    for (uint32_t n = 0; n < able.size(); ++n) {
      const NodeId node(n);
      able[n] = offer({&node, 1}) && IsElementwiseOperator(graph.node(node));
    }
    for (const std::vector<NodeId>& group : ElementwiseGroups(graph, able)) offer(group);
    for (const std::vector<NodeId>& group : ProductGroups(graph, able)) offer(group);
    for (const std::vector<NodeId>& group : DepthwiseGroups(graph)) offer(group);
    for (uint32_t n = 0; n < able.size(); ++n) {
      if (const auto attention = FindAttention(graph, NodeId(n))) offer(attention->nodes);
    }
    return candidates;
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision&) const override {
    std::vector<Candidate> candidates;
    if (!IsConvex(graph, nodes)) return candidates;
    for (uint32_t c = 0; c < platform.unit_classes.size(); ++c) {
      if (!platform.unit_classes[c].on_host()) continue;
      const Result<Prepared> prepared = PrepareDense(graph, nodes, platform.unit_classes[c].cores);
      if (!prepared.ok()) return {};
      Candidate candidate = RowMajorCandidate(graph, nodes, kName);
      for (auto* forms : {&candidate.in, &candidate.out}) {
        for (Form& form : *forms) form.layout = LayoutFor(graph, nodes, form.layout.order.size());
      }
      candidate.unit_class = UnitClassId(c);
      host::Describe(*prepared, candidate);
      candidates.push_back(std::move(candidate));
    }
    return candidates;
  }

  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    const Result<Prepared> prepared = PrepareDense(graph, {&node, 1}, 1);
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
