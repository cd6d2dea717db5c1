// The host library: own kernels for what no other library does well, vectorised for the instruction sets of the
// processor that they meet at run time. One candidate per host unit class and arrangement, and
// in bf16 those whose real numbers are stored as bfloat16.
#include <algorithm>
#include <array>
#include <ranges>
#include <set>

#include "lib/backend/built_in.h"
#include "lib/backend/host_kernels/arrangement.h"
#include "lib/backend/host_kernels/convolutions/convolution.h"
#include "lib/backend/host_kernels/convolutions/quantised_depthwise.h"
#include "lib/backend/host_kernels/data_sized.h"
#include "lib/backend/host_kernels/elementwise/byte_function.h"
#include "lib/backend/host_kernels/elementwise/expression.h"
#include "lib/backend/host_kernels/kernel.h"
#include "lib/backend/host_kernels/operators/gather_joined.h"
#include "lib/backend/host_kernels/operators/plane_normalization.h"
#include "lib/backend/host_kernels/products/experts.h"
#include "lib/backend/host_kernels/products/integer_product.h"
#include "lib/backend/host_kernels/products/product.h"
#include "lib/backend/math_modes.h"
#include "partitiontuner/backend/attention_pattern.h"
#include "partitiontuner/backend/elementwise_groups.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/backend/nan.h"
#include "partitiontuner/candidate/run_time_sizes.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/uses.h"

namespace pt {
namespace host {
namespace {

constexpr std::string_view kName = "host";

// Raised when a kernel changes so that its old measurements no longer hold.
constexpr const char* kVersion = "17";

// How real numbers are stored: at the inputs of the graph, where they go out of it or into exponents, and elsewhere.
struct Storages {
  std::string_view variant;
  DataType inputs = DataType::kFloat32, outputs = DataType::kFloat32, within = DataType::kFloat32;
  bool dequantised = false;  // HostSite::dequantised

