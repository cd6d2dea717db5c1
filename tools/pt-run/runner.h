// What the measuring modes of pt-run share: the loaded model with its data, a plan with its session and
// buffers, latencies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/engine/carried_runs.h"
#include "partitiontuner/engine/run_buffers.h"
#include "tools/common/estimates.h"
#include "tools/common/inputs.h"
#include "tools/pt-run/run_flags.h"

namespace pt::tools {

struct MeasuredPlan {
  std::string name;
  Plan plan;
  std::unique_ptr<Session> session;
  std::vector<int64_t> times_ns;
  std::vector<size_t> turns;                         // where in times_ns each turn begins
  std::optional<std::chrono::nanoseconds> deadline;  // of each run
  bool simulated = false;
  uint32_t tasks = 0;             // that a run gives to units while it runs; 0: it runs by a plan
  int64_t alone_runs = 0;         // of times_ns: those whose caller did all steps itself
  int64_t decision_ns = 0;        // that this took in all of times_ns together
  int64_t segment_launch_ns = 0;  // likewise, launching segments; 0 on a virtual clock
  RunBuffers inputs, outputs;
  std::optional<CarriedRuns> carried;  // with --carry
  RunReport last;                      // of its last run
  Unmeasured unmeasured;               // of the plan's prediction

  Result<RunReport> Run(const CancelToken& cancel, Trace* trace = nullptr);
  Result<std::vector<Tensor>> LastOutputs() const;
};

struct Setup {
  std::unique_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
  std::vector<Tensor> inputs;
  std::vector<Carry> carries;
};

Result<Setup> MakeSetup(const RunFlags& flags, const Console& console);
Result<MeasuredPlan> MakeRunner(const Setup& setup, const RunFlags& flags, const PlanSource& source,
                                const Console& console);

struct Latency {
  std::vector<int64_t> sorted;
  double mean_ns = 0;
};
Latency LatencyOf(std::vector<int64_t> times_ns);  // at least one
Json LatencyJson(const Latency& latency);
// Of the median.
double PredictionError(int64_t predicted_ns, const Latency& latency);

struct Percentile {
  std::string name;  // "p99.9"
  double percent = 0;
};
// What --percentiles lists. Errors: kUsage.
Result<std::vector<Percentile>> PercentilesFrom(const std::string& text);

// Of a mode that measures by the wall clock, which stands still while a simulated device works. Errors: kUsage.
Status NeedsWallClock(const RunReport& report, const std::string& flag);

// The exit code of a mode, once it has said why it failed or was interrupted.
int Finish(const Result<int>& result, const Console& console, const InterruptWatch& interrupt);
// The same of a mode that reports what it has when it is interrupted.
int FinishMeasuring(const Result<int>& result, const Console& console, const InterruptWatch& interrupt);

}  // namespace pt::tools
