#include "partitiontuner/exec/trace.h"

#include <algorithm>
#include <map>
#include <set>

#include "partitiontuner/support/json.h"

namespace pt {
namespace {

// A step's time on one core, for adding up what the cores did.
struct Span {
  int64_t start_ns = 0, end_ns = 0;
  int64_t wait_ns = 0;
  bool leads = false;
  double* share = nullptr;
};

std::string WorkLabel(const Graph& graph, const Plan& plan, const Step& step) {
  if (const auto* group = std::get_if<RunGroup>(&step.work)) {
    std::string label;
    for (NodeId node : plan.candidates[group->candidate.index()].nodes) {
      label += (label.empty() ? "" : " + ") + NodeLabel(graph, node);
    }
    return label;
  }
  const bool copy = std::holds_alternative<Copy>(step.work);
  const InstanceId from = copy ? std::get<Copy>(step.work).from : std::get<Reorder>(step.work).from;
  const ValueId value = plan.instances[from.index()].value;
  return std::string(copy ? "copy " : "reorder ") + graph.value(value).name;
}

const char* CategoryOf(const Work& work) {
  if (std::holds_alternative<RunGroup>(work)) return "kernel";
  return std::holds_alternative<Copy>(work) ? "copy" : "reorder";
}

Json ArgumentsOf(const Graph& graph, const Plan& plan, const TraceEvent& event) {
  const Step& step = plan.steps[event.step.index()];
  Json arguments = Json::MakeObject();
  arguments.Set("step", event.step.value);
  arguments.Set("wait_ns", event.wait_ns).Set("expected_ns", step.expected_ns);
  arguments.Set("simulated", event.simulated);
  const auto* group = std::get_if<RunGroup>(&step.work);
  if (group == nullptr) return arguments;
  const Candidate& candidate = plan.candidates[group->candidate.index()];
  arguments.Set("library", candidate.library).Set("variant", candidate.variant);
  Json sources = Json::MakeArray();
  for (NodeId node : candidate.nodes) {
    for (const Source& source : graph.node(node).source) {
      Json row = Json::MakeObject();
      row.Set("index", source.index).Set("first_output", source.first_output);
      if (!source.subgraph.empty()) row.Set("subgraph", source.subgraph);
      sources.Push(std::move(row));
    }
  }
  arguments.Set("sources", std::move(sources));
  return arguments;
}

}  // namespace

TraceShares SharesOf(const Trace& trace, const Platform& platform, const Plan& plan) {
  TraceShares shares;
  std::map<ResourceId, std::vector<Span>> cores;
  for (const TraceEvent& event : trace.events) {
    const Work& work = plan.steps[event.step.index()].work;
    double* share = std::holds_alternative<RunGroup>(work) ? &shares.kernels
                    : std::holds_alternative<Copy>(work)   ? &shares.copies
                                                           : &shares.reorders;
    bool leads = true;
    for (const auto& [resource, amount] : platform.unit(event.unit).uses) {
      if (!platform.resources[resource.index()].core) continue;
      cores[resource].push_back({event.start_ns, event.end_ns, event.wait_ns, leads, share});
      leads = false;
    }
  }
  const double whole = static_cast<double>(trace.run_ns) * static_cast<double>(cores.size());
  if (whole <= 0) return shares;
  for (auto& [core, spans] : cores) {
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
    int64_t free_since = 0;
    for (const Span& span : spans) {
      *span.share += static_cast<double>(span.end_ns - span.start_ns) / whole;
      // A helper does nothing but wait for its leader; of a leader's gap the rest is dispatch.
      const int64_t gap = std::max<int64_t>(0, span.start_ns - free_since);
      const int64_t waited = span.leads ? std::min(gap, span.wait_ns) : gap;
      shares.waits += static_cast<double>(waited) / whole;
      free_since = std::max(free_since, span.end_ns);
    }
    shares.waits += static_cast<double>(std::max<int64_t>(0, trace.run_ns - free_since)) / whole;
  }
  shares.overhead = std::max(0.0, 1.0 - shares.kernels - shares.reorders - shares.copies - shares.waits);
  return shares;
}

std::string ToTraceEventJson(const Trace& trace, const Platform& platform, const Graph& graph, const Plan& plan) {
  Json events = Json::MakeArray();
  std::set<UnitId> named;
  for (const TraceEvent& event : trace.events) {
    if (!named.insert(event.unit).second) continue;
    Json arguments = Json::MakeObject();
    arguments.Set("name", platform.unit(event.unit).name);
    Json lane = Json::MakeObject();
    lane.Set("name", "thread_name").Set("ph", "M").Set("pid", 1).Set("tid", event.unit.value);
    lane.Set("args", std::move(arguments));
    events.Push(std::move(lane));
  }
  for (const TraceEvent& event : trace.events) {
    Json row = Json::MakeObject();
    row.Set("name", WorkLabel(graph, plan, plan.steps[event.step.index()]));
    row.Set("cat", CategoryOf(plan.steps[event.step.index()].work)).Set("ph", "X");
    row.Set("ts", static_cast<double>(event.start_ns) / 1000.0);  // the format counts microseconds
    row.Set("dur", static_cast<double>(event.end_ns - event.start_ns) / 1000.0);
    row.Set("pid", 1).Set("tid", event.unit.value);
    row.Set("args", ArgumentsOf(graph, plan, event));
    events.Push(std::move(row));
  }
  Json file = Json::MakeObject();
  file.Set("displayTimeUnit", "ns").Set("traceEvents", std::move(events));
  return WriteJson(file, -1);
}

}  // namespace pt
