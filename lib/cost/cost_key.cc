// The key of a candidate's own work.
#include <algorithm>

#include "partitiontuner/cost/profiled_costs.h"

namespace pt {

CallersTensors CallersTensorsOf(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  CallersTensors tensors;
  if (!platform.unit_class(candidate.unit_class).on_host()) return tensors;
  const auto is_plain = [&](ValueId value, const Form& form) { return form == RowMajorForm(graph.value(value).type); };
  const auto is_among = [](std::span<const ValueId> values, ValueId value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  const auto is_first_reader = [&](ValueId value) {
    const auto reads = [&](const Node& node) { return is_among(node.inputs, value); };
    const auto first = std::find_if(graph.nodes().begin(), graph.nodes().end(), reads);
    const NodeId node(static_cast<size_t>(first - graph.nodes().begin()));
    return std::find(candidate.nodes.begin(), candidate.nodes.end(), node) != candidate.nodes.end();
  };
  const std::vector<ValueId> inputs = GroupInputs(graph, candidate.nodes);
  for (size_t i = 0; i < inputs.size() && i < candidate.in.size(); ++i) {
    if (!is_among(graph.inputs(), inputs[i]) || !is_plain(inputs[i], candidate.in[i])) continue;
    if (is_first_reader(inputs[i])) tensors.in.push_back(static_cast<uint32_t>(i));
  }
  const std::vector<ValueId> outputs = GroupOutputs(graph, candidate.nodes);
  for (size_t i = 0; i < outputs.size() && i < candidate.out.size(); ++i) {
    if (!is_among(graph.outputs(), outputs[i]) || !is_plain(outputs[i], candidate.out[i])) continue;
    tensors.out.push_back(static_cast<uint32_t>(i));
  }
  return tensors;
}

MeasurementKey CostKey(const Graph& graph, const Platform& platform, const Candidate& candidate,
                       std::string_view library_version, uint64_t reuse_distance) {
  MeasurementKey key = CandidateKey(graph, platform, candidate, library_version);
  const CallersTensors tensors = CallersTensorsOf(graph, platform, candidate);
  if (!tensors.in.empty() || !tensors.out.empty()) {
    key.text += " | caller's";
    for (const uint32_t i : tensors.in) key.text += " in" + std::to_string(i);
    for (const uint32_t i : tensors.out) key.text += " out" + std::to_string(i);
  }
  return AfterReuse(std::move(key), reuse_distance);
}

}  // namespace pt
