#include "lib/engine/plan_runner.h"

#include <algorithm>

#include "lib/engine/median.h"

namespace pt {

Result<PlanRunner> PlanRunner::Make(const PlanningContext& context, const Plan& plan, std::span<const Tensor> inputs) {
  PlanRunner runner;
  PT_ASSIGN(runner.session_, Session::Create(context.model.graph, plan, context.machine, context.session_options()));
  runner.run_options_ = context.limits.run_options(plan);
  PT_ASSIGN(runner.inputs_, RunBuffers::ForInputs(*runner.session_, inputs));
  PT_ASSIGN(runner.outputs_, RunBuffers::ForOutputs(*runner.session_));
  return runner;
}

// On a virtual clock the makespan is the time.
Result<int64_t> PlanRunner::RunOnce(Trace* trace) {
  RunOptions options = run_options_;
  options.trace = trace;
  PT_ASSIGN(const RunReport report, session_->Run(inputs_->tensors(), outputs_->tensors(), options));
  return std::max<int64_t>(1, report.simulated ? report.makespan_ns : report.wall_ns);
}

template <typename F>
Status PlanRunner::TakeTurn(std::chrono::nanoseconds turn, Trace* trace, const F& note) {
  PT_ASSIGN(const int64_t first, RunOnce(trace));
  (void)first;
  const auto end = std::chrono::steady_clock::now() + turn;
  do {
    PT_ASSIGN(const int64_t time, RunOnce(trace));
    note(time);
  } while (std::chrono::steady_clock::now() < end);
  return {};
}

Result<int64_t> PlanRunner::MedianOfTurn(std::chrono::nanoseconds turn) {
  std::vector<int64_t> times;
  PT_CHECK_OK(TakeTurn(turn, nullptr, [&](int64_t time) { times.push_back(time); }));
  return MedianOf(std::move(times));
}

Result<std::vector<int64_t>> PlanRunner::StepMediansOfTurn(std::chrono::nanoseconds turn) {
  Trace trace;
  std::vector<std::vector<int64_t>> times;
  PT_CHECK_OK(TakeTurn(turn, &trace, [&](int64_t) {
    times.resize(trace.events.size());
    for (size_t s = 0; s < times.size(); ++s) {
      times[s].push_back(trace.events[s].end_ns - trace.events[s].start_ns);
    }
  }));
  std::vector<int64_t> medians;
  for (std::vector<int64_t>& of_step : times) medians.push_back(MedianOf(std::move(of_step)));
  return medians;
}

}  // namespace pt
