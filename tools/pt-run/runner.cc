#include "tools/pt-run/runner.h"

#include <algorithm>
#include <numeric>

#include "tools/common/models.h"
#include "tools/common/text.h"
#include "tools/pt-run/carry.h"
#include "tools/report/table.h"

namespace pt::tools {

Result<Setup> MakeSetup(const RunFlags& flags, const Console& console) {
  Setup setup;
  PT_ASSIGN(ModelOptions model_options, flags.model_options());
  PT_ASSIGN(GivenInputs given, ReadInputs(flags.common.inputs));
  model_options.to_plan =
      flags.choice.plan.empty() || !flags.compare.empty() || !flags.html.empty() || !flags.common.precision.empty();
  PT_ASSIGN(setup.engine, MakeEngine(flags.common));
  PT_ASSIGN(setup.model, LoadGiven(*setup.engine, flags.common, given, model_options));
  WarnOfModel(*setup.model, console);
  NotePrecision(*setup.model, console);
  PT_ASSIGN(setup.inputs, MakeInputs(*setup.model, given, flags.seed));
  PT_ASSIGN(setup.carries, CarriesOf(flags, *setup.model, given, setup.inputs));
  return setup;
}

Result<RunReport> MeasuredPlan::Run(const CancelToken& cancel, Trace* trace) {
  const RunOptions options{.deadline = deadline, .cancel = &cancel, .trace = trace};
  if (carried) return carried->Run(inputs.tensors(), outputs.tensors(), options);
  return session->Run(inputs.tensors(), outputs.tensors(), options);
}

Result<std::vector<Tensor>> MeasuredPlan::LastOutputs() const {
  if (!carried) return outputs.Copy(last);
  PT_ASSIGN(const std::vector<Datum> values, carried->CopyData(outputs, last));
  return TensorsOf(values);
}

Result<MeasuredPlan> MakeRunner(const Setup& setup, const RunFlags& flags, const PlanSource& source,
                                const Console& console) {
  PT_ASSIGN(ChosenPlan chosen, ChoosePlan(*setup.engine, *setup.model, source, console));
  MeasuredPlan runner;
  const Platform& platform = setup.engine->machine().platform();
  PT_ASSIGN(const SessionOptions options, flags.session_options(platform, chosen.plan, false));
  PT_ASSIGN(runner.session, MakeSession(*setup.engine, *setup.model, chosen, options));
  runner.name = std::move(chosen.name);
  runner.deadline = flags.deadline_for(chosen.plan);
  runner.plan = std::move(chosen.plan);
  if (chosen.dispatch) runner.tasks = static_cast<uint32_t>(chosen.dispatch->tasks.size());
  if (!chosen.dispatch && !runner.plan.complete) {
    runner.unmeasured = UnmeasuredOf(*setup.engine, *setup.model, runner.plan, source.options);
  }
  PT_ASSIGN(runner.inputs, RunBuffers::ForInputs(*runner.session, setup.inputs));
  PT_ASSIGN(runner.outputs, RunBuffers::ForOutputs(*runner.session));
  if (!setup.carries.empty()) {
    PT_ASSIGN(runner.carried, CarriedRuns::Make(*runner.session, setup.carries));
  }
  return runner;
}

Latency LatencyOf(std::vector<int64_t> times_ns) {
  Latency latency{std::move(times_ns), 0};
  std::sort(latency.sorted.begin(), latency.sorted.end());
  latency.mean_ns =
      std::accumulate(latency.sorted.begin(), latency.sorted.end(), 0.0) / static_cast<double>(latency.sorted.size());
  return latency;
}

Json LatencyJson(const Latency& latency) {
  Json json = Json::MakeObject();
  json.Set("p50", PercentileOf(latency.sorted, 50));
  json.Set("p90", PercentileOf(latency.sorted, 90));
  json.Set("p99", PercentileOf(latency.sorted, 99));
  json.Set("min", latency.sorted.front());
  json.Set("mean", latency.mean_ns);
  return json;
}

double PredictionError(int64_t predicted_ns, const Latency& latency) {
  return static_cast<double>(predicted_ns) / static_cast<double>(PercentileOf(latency.sorted, 50)) - 1;
}

Result<std::vector<Percentile>> PercentilesFrom(const std::string& text) {
  std::vector<Percentile> percentiles;
  for (const std::string& part : SplitList(text)) {
    PT_ASSIGN(const double percent, ParseNumber(part, "--percentiles"));
    if (percent < 0 || percent > 100)
      return MakeError(ErrorCode::kUsage, "usage.value", "--percentiles: " + part + " is not within 0 and 100");
    percentiles.push_back({"p" + part, percent});
  }
  return percentiles;
}

namespace {

// What the library cannot know: which flag set the limit.
Error WithAdvice(Error error) {
  if (!error.hint.empty()) return error;
  if (error.id == "run.deadline" || error.id == "run.stopped") error.hint = "--deadline sets another one; 0: none";
  if (error.id == "run.memory" || error.id == "session.memory_limit")
    error.hint = "--run-memory sets the limit of a run; 0: none";
  return error;
}

}  // namespace

Status NeedsWallClock(const RunReport& report, const std::string& flag) {
  if (!report.simulated) return {};
  return MakeError(ErrorCode::kUsage, "usage.simulated",
                   flag + " measures by the wall clock, but the plan uses a simulated device",
                   "plan for the host alone (--devices cpu), or leave " + flag + " out");
}

int Finish(const Result<int>& result, const Console& console, const InterruptWatch& interrupt) {
  if (result.ok()) return *result;
  if (!interrupt.token().cancelled()) return console.Fail(WithAdvice(result.error()));
  console.Note("interrupted");
  return interrupt.exit_code();
}

int FinishMeasuring(const Result<int>& result, const Console& console, const InterruptWatch& interrupt) {
  if (!result.ok() || !interrupt.token().cancelled()) return Finish(result, console, interrupt);
  console.Note("interrupted: these are the runs so far");
  return interrupt.exit_code();
}

}  // namespace pt::tools
