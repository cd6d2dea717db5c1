#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "lib/backend/simulated/arithmetic.h"
#include "lib/backend/simulated/simulated_stream.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/run_time_sizes.h"
#include "partitiontuner/candidate/signature.h"

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

const SimulatedRates* RatesOf(const Platform& platform, DeviceId device) {
  const auto found = platform.simulated.find(device);
  return found == platform.simulated.end() ? nullptr : &found->second;
}

bool Refuses(const SimulatedRates& rates, const Graph& graph, std::span<const NodeId> nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const std::string& op = graph.node(id).op;
    return std::find(rates.unsupported.begin(), rates.unsupported.end(), op) != rates.unsupported.end();
  });
}

std::optional<int64_t> CostOf(const SimulatedRates& rates, const Graph& graph, std::span<const NodeId> nodes) {
  if (!rates.exact_ns.empty()) {
    const auto exact = rates.exact_ns.find(ToHex(HashText(WorkSignature(graph, nodes))));
    if (exact != rates.exact_ns.end()) return exact->second;
  }
  const SimulatedRates::Family* rate = RatesFamily(rates, graph, nodes);
  if (rate == nullptr) return std::nullopt;
  const WorkSize work = WorkSizeOf(graph, nodes);
  double ns = rate->fixed_ns;
  if (rate->flops_per_ns > 0) ns += work.flops / rate->flops_per_ns;
  if (rate->bytes_per_ns > 0) ns += work.bytes / rate->bytes_per_ns;
  return std::llround(std::min(ns, 9e18));
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
  SimulatedBoundKernel(const SimulatedWork& work, Stream& host_stream, BoundComputation computation)
      : work_(work), host_stream_(host_stream), computation_(std::move(computation)) {
    work_.task = this;
  }

  Status Enqueue(const RunContext& run) noexcept override {
    SimulatedStream* simulated = AsSimulated(run.stream);
    if (simulated == nullptr) {
      return MakeError(ErrorCode::kInternal, "simulated.stream", "a simulated kernel needs its device's stream");
    }
    simulated->Enqueue(work_, "kernel");
    return {};
  }

 private:
  Status Run() noexcept override { return computation_.Run(StaticRun(host_stream_)); }

  SimulatedWork work_;
  Stream& host_stream_;
  BoundComputation computation_;
};

class SimulatedKernel : public Kernel {
 public:
  SimulatedKernel(const SimulatedWork& work, std::unique_ptr<Team> team, Computation computation)
      : work_(work), team_(std::move(team)), stream_(MakeHostStream(*team_)), computation_(std::move(computation)) {}

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    PT_ASSIGN(BoundComputation bound, BoundComputation::Make(computation_, in, out));
    return std::unique_ptr<BoundKernel>(std::make_unique<SimulatedBoundKernel>(work_, *stream_, std::move(bound)));
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
  std::string version() const override { return "2+reference." + arithmetic_.reference().version(); }
  bool Serves(const Platform& platform, DeviceId device) const override { return platform.device(device).simulated; }

  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform, const Precision&) const override {
    const UnitClassId host = ComputingClass(platform);
    if (SimulatedClasses(platform).empty() || !host.valid()) return {};
    std::vector<Candidate> found;
    for (const Candidate& single : arithmetic_.reference().Candidates(graph, platform, Precision())) {
      if (single.unit_class != host || single.nodes.size() != 1) continue;
      AddForEachDevice(graph, platform, single, found);
    }
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      std::vector<NodeId> chain = {NodeId(i)};
      if (!Contains(kHeads, graph.node(chain[0]))) continue;
      for (NodeId next = NextInChain(graph, chain.back()); next.valid() && chain.size() < kMaxGroup;
           next = NextInChain(graph, next)) {
        chain.push_back(next);
        AddGroup(graph, platform, chain, found);
      }
    }
    return found;
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision&) const override {
    std::vector<Candidate> found;
    if (nodes.size() == 1) {
      if (const std::optional<Candidate> single = arithmetic_.OnHost(graph, platform, nodes[0])) {
        AddForEachDevice(graph, platform, *single, found);
      }
    } else if (IsFusedChain(graph, nodes)) {
      AddGroup(graph, platform, nodes, found);
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
    PT_ASSIGN(Computation computation, arithmetic_.Compile(graph, candidate.nodes, in, out, on_one_core));
    return std::unique_ptr<Kernel>(std::make_unique<SimulatedKernel>(work, std::move(team), std::move(computation)));
  }

  std::optional<int64_t> KnownCost(const Graph& graph, const Platform& platform,
                                   const Candidate& candidate) const override {
    const SimulatedRates* rates = RatesOf(platform, platform.unit_class(candidate.unit_class).device);
    return rates == nullptr ? std::nullopt : CostOf(*rates, graph, candidate.nodes);
  }

 private:
  static Error NoCost(const Graph& graph, const Candidate& candidate) {
    return MakeError(ErrorCode::kUnsupported, "simulated.no_rate",
                     "the platform file gives no rate for " + NodeLabel(graph, candidate.nodes[0]),
                     "add the family \"*\"");
  }

  static void AddForEachDevice(const Graph& graph, const Platform& platform, const Candidate& host,
                               std::vector<Candidate>& found) {
    for (UnitClassId unit_class : SimulatedClasses(platform)) {
      const SimulatedRates* rates = RatesOf(platform, platform.unit_class(unit_class).device);
      if (rates == nullptr || Refuses(*rates, graph, host.nodes) || !IsSizedBeforeRun(graph, host.nodes)) continue;
      if (!CostOf(*rates, graph, host.nodes)) continue;
      Candidate candidate = host;
      candidate.unit_class = unit_class;
      candidate.library = "simulated";
      candidate.scratch_bytes = 0;
      // What the arithmetic elides would still cost the device its launch.
      candidate.elision = Elision::kNone;
      found.push_back(std::move(candidate));
    }
  }

  void AddGroup(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                std::vector<Candidate>& found) const {
    if (!IsConvex(graph, nodes)) return;
    Candidate group = RowMajorCandidate(graph, nodes, name());
    for (NodeId node : nodes) {
      const std::optional<Candidate> single = arithmetic_.OnHost(graph, platform, node);
      if (!single) return;
      group.constant_bytes += single->constant_bytes;
      group.math = single->math;
    }
    AddForEachDevice(graph, platform, group, found);
  }

  Arithmetic arithmetic_;
};

}  // namespace

std::unique_ptr<Library> MakeSimulatedLibrary() { return std::make_unique<SimulatedLibrary>(); }

}  // namespace pt
