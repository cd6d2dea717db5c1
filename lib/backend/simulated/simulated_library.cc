#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "lib/backend/simulated/arithmetic.h"
#include "lib/backend/simulated/simulated_stream.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/islands.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/support/aligned_bytes.h"

namespace pt {
namespace {

// What a simulated device fuses: one of these first, then a chain of those.
constexpr std::array<std::string_view, 4> kHeads = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
constexpr std::array<std::string_view, 12> kTails = {
    "Add",       "Mul",  "Relu", "LeakyRelu",          "Clip", "Sigmoid", "HardSigmoid",
    "HardSwish", "Tanh", "Elu",  "BatchNormalization", "PRelu"};
constexpr size_t kMaxGroup = 6;

template <size_t N>
bool Contains(const std::array<std::string_view, N>& names, const Node& node) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op) != names.end();
}

bool IsCopyClass(const Platform& platform, UnitClassId unit_class) {
  return std::any_of(platform.units.begin(), platform.units.end(),
                     [&](const Unit& unit) { return unit.unit_class == unit_class && unit.link.has_value(); });
}

std::vector<UnitClassId> SimulatedClasses(const Platform& platform) {
  std::vector<UnitClassId> unit_classes;
  for (size_t i = 0; i < platform.unit_classes.size(); ++i) {
    const UnitClassId unit_class(i);
    if (platform.device(platform.unit_class(unit_class).device).simulated && !IsCopyClass(platform, unit_class)) {
      unit_classes.push_back(unit_class);
    }
  }
  return unit_classes;
}

bool Refuses(const Platform& platform, DeviceId device, const Node& node) {
  const auto rates = platform.simulated.find(device);
  return rates == platform.simulated.end() ||
         std::ranges::find(rates->second.unsupported, node.op) != rates->second.unsupported.end();
}

// The only consumer of the node's only output, if it continues a fused chain.
NodeId NextInChain(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.outputs.size() != 1) return NodeId();
  const Value& value = graph.value(node.outputs[0]);
  if (value.is_graph_output || value.uses.empty()) return NodeId();
  const NodeId next = value.uses[0].node;
  const bool alone =
      std::all_of(value.uses.begin(), value.uses.end(), [&](const Use& use) { return use.node == next; });
  return alone && Contains(kTails, graph.node(next)) ? next : NodeId();
}

bool IsFusedChain(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.empty() || nodes.size() > kMaxGroup || !Contains(kHeads, graph.node(nodes[0]))) return false;
  for (size_t i = 0; i + 1 < nodes.size(); ++i) {
    if (NextInChain(graph, nodes[i]) != nodes[i + 1]) return false;
  }
  return true;
}

// Computes the group when the device comes to it.
class SimulatedBoundKernel : public BoundKernel, private SimulatedTask {
 public:
  // memory: of the computation, on the host and outside the accounting.
  SimulatedBoundKernel(const SimulatedWork& work, Stream& host_stream, BoundComputation computation,
                       AlignedBytes memory)
      : work_(work), host_stream_(host_stream), memory_(std::move(memory)), computation_(std::move(computation)) {
    work_.task = this;
  }

  Status Enqueue(const RunContext& run) noexcept override {
    SimulatedStream* simulated = AsSimulated(run.stream);
    if (simulated == nullptr) {
      return MakeError(ErrorCode::kInternal, "simulated.stream", "a simulated kernel needs its device's stream");
    }
    return simulated->Enqueue(work_, "kernel");
  }

 private:
  Status Run() noexcept override { return computation_.Run(StaticRun(host_stream_)); }

  SimulatedWork work_;
  Stream& host_stream_;
  AlignedBytes memory_;
  BoundComputation computation_;
};

class SimulatedKernel : public Kernel {
 public:
  SimulatedKernel(const SimulatedWork& work, std::unique_ptr<Team> team, Computation computation)
      : work_(work), team_(std::move(team)), stream_(MakeHostStream(*team_)), computation_(std::move(computation)) {}

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    PT_ASSIGN(const uint64_t bytes, computation_.memory_bytes());
    PT_ASSIGN(AlignedBytes memory, AllocateAligned(bytes));
    PT_ASSIGN(BoundComputation bound, BoundComputation::Make(computation_, in, out, memory.bytes));
    return std::unique_ptr<BoundKernel>(
        std::make_unique<SimulatedBoundKernel>(work_, *stream_, std::move(bound), std::move(memory)));
  }

 private:
  SimulatedWork work_;  // what it takes
  std::unique_ptr<Team> team_;
  std::unique_ptr<Stream> stream_;
  Computation computation_;
};

// Everything is row-major on a simulated device: it follows no other library's layouts and reorders nothing.
class SimulatedLibrary : public Library {
 public:
  std::string_view name() const override { return "simulated"; }
  std::string version() const override { return "3+reference." + arithmetic_.reference().version(); }
  bool Serves(const Platform& platform, DeviceId device) const override { return platform.device(device).simulated; }

