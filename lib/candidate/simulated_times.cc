// What a simulated device's file says of a group.
#include <algorithm>
#include <cmath>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/candidate/signature.h"

namespace pt {
namespace {

// "1x64x56x56"; "?" where some dim is not known.
std::string ShapeText(const Graph& graph, ValueId id) {
  const auto dims = graph.value(id).type.static_dims();
  if (!dims) return "?";
  std::string text;
  for (const int64_t dim : *dims) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

// "Conv 1x64x56x56,64x64x3x3>1x64x56x56": the operator with its first two inputs and its first output.
std::string ShapedFamily(const Graph& graph, const Node& node) {
  std::string text = node.op;
  for (size_t i = 0; i < std::min<size_t>(node.inputs.size(), 2); ++i) {
    if (node.inputs[i].valid()) text += (i == 0 ? " " : ",") + ShapeText(graph, node.inputs[i]);
  }
  if (!node.outputs.empty() && node.outputs[0].valid()) text += ">" + ShapeText(graph, node.outputs[0]);
  return text;
}

}  // namespace

const SimulatedRates::Family* RatesFamily(const SimulatedRates& rates, const Graph& graph,
                                          std::span<const NodeId> nodes) {
  const Node& node = graph.node(HeaviestNode(graph, nodes));
  auto family = rates.families.find(ShapedFamily(graph, node));
  if (family == rates.families.end()) family = rates.families.find(node.op);
  if (family == rates.families.end()) family = rates.families.find("*");
  return family == rates.families.end() ? nullptr : &family->second;
}

namespace {

const SimulatedRates* RatesOf(const Platform& platform, UnitClassId unit_class) {
  const auto rates = platform.simulated.find(platform.unit_class(unit_class).device);
  return rates == platform.simulated.end() ? nullptr : &rates->second;
}

// Of the nodes as one kernel.
std::optional<double> KernelNs(const SimulatedRates& rates, const Graph& graph, std::span<const NodeId> nodes) {
  const SimulatedRates::Family* rate = RatesFamily(rates, graph, nodes);
  if (rate == nullptr) return std::nullopt;
  const WorkSize work = WorkSizeOf(graph, nodes);
  double ns = rate->fixed_ns;
  if (rate->flops_per_ns > 0) ns += work.flops / rate->flops_per_ns;
  if (rate->bytes_per_ns > 0) ns += work.bytes / rate->bytes_per_ns;
  return ns;
}

// Of the nodes one behind the other.
std::optional<double> IslandNs(const SimulatedRates& rates, const Graph& graph, std::span<const NodeId> nodes) {
  double ns = 0;
  for (const NodeId& node : nodes) {
    const std::optional<double> own = KernelNs(rates, graph, std::span(&node, 1));
    if (!own) return std::nullopt;
    ns += *own;
  }
  return ns;
}

}  // namespace

std::optional<int64_t> SimulatedNs(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  const SimulatedRates* rates = RatesOf(platform, candidate.unit_class);
  if (rates == nullptr) return std::nullopt;
  if (!rates->exact_ns.empty()) {
    const auto exact = rates->exact_ns.find(ToHex(HashText(WorkSignature(graph, candidate.nodes))));
    if (exact != rates->exact_ns.end()) return exact->second;
  }
  const bool islands = platform.device(platform.unit_class(candidate.unit_class).device).calls.islands;
  const std::optional<double> ns =
      islands ? IslandNs(*rates, graph, candidate.nodes) : KernelNs(*rates, graph, candidate.nodes);
  if (!ns) return std::nullopt;
  return std::llround(std::min(rates->call_ns + *ns, 9e18));
}

double SimulatedDemand(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  const SimulatedRates* rates = RatesOf(platform, candidate.unit_class);
  if (rates == nullptr) return 0;
  const SimulatedRates::Family* family = RatesFamily(*rates, graph, candidate.nodes);
  const double demand = family == nullptr ? 1 : family->demand;
  if (rates->call_ns == 0) return demand;
  const auto ns = static_cast<double>(SimulatedNs(graph, platform, candidate).value_or(0));
  return ns > rates->call_ns ? demand * (ns - rates->call_ns) / ns : 0;
}

}  // namespace pt
