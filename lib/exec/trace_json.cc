// A run beside what its plan expected, as events of the Trace Event Format.
#include <algorithm>
#include <set>

#include "partitiontuner/exec/trace.h"
#include "partitiontuner/plan/memory_use.h"
#include "partitiontuner/plan/step_causes.h"
#include "partitiontuner/plan/step_text.h"
#include "partitiontuner/support/json.h"

namespace pt {
namespace {

// A timeline is a process of the format, a unit one of its threads. Perfetto takes the numbers of threads for those of
// one system, of which 0 is idle: no two tracks have the same.
struct TracedTimes {
  int64_t process = 0;
  std::string name;
  std::vector<StepTime> times;  // by step
  int64_t end_ns = 0;

  int64_t track(UnitId unit) const { return process * 1'000'000 + unit.value; }
};

// The format counts microseconds.
double Microseconds(int64_t ns) { return static_cast<double>(ns) / 1000.0; }

const char* CategoryOf(const Work& work) {
  if (std::holds_alternative<RunGroup>(work)) return "kernel";
  return std::holds_alternative<Copy>(work) ? "copy" : "reorder";
}

Json ArgumentsOf(const Graph& graph, const Plan& plan, StepId id) {
  const Step& step = plan.steps[id.index()];
  Json arguments = Json::MakeObject();
  arguments.Set("step", id.value).Set("expected_ns", step.expected_ns);
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

class TraceWriter {
 public:
  TraceWriter(const Platform& platform, const Graph& graph, const Plan& plan)
      : platform_(platform), graph_(graph), plan_(plan) {}

  void AddNames(const TracedTimes& timeline) {
    const auto name = [&](const char* what, int64_t track, const char* key, Json value) {
      Json row = Event(timeline, what, "M", track);
      row.Set("args", Json::MakeObject().Set(key, std::move(value)));
      events_.Push(std::move(row));
    };
    name("process_name", timeline.process, "name", timeline.name);
    name("process_sort_index", timeline.process, "sort_index", timeline.process);
    std::set<UnitId> units;
    for (const Step& step : plan_.steps) units.insert(step.unit);
    for (const UnitId unit : units) {
      name("thread_name", timeline.track(unit), "name", platform_.unit(unit).name);
      name("thread_sort_index", timeline.track(unit), "sort_index", unit.value);
    }
  }

  // `trace`: null for what is expected.
  void AddSteps(const TracedTimes& timeline, const Trace* trace) {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      const StepTime& time = timeline.times[s];
      Json row = Event(timeline, WorkLabel(graph_, plan_, step), "X", timeline.track(step.unit));
      row.Set("cat", CategoryOf(step.work)).Set("ts", Microseconds(time.start_ns));
      row.Set("dur", Microseconds(time.end_ns - time.start_ns));
      Json arguments = ArgumentsOf(graph_, plan_, StepId(s));
      if (trace != nullptr) {
        arguments.Set("wait_ns", trace->events[s].wait_ns).Set("simulated", trace->events[s].simulated);
      }
      row.Set("args", std::move(arguments));
      events_.Push(std::move(row));
    }
  }

  void AddArrows(const TracedTimes& timeline) {
    const std::vector<std::vector<StepCause>> causes = StepCausesOf(plan_, timeline.times);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (const StepCause& cause : causes[s]) AddArrow(timeline, cause, StepId(s));
    }
  }

  void AddMemory(const TracedTimes& timeline) {
    for (const auto& [device, use] : MemoryUseOf(plan_, timeline.times, timeline.end_ns)) {
      const std::string name = "memory of " + platform_.device(device).name;
      for (const auto& [at_ns, bytes] : use.bytes_at) {
        Json row = Event(timeline, name, "C", timeline.process);
        row.Set("ts", Microseconds(at_ns)).Set("args", Json::MakeObject().Set("bytes", bytes));
        events_.Push(std::move(row));
      }
    }
  }

  std::string Text() && {
    Json file = Json::MakeObject();
    file.Set("displayTimeUnit", "ns").Set("traceEvents", std::move(events_));
    return WriteJson(file, -1);
  }

 private:
  static Json Event(const TracedTimes& timeline, std::string name, const char* phase, int64_t track) {
    Json row = Json::MakeObject();
    row.Set("name", std::move(name)).Set("ph", phase).Set("pid", timeline.process).Set("tid", track);
    return row;
  }

  // It starts within its step, which no longer holds its end, and never points backwards: a device's step that waits
  // for another on the device starts, by the host's clock, when it is handed over.
  void AddArrow(const TracedTimes& timeline, const StepCause& cause, StepId to) {
    const StepTime& from_time = timeline.times[cause.from.index()];
    const int64_t end_ns = timeline.times[to.index()].start_ns;
    const int64_t start_ns = std::min(from_time.end_ns - 1, end_ns);
    if (start_ns < from_time.start_ns) return;
    const Step &first = plan_.steps[cause.from.index()], &second = plan_.steps[to.index()];
    const bool copies = std::holds_alternative<Copy>(first.work) || std::holds_alternative<Copy>(second.work);
    ++arrows_;
    const auto add = [&](const char* phase, UnitId unit, int64_t at_ns) {
      std::string name = cause.instance ? graph_.value(plan_.instances[cause.instance->index()].value).name : "wait";
      Json row = Event(timeline, std::move(name), phase, timeline.track(unit));
      row.Set("cat", copies ? "copy" : cause.instance ? "data" : "wait").Set("id", arrows_);
      row.Set("ts", Microseconds(at_ns));
      if (*phase == 'f') row.Set("bp", "e");  // into the step that is there, not the next one
      events_.Push(std::move(row));
    };
    add("s", first.unit, start_ns);
    add("f", second.unit, end_ns);
  }

  const Platform& platform_;
  const Graph& graph_;
  const Plan& plan_;
  Json events_ = Json::MakeArray();
  int64_t arrows_ = 0;  // of the whole file: their ids
};

}  // namespace

std::string ToTraceEventJson(const Trace& trace, const Platform& platform, const Graph& graph, const Plan& plan) {
  const bool simulated = std::ranges::any_of(trace.events, &TraceEvent::simulated);
  TracedTimes measured{2, simulated ? "measured, virtual clock" : "measured", {}, trace.run_ns};
  for (const TraceEvent& event : trace.events) measured.times.push_back({event.start_ns, event.end_ns});
  const TracedTimes expected{1, "predicted", ExpectedTimes(plan), plan.makespan.ns};
  TraceWriter writer(platform, graph, plan);
  writer.AddNames(expected);
  writer.AddNames(measured);
  writer.AddSteps(expected, nullptr);
  writer.AddSteps(measured, &trace);
  writer.AddArrows(expected);
  writer.AddArrows(measured);
  writer.AddMemory(expected);
  writer.AddMemory(measured);
  return std::move(writer).Text();
}

}  // namespace pt
