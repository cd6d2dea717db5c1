#include "partitiontuner/candidate/device_calls.h"

#include <algorithm>

#include "partitiontuner/candidate/run_time_sizes.h"

namespace pt {
namespace {

std::string Thousands(double flops) { return std::to_string(static_cast<int64_t>(flops / 1e3)) + " thousand"; }

}  // namespace

MathMode MathOf(const Device& device) { return MathModeFromName(device.calls.math).value_or(MathMode::kFp32); }

std::optional<std::string> WhyNoCall(const Device& device, const Graph& graph, NodeId id) {
  const std::vector<std::string>& operators = device.calls.operators;
  const Node& node = graph.node(id);
  if (!operators.empty() && (!node.domain.empty() || std::ranges::find(operators, node.op) == operators.end())) {
    return device.name + " does not take " + node.op;
  }
  if (!IsSizedBeforeRun(graph, std::span(&id, 1))) {
    return device.name + " takes no sizes that are not known until run time: " + NodeLabel(graph, id);
  }
  return std::nullopt;
}

std::optional<std::string> WhyNoCall(const Device& device, const Graph& graph, std::span<const NodeId> nodes) {
  for (const NodeId id : nodes) {
    if (auto why = WhyNoCall(device, graph, id)) return why;
  }
  if (device.calls.least_flops <= 0) return std::nullopt;
  const double flops = WorkSizeOf(graph, nodes).flops;
  if (flops >= device.calls.least_flops) return std::nullopt;
  return device.name + " is not called for " + Thousands(flops) + " operations: less than " +
         Thousands(device.calls.least_flops) + " are not worth a call";
}

std::optional<std::string> WhyNoCall(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  const Device& device = platform.device(platform.unit_class(candidate.unit_class).device);
  if (device.calls == CallRules()) return std::nullopt;
  if (candidate.math != MathOf(device)) {
    return device.name + " computes in " + std::string(MathModeName(MathOf(device))) + ", not in " +
           std::string(MathModeName(candidate.math));
  }
  return WhyNoCall(device, graph, candidate.nodes);
}

}  // namespace pt