  Precision Modes(const Platform& platform) const override {
    Precision modes;
    for (const UnitClassId unit_class : SimulatedClasses(platform)) {
      modes = modes.with(MathOf(platform.device(platform.unit_class(unit_class).device)));
    }
    return modes;
  }

  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    std::vector<Candidate> found;
    for (const UnitClassId unit_class : ServedClasses(platform, precision)) {
      const std::vector<bool> taken = Taken(graph, platform, unit_class);
      for (size_t i = 0; i < taken.size(); ++i) {
        const NodeId node(i);
        if (taken[i]) Offer(graph, platform, unit_class, std::span(&node, 1), found);
      }
      for (const std::vector<NodeId>& group : Groups(graph, DeviceOf(platform, unit_class), taken)) {
        Offer(graph, platform, unit_class, group, found);
      }
    }
    return found;
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override {
    std::vector<Candidate> found;
    for (const UnitClassId unit_class : ServedClasses(platform, precision)) {
      const bool islands = DeviceOf(platform, unit_class).calls.islands;
      if (nodes.size() != 1 && !IsFusedChain(graph, nodes) && !islands) continue;
      if (std::ranges::all_of(nodes, [&](NodeId node) { return Takes(graph, platform, unit_class, node); })) {
        Offer(graph, platform, unit_class, nodes, found);
      }
    }
    return found;
  }

  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    return arithmetic_.reference().WhyUnsupported(graph, node);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    const std::optional<int64_t> cost = KnownCost(graph, context.platform, candidate);
    if (!cost) return NoCost(graph, candidate);
    SimulatedWork work;
    work.ns = *cost;
    work.demand = SimulatedDemand(graph, context.platform, candidate);
    std::unique_ptr<Team> team = MakeSerialTeam();
    const CompileContext on_one_core{context.platform, context.device, team.get(), context.weights, context.subgraphs};
    const MathMode math = MathOf(DeviceOf(context.platform, candidate.unit_class));
    PT_ASSIGN(Computation computation, arithmetic_.Compile(graph, candidate.nodes, math, in, out, on_one_core));
    return std::unique_ptr<Kernel>(std::make_unique<SimulatedKernel>(work, std::move(team), std::move(computation)));
  }

  std::optional<int64_t> KnownCost(const Graph& graph, const Platform& platform,
                                   const Candidate& candidate) const override {
    return SimulatedNs(graph, platform, candidate);
  }

 private:
  static Error NoCost(const Graph& graph, const Candidate& candidate) {
    return MakeError(ErrorCode::kUnsupported, "simulated.no_rate",
                     "the platform file gives no rate for " + NodeLabel(graph, candidate.nodes[0]),
                     "add the family \"*\"");
  }

  static const Device& DeviceOf(const Platform& platform, UnitClassId unit_class) {
    return platform.device(platform.unit_class(unit_class).device);
  }

  // Those whose mode is allowed.
  static std::vector<UnitClassId> ServedClasses(const Platform& platform, const Precision& precision) {
    if (!ComputingClass(platform).valid()) return {};
    std::vector<UnitClassId> unit_classes = SimulatedClasses(platform);
    std::erase_if(unit_classes, [&](UnitClassId id) { return !precision.allows(MathOf(DeviceOf(platform, id))); });
    return unit_classes;
  }

  // Whatever group it is in.
  bool Takes(const Graph& graph, const Platform& platform, UnitClassId unit_class, NodeId node) const {
    const DeviceId device = platform.unit_class(unit_class).device;
    return !Refuses(platform, device, graph.node(node)) && !WhyNoCall(platform.device(device), graph, node) &&
           arithmetic_.OnHost(graph, platform, node);
  }

  std::vector<bool> Taken(const Graph& graph, const Platform& platform, UnitClassId unit_class) const {
    std::vector<bool> taken(graph.nodes().size());
    for (size_t i = 0; i < taken.size(); ++i) taken[i] = Takes(graph, platform, unit_class, NodeId(i));
    return taken;
  }

  // Of several nodes that are taken: islands and their parts where the device takes those, else what it fuses.
  static std::vector<std::vector<NodeId>> Groups(const Graph& graph, const Device& device,
                                                 const std::vector<bool>& taken) {
    if (device.calls.islands) return IslandGroups(graph, taken);
    std::vector<std::vector<NodeId>> groups;
    for (size_t i = 0; i < taken.size(); ++i) {
      std::vector<NodeId> chain = {NodeId(i)};
      if (!taken[i] || !Contains(kHeads, graph.node(chain[0]))) continue;
      for (NodeId next = NextInChain(graph, chain.back());
           next.valid() && taken[next.index()] && chain.size() < kMaxGroup; next = NextInChain(graph, next)) {
        chain.push_back(next);
        groups.push_back(chain);
      }
    }
    return groups;
  }

  // nodes: each taken by the device.
  void Offer(const Graph& graph, const Platform& platform, UnitClassId unit_class, std::span<const NodeId> nodes,
             std::vector<Candidate>& found) const {
    const Device& device = DeviceOf(platform, unit_class);
    if (nodes.empty() || WhyNoCall(device, graph, nodes)) return;
    if (nodes.size() > 1 && (!IsConvex(graph, nodes) || GroupOutputs(graph, nodes).empty())) return;
    Candidate candidate = RowMajorCandidate(graph, nodes, name());
    candidate.unit_class = unit_class;
    if (!SimulatedNs(graph, platform, candidate)) return;
    for (const NodeId node : nodes) {
      std::optional<Candidate> single = arithmetic_.OnHost(graph, platform, node);
      candidate.constant_bytes += single->constant_bytes;
      if (nodes.size() == 1) candidate.aliases = std::move(single->aliases);
    }
    candidate.math = MathOf(device);
    found.push_back(std::move(candidate));
  }

  Arithmetic arithmetic_;
};

}  // namespace

std::unique_ptr<Library> MakeSimulatedLibrary() { return std::make_unique<SimulatedLibrary>(); }

}  // namespace pt