  MathMode math() const { return within == DataType::kBfloat16 ? MathMode::kBf16 : MathMode::kFp32; }
};
constexpr DataType kShort = DataType::kBfloat16, kLong = DataType::kFloat32;
constexpr std::string_view kDequantised = "dequantised";
constexpr std::array kStorages = {
    Storages{""}, Storages{kDequantised, kLong, kLong, kLong, true}, Storages{"bf16", kShort, kShort, kShort},
    Storages{"bf16>fp32", kShort, kLong, kShort}, Storages{"fp32>bf16", kLong, kShort, kShort}};

// The graph's outputs are float32, and exponents are not to be rounded.
bool NeedsFloat32(const Graph& graph, const Value& value) {
  return value.is_graph_output || std::ranges::any_of(value.uses, [&](const Use& use) {
           const Node& node = graph.node(use.node);
           return node.domain.empty() && (node.op == "Softmax" || node.op == "LogSoftmax");
         });
}

std::vector<Form> FormsOf(const Graph& graph, Arrangement arrangement, std::span<const ValueId> values,
                          const Storages& storages) {
  std::vector<Form> forms;
  for (ValueId id : values) {
    const Value& value = graph.value(id);
    const bool is_input = std::ranges::find(graph.inputs(), id) != graph.inputs().end();
    const DataType real = is_input ? storages.inputs : NeedsFloat32(graph, value) ? storages.outputs : storages.within;
    forms.push_back({LayoutIn(arrangement, *value.type.static_dims()),
                     value.type.type == DataType::kFloat32 ? real : value.type.type});
  }
  return forms;
}

Result<std::vector<TensorLayout>> DenseLayouts(const Graph& graph, std::span<const ValueId> values,
                                               std::span<const Form> forms) {
  std::vector<TensorLayout> layouts;
  for (size_t i = 0; i < values.size(); ++i) {
    PT_ASSIGN(TensorLayout layout,
              DenseLayout(forms[i].storage, *graph.value(values[i]).type.static_dims(), forms[i].layout));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

// How nodes run as a candidate says it.
struct Way {
  Arrangement arrangement;
  const Storages& storages;
  UnitClassId unit_class;
};

// As it would run on dense tensors.
Result<PreparedSite> PrepareDense(const Graph& graph, std::span<const NodeId> nodes, Arrangement arrangement,
                                  const Storages& storages, uint32_t width) {
  if (!IsSizedBeforeRun(graph, nodes)) {
    return MakeError(ErrorCode::kUnsupported, "host.sizes", "it has tensors whose size is known only at run time");
  }
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  if (read.empty() || made.empty()) {
    return MakeError(ErrorCode::kUnsupported, "host.constant", "all its inputs are constant, or its output is unused");
  }
  PT_ASSIGN(const std::vector<TensorLayout> in, DenseLayouts(graph, read, FormsOf(graph, arrangement, read, storages)));
  PT_ASSIGN(const std::vector<TensorLayout> out,
            DenseLayouts(graph, made, FormsOf(graph, arrangement, made, storages)));
  return Prepare(graph, nodes, in, out, {width, storages.dequantised});
}

// Whether some of them turn integers into real numbers.
bool Dequantise(const Graph& graph, std::span<const NodeId> nodes) {
  return std::ranges::any_of(nodes, [&](NodeId node) { return IsDequantisation(graph.node(node)); });
}

Candidate MakeCandidate(const Graph& graph, std::span<const NodeId> nodes, const Way& way,
                        const PreparedSite& prepared) {
  Candidate candidate;
  candidate.nodes.assign(nodes.begin(), nodes.end());
  candidate.library = kName;
  candidate.unit_class = way.unit_class;
  candidate.variant = way.storages.variant;
  candidate.math = way.storages.math();
  candidate.in = FormsOf(graph, way.arrangement, GroupInputs(graph, nodes), way.storages);
  candidate.out = FormsOf(graph, way.arrangement, GroupOutputs(graph, nodes), way.storages);
  candidate.scratch_bytes = prepared.routine.scratch_bytes;
  candidate.elision = prepared.routine.elision;
  for (uint32_t i : prepared.routine.in_place) {
    const HostOperand& operand = prepared.site.in[i];
    const Alias alias{0, operand.slot, Alias::Kind::kAllowed};
    const bool known = std::find(candidate.aliases.begin(), candidate.aliases.end(), alias) != candidate.aliases.end();
    if (!operand.constant && !known) candidate.aliases.push_back(alias);
  }
  for (const HostOperand& operand : prepared.site.in) {
    if (operand.constant) candidate.constant_bytes += operand.constant->bytes().size();
  }
  return candidate;
}

bool MakesBytesOfBytes(const Graph& graph, std::span<const NodeId> nodes) {
  const auto is_byte = [&](ValueId value) { return IsByte(graph.value(value).type.type); };
  return std::ranges::all_of(GroupInputs(graph, nodes), is_byte) &&
         std::ranges::all_of(GroupOutputs(graph, nodes), is_byte);
}

// Whether the node turns what a product reads or makes into real numbers or back: products of integers take it along,
// and those of real numbers cost so much more that another library's will do.
bool IsAtProduct(const Graph& graph, const Node& node) {
  constexpr std::array<std::string_view, 4> kProducts = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  const auto is_product = [&](NodeId id) {
    return id.valid() && graph.node(id).domain.empty() && std::ranges::count(kProducts, graph.node(id).op) != 0;
  };
  if (IsQuantisation(node)) return is_product(graph.value(node.inputs[0]).producer);
  return IsDequantisation(node) && is_product(OnlyReader(graph, node.outputs[0]));
}

// A single node whose results are as large as the data says.
bool IsSizedByData(const Graph& graph, std::span<const NodeId> nodes) {
  return nodes.size() == 1 && !IsSizedBeforeRun(graph, nodes) && IsDataSized(graph, nodes[0]) &&
         !GroupInputs(graph, nodes).empty() && !GroupOutputs(graph, nodes).empty();
}

class HostLibrary final : public Library, public TellsOfNan {
 public:
  std::string_view name() const override { return kName; }
  std::string version() const override { return kVersion; }
  bool Serves(const Platform&, DeviceId device) const override { return IsHost(device); }
  Precision Modes(const Platform& platform) const override {
    return ModesWithInstructions(platform, Classes(platform));
  }

  // Single nodes, then groups: elementwise ones, products, convolutions, attention.
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    std::vector<Candidate> candidates;
    std::vector<bool> able(graph.nodes().size(), false);
    const auto offer = [&](std::span<const NodeId> nodes) {
      const size_t before = candidates.size();
      if (IsConvex(graph, nodes))
        Offer(graph, platform, nodes, ArrangementsOf(graph, nodes).front(), precision, candidates);
      return candidates.size() > before;
    };
    for (uint32_t n = 0; n < able.size(); ++n) {
      const NodeId node(n);
      if (IsSizedByData(graph, {&node, 1})) OfferSizedByData(graph, platform, node, candidates);
      able[n] = offer({&node, 1}) && IsElementwiseOperator(graph.node(node));
    }
    OfferElementwiseGroups(graph, able, offer, candidates);
    for (const std::vector<NodeId>& group : ProductGroups(graph, able)) offer(group);
    for (const std::vector<NodeId>& group : IntegerProductGroups(graph, able)) offer(group);
    for (const std::vector<NodeId>& group : ConvolutionGroups(graph)) offer(group);
    for (const std::vector<NodeId>& group : QuantisedDepthwiseGroups(graph)) offer(group);
    for (const std::vector<NodeId>& group : ExpertGroups(graph)) offer(group);
    for (const std::vector<NodeId>& group : PlaneNormalizationGroups(graph, able)) offer(group);
    for (const std::vector<NodeId>& group : GatherJoinedGroups(graph)) offer(group);
    for (uint32_t n = 0; n < able.size(); ++n) {
      if (const auto attention = FindAttention(graph, NodeId(n))) offer(attention->nodes);
      if (const auto grouped = FindGroupedAttention(graph, NodeId(n))) offer(grouped->nodes);
    }
    return candidates;
  }

  // Groups come in graph order, so that a layout travels down a chain of nodes.
  std::vector<Candidate> AgnosticCandidates(const Graph& graph, const Platform& platform,
                                            std::span<const Candidate> so_far) const override {
    std::vector<Candidate> candidates;
    KnownLayouts known(graph);
    Precision precision;  // what was allowed so far
    for (const Candidate& candidate : so_far) {
      known.Note(candidate);
      precision = precision.with(candidate.math);
    }
    if (known.empty()) return candidates;
    std::set<std::vector<NodeId>> seen;
    for (const Candidate& candidate : so_far) {
      if (!seen.insert(candidate.nodes).second) continue;
      for (Arrangement arrangement : ArrangementsOf(graph, candidate.nodes) | std::views::drop(1)) {
        const size_t before = candidates.size();
        if (!known.Meet(arrangement, candidate.nodes)) continue;
        Offer(graph, platform, candidate.nodes, arrangement, precision, candidates);
        for (size_t i = before; i < candidates.size(); ++i) known.Note(candidates[i]);
      }
    }
    return candidates;
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override {
    std::vector<Candidate> candidates;
    if (IsSizedByData(graph, nodes)) OfferSizedByData(graph, platform, nodes[0], candidates);
    if (!IsConvex(graph, nodes)) return candidates;
    for (Arrangement arrangement : ArrangementsOf(graph, nodes)) {
      Offer(graph, platform, nodes, arrangement, precision, candidates);
    }
    return candidates;
  }

  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    if (IsSizedByData(graph, {&node, 1})) return std::nullopt;
    const Result<PreparedSite> prepared =
        PrepareDense(graph, {&node, 1}, ArrangementsOf(graph, {&node, 1}).front(), kStorages[0], 1);
    return prepared.ok() ? std::nullopt : std::optional(prepared.error().message);
  }

  // Vectors take the greater and the less of two so that NaN on either side is the result.
  bool KeepsNan(const Graph&, const Candidate&) const override { return true; }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    if (IsSizedByData(graph, candidate.nodes)) return MakeDataSized(graph, candidate.nodes[0]);
    const uint32_t width = context.team == nullptr ? 1 : context.team->width();
    PT_ASSIGN(PreparedSite prepared,
              Prepare(graph, candidate.nodes, in, out, {width, candidate.variant == kDequantised}));
    if (prepared.routine.pack) PT_CHECK_OK(prepared.routine.pack(context));
    return MakeKernel(std::move(prepared));
  }

 private:
  static std::vector<UnitClassId> Classes(const Platform& platform) {
    std::vector<UnitClassId> classes;
    for (uint32_t c = 0; c < platform.unit_classes.size(); ++c) {
      if (platform.unit_classes[c].on_host()) classes.push_back(UnitClassId(c));
    }
    return classes;
  }

  // Of stretches from bytes to bytes no part is worth a step of its own: neither groups within nor, among the
  // candidates so far, single nodes.
  template <typename F>
  static void OfferElementwiseGroups(const Graph& graph, const std::vector<bool>& able, const F& offer,
                                     std::vector<Candidate>& candidates) {
    std::vector<bool> covered(able.size(), false);
    const auto cover = [&](const std::vector<NodeId>& group) {
      if (offer(group)) std::ranges::for_each(group, [&](NodeId node) { covered[node.index()] = true; });
    };
    const auto is_covered = [&](const std::vector<NodeId>& group) {
      return std::ranges::all_of(group, [&](NodeId node) { return covered[node.index()]; });
    };
    for (const std::vector<NodeId>& group : ByteFunctionGroups(graph)) {
      if (group.size() > 1) cover(group);
    }
    const std::vector<std::vector<NodeId>> groups = ElementwiseGroups(graph, able);
    for (const std::vector<NodeId>& group : groups) {
      if (MakesBytesOfBytes(graph, group) && !is_covered(group)) cover(group);
    }
    std::erase_if(candidates, [&](const Candidate& candidate) {
      const NodeId node = candidate.nodes[0];
      return candidate.nodes.size() == 1 && (covered[node.index()] || IsAtProduct(graph, graph.node(node)));
    });
    for (const std::vector<NodeId>& group : groups) {
      if (!is_covered(group)) offer(group);
    }
  }

  static void OfferSizedByData(const Graph& graph, const Platform& platform, NodeId node,
                               std::vector<Candidate>& candidates) {
    Candidate candidate = RowMajorCandidate(graph, {&node, 1}, kName);
    for (const UnitClassId unit_class : Classes(platform)) {
      candidate.unit_class = unit_class;
      candidates.push_back(candidate);
    }
  }

  // For every unit class of hosts, in the precision that it has; nothing where the nodes cannot run.
  static void Offer(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                    Arrangement arrangement, const Precision& precision, std::vector<Candidate>& candidates) {
    for (const UnitClassId unit_class : Classes(platform)) {
      const size_t before = candidates.size();
      for (const Storages& storages : kStorages) {
        if (!precision.allows(storages.math()) || !HasInstructions(platform, unit_class, storages.math())) continue;
        if (storages.dequantised && !Dequantise(graph, nodes)) continue;
        const uint32_t width = platform.unit_class(unit_class).cores;
        const Result<PreparedSite> prepared = PrepareDense(graph, nodes, arrangement, storages, width);
        if (!prepared.ok()) continue;
        Candidate candidate = MakeCandidate(graph, nodes, {arrangement, storages, unit_class}, *prepared);
        const auto same = [&](const Candidate& c) {
          return c.in == candidate.in && c.out == candidate.out && !storages.dequantised;
        };
        if (std::any_of(candidates.begin() + static_cast<ptrdiff_t>(before), candidates.end(), same)) continue;
        candidates.push_back(std::move(candidate));
      }
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
