// Trace: what happened in a run, step by step, and its Chrome/Perfetto form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// A step as it ran.
struct TraceEvent {
  StepId step;
  UnitId unit;
  int64_t wait_ns = 0;               // spent waiting before it started
  int64_t start_ns = 0, end_ns = 0;  // since the run's start
  bool simulated = false;            // on the virtual clock
};
struct Trace {
  std::vector<TraceEvent> events;  // by step id
  int64_t run_ns = 0;
};

// Where the time of a run went, on the cores: kernels, reorders, copies, waits, rest.
struct TraceShares {
  double kernels = 0, reorders = 0, copies = 0, waits = 0, overhead = 0;  // of cores × makespan; sum 1
};
TraceShares SharesOf(const Trace& trace, const Platform& platform, const Plan& plan);

// Trace Event Format JSON, which opens in Perfetto: the run and, above it, what the plan expected, each with a track a
// unit; arrows from step to step where one on another unit makes what is read, or is waited for; a counter of the bytes
// in use in each device's arena. The trace is of a run of this plan, which is sane: ids in range.
std::string ToTraceEventJson(const Trace& trace, const Platform& platform, const Graph& graph, const Plan& plan);

}  // namespace pt
