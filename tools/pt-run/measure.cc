// pt-run MODEL: how long a run takes, predicted and measured.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

#include "partitiontuner/engine/npy.h"
#include "partitiontuner/exec/host_pace.h"
#include "partitiontuner/onnx/tensor_proto.h"
#include "partitiontuner/support/file.h"
#include "tools/common/text.h"
#include "tools/pt-run/assertions.h"
#include "tools/pt-run/page.h"
#include "tools/pt-run/residuals.h"
#include "tools/pt-run/run_flags.h"
#include "tools/pt-run/runner.h"
#include "tools/pt-run/speedup.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

// One run; its time goes to the list. On a virtual clock the makespan is the time: the wall clock
// saw the host compute what the simulated device would have.
Status TimedRun(MeasuredPlan& runner, const CancelToken& cancel, bool keep) {
  const auto start = std::chrono::steady_clock::now();
  PT_ASSIGN(RunReport report, runner.Run(cancel));
  const auto end = std::chrono::steady_clock::now();
  runner.simulated = report.simulated;
  if (keep) {
    runner.times_ns.push_back(std::max<int64_t>(1, report.simulated ? report.makespan_ns : (end - start).count()));
    runner.alone_runs += report.alone ? 1 : 0;
    runner.decision_ns += report.decision_ns;
    runner.segment_launch_ns += report.segment_launch_ns;
  }
  runner.last = std::move(report);
  return {};
}

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpRuns = 3;

// Memory for the times is reserved before the clock starts, by the pace of the warm-up, so that
// growing disturbs no run.
Status WarmUp(MeasuredPlan& runner, const MeasureLength& length, const CancelToken& cancel) {
  const auto begin = Clock::now();
  for (int i = 0; i < kWarmUpRuns; ++i) PT_CHECK_OK(TimedRun(runner, cancel, false));
  if (runner.carried) PT_CHECK_OK(runner.carried->Reset());  // --iterations counts from the initial state
  const auto once = std::max<Clock::duration>((Clock::now() - begin) / kWarmUpRuns, std::chrono::nanoseconds(100));
  const uint64_t expected = length.iterations > 0
                                ? length.iterations
                                : static_cast<uint64_t>(std::max<int64_t>(1000, 2 * (length.duration / once)));
  runner.times_ns.reserve(std::min<uint64_t>(expected, 1 << 24));
  return {};
}

// Turns over all runners, so that whatever disturbs the machine hits all alike. A turn is long
// enough for the caches to hold one plan's weights, as they do when a plan runs alone; the run that
// brings them in does not count.
// Once each has been through a turn, cancelling ends it with the turns that all have finished.
Status MeasureAll(std::vector<MeasuredPlan>& runners, const MeasureLength& length, Console& console,
                  const CancelToken& cancel) {
  constexpr auto kTurn = std::chrono::milliseconds(50);
  for (MeasuredPlan& runner : runners) PT_CHECK_OK(WarmUp(runner, length, cancel));
  const auto end = Clock::now() + length.duration * static_cast<int64_t>(runners.size());
  const auto unfinished = [&](const MeasuredPlan& runner) {
    if (length.iterations > 0) return runner.times_ns.size() < length.iterations;
    return runner.times_ns.empty() || Clock::now() < end;
  };
  const auto take_turn = [&](MeasuredPlan& runner) -> Status {
    if (runners.size() > 1) PT_CHECK_OK(TimedRun(runner, cancel, false));
    runner.turns.push_back(runner.times_ns.size());
    const auto turn_end = Clock::now() + kTurn;
    do {
      PT_CHECK_OK(TimedRun(runner, cancel, true));
    } while (unfinished(runner) && Clock::now() < turn_end);
    return {};
  };
  std::vector<size_t> runs(runners.size()), turns(runners.size());  // of whole rounds
  while (std::any_of(runners.begin(), runners.end(), unfinished)) {
    for (MeasuredPlan& runner : runners) {
      if (!unfinished(runner)) continue;
      const Status turn = take_turn(runner);
      if (turn.ok()) continue;
      console.EndProgress();
      if (!cancel.cancelled() || runs[0] == 0) return turn;
      for (size_t i = 0; i < runners.size(); ++i) {
        runners[i].times_ns.resize(runs[i]);
        runners[i].turns.resize(turns[i]);
      }
      return {};
    }
    for (size_t i = 0; i < runners.size(); ++i) {
      runs[i] = runners[i].times_ns.size();
      turns[i] = runners[i].turns.size();
    }
    console.ShowRuns(runs[0]);
  }
  console.EndProgress();
  return {};
}

// What tells the machine's pace: 0 where it says nothing, for plans whose times are given or of simulated devices.
struct ReferenceTimes {
  int64_t work_ns = 0, hand_over_ns = 0;
};

Result<ReferenceTimes> TimeReferences(const MeasuredPlan& runner) {
  ReferenceTimes times;
  if (runner.simulated) return times;
  Machine& machine = runner.session->machine();
  const PlanReport& report = runner.plan.report;
  if (report.reference_ns > 0) {
    PT_ASSIGN(times.work_ns, TimeHostPace(machine));
  }
  if (report.hand_over_ns > 0) {
    PT_ASSIGN(times.hand_over_ns, TimeHostHandOver(machine));
  }
  return times;
}

// By the references around the runs.
std::optional<Pace> PaceOf(const Plan& plan, const ReferenceTimes& before, const ReferenceTimes& after) {
  if (plan.report.reference_ns == 0 || before.work_ns == 0 || after.work_ns == 0) return std::nullopt;
  Pace pace;
  pace.work = static_cast<double>(before.work_ns + after.work_ns) / 2 / static_cast<double>(plan.report.reference_ns);
  pace.hand_over_ns = (before.hand_over_ns + after.hand_over_ns) / 2;
  return pace;
}

// Traced runs, by their lengths. Tracing happens apart from measuring, which it would disturb.
Result<std::vector<Trace>> TraceRuns(MeasuredPlan& runner, size_t count, const CancelToken& cancel) {
  std::vector<Trace> traces(count);
  for (Trace& trace : traces) {
    PT_ASSIGN(const RunReport report, runner.Run(cancel, &trace));
    (void)report;
  }
  std::sort(traces.begin(), traces.end(), [](const Trace& a, const Trace& b) { return a.run_ns < b.run_ns; });
  return traces;
}

Json SharesJson(const TraceShares& shares) {
  Json json = Json::MakeObject();
  json.Set("kernels", shares.kernels);
  json.Set("reorders", shares.reorders);
  json.Set("copies", shares.copies);
  json.Set("waits", shares.waits);
  json.Set("overhead", shares.overhead);
  return json;
}

Status SaveOutputs(const MeasuredPlan& runner, const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  PT_ASSIGN(const std::vector<Tensor> tensors, runner.LastOutputs());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool packed = BytesOf(tensors[i].type()) == 0;  // NumPy has elements of whole bytes
    PT_ASSIGN(const std::string bytes, packed ? TensorProtoBytes(tensors[i]) : NpyBytes(tensors[i]));
    const std::string name = "output_" + std::to_string(i) + (packed ? ".pb" : ".npy");
    PT_CHECK_OK(WriteFileAtomically((std::filesystem::path(folder) / name).string(), bytes));
  }
  return {};
}

// Medians far above the fastest run speak of the machine, not of the plan.
void NoteUnsteadyPace(const std::vector<MeasuredPlan>& runners, const Console& console) {
  constexpr double kUnsteady = 1.3;
  double least = HUGE_VAL;
  for (const MeasuredPlan& runner : runners) {
    const Latency latency = LatencyOf(runner.times_ns);
    least = std::min(
        least, static_cast<double>(PercentileOf(latency.sorted, 50)) / static_cast<double>(latency.sorted.front()));
  }
  if (least < kUnsteady) return;
  console.Note("half of the runs took over " + Fixed(least, 1) +
               " times as long as the fastest: something else uses this machine, or its clock "
               "changes");
}

// What --aa says: nothing smaller can be told apart here.
std::string FloorLine(const Speedup& speedup) {
  if (!speedup.has_interval()) return " floor: too few turns to tell; measure longer (--duration)\n";
  return " floor: the same plan twice differs by " + Percent(speedup.median - 1) + ", surely by no more than " +
         Percent(std::max(std::fabs(speedup.low - 1), std::fabs(speedup.high - 1))) + "\n";
}

// What deciding takes in a run.
int64_t DecisionNs(const MeasuredPlan& runner) {
  return runner.decision_ns / static_cast<int64_t>(runner.times_ns.size());
}

// What there is to know of a row beside its numbers.
std::string Remark(const MeasuredPlan& runner) {
  std::string remark = runner.simulated ? "simulated" : "";
  if (runner.tasks > 0) {
    const int64_t each_ns = DecisionNs(runner) / runner.tasks;
    remark += (remark.empty() ? "" : ", ") + std::to_string(runner.tasks) + " decisions of " + ShortTime(each_ns);
  } else if (!runner.simulated && runner.unmeasured.time.ns > 0) {
    remark = Percent(runner.unmeasured.time.share) + " of the prediction is estimated";
  }
  return remark;
}

Result<std::string> LatencyTable(std::span<const MeasuredPlan> runners, const std::string& percentiles) {
  PT_ASSIGN(const std::vector<Percentile> wanted, PercentilesFrom(percentiles));
  std::vector<std::string> columns = {"run"};
  for (const Percentile& percentile : wanted) columns.push_back(percentile.name);
  for (const char* column : {"min", "mean", "runs", "predicted", "error"}) columns.push_back(column);
  if (runners.size() > 1) columns.push_back("speedup");
  columns.push_back("<");
  TextTable table(columns);
  for (const MeasuredPlan& runner : runners) {
    const Latency latency = LatencyOf(runner.times_ns);
    std::vector<std::string> row = {runner.name};
    for (const Percentile& p : wanted) row.push_back(ShortTime(PercentileOf(latency.sorted, p.percent)));
    row.push_back(ShortTime(latency.sorted.front()));
    row.push_back(ShortTime(static_cast<int64_t>(latency.mean_ns)));
    row.push_back(std::to_string(latency.sorted.size()));
    row.push_back(runner.tasks > 0 ? "-" : ShortTime(runner.plan.makespan.ns));
    row.push_back(runner.tasks > 0 ? "-" : Percent(PredictionError(runner.plan.makespan.ns, latency)));
    std::string remark = Remark(runner);
    if (runners.size() > 1) {
      const Speedup speedup = SpeedupOver(runners[0], runner);
      const bool first = &runner == runners.data();
      row.push_back(first ? Fixed(1, 3) : ToString(speedup));
      const std::string sure = first ? std::string() : RemarkOn(speedup);
      if (!sure.empty()) remark += (remark.empty() ? "" : ", ") + sure;
    }
    row.push_back(std::move(remark));
    table.Row(std::move(row));
  }
  return table.Text();
}

std::string SharesLine(const TraceShares& shares) {
  return " core time: kernels " + Percent(shares.kernels) + ", reorders " + Percent(shares.reorders) + ", copies " +
         Percent(shares.copies) + ", waits " + Percent(shares.waits) + ", overhead " + Percent(shares.overhead) + "\n";
}

// Of a plan for several cores. A few tell nothing: either way is tried now and then.
std::string AloneLine(const MeasuredPlan& runner) {
  const auto runs = static_cast<int64_t>(runner.times_ns.size());
  if (runner.alone_runs * 4 < runs) return {};
  return " alone: " + std::to_string(runner.alone_runs) + " of " + std::to_string(runs) +
         " runs were done by the calling thread itself: the other cores are busy, or gain nothing here\n";
}

// What launching segments takes a run, by the mean.
int64_t SegmentLaunchNs(const MeasuredPlan& runner) {
  return runner.segment_launch_ns / static_cast<int64_t>(runner.times_ns.size());
}

std::string SegmentsLine(const MeasuredPlan& runner) {
  const CaptureReport captured = runner.session->capture();
  if (captured.segments == 0) return {};
  const SegmentReport& predicted = runner.plan.report.segments;
  std::string text = " segments: " + std::to_string(captured.segments) + " of " + std::to_string(captured.steps) +
                     " steps together, launches of ";
  text += predicted.segments > 0 ? ShortTime(predicted.launch_ns) + " predicted" : "unknown length";
  if (runner.segment_launch_ns > 0) text += ", " + ShortTime(SegmentLaunchNs(runner)) + " measured";
  text += "\n";
  for (const std::string& why : captured.refused) text += " segment not recorded, launched step by step: " + why + "\n";
  return text;
}

void AddSegments(const MeasuredPlan& runner, Json& json) {
  const CaptureReport captured = runner.session->capture();
  if (captured.segments == 0) return;
  Json segments = Json::MakeObject();
  segments.Set("count", static_cast<int64_t>(captured.segments)).Set("steps", static_cast<int64_t>(captured.steps));
  if (runner.segment_launch_ns > 0) segments.Set("launch_ns", SegmentLaunchNs(runner));
  const SegmentReport& predicted = runner.plan.report.segments;
  if (predicted.segments > 0) segments.Set("predicted_launch_ns", predicted.launch_ns);
  if (!captured.refused.empty()) {
    Json refused = Json::MakeArray();
    for (const std::string& why : captured.refused) refused.Push(why);
    segments.Set("refused", std::move(refused));
  }
  json.Set("segments", std::move(segments));
}

int64_t PredictedAt(const MeasuredPlan& runner, const Pace& pace) {
  return PredictedAt(runner.session->machine().platform(), runner.plan, pace);
}

std::string PaceLine(const MeasuredPlan& runner, const std::optional<Pace>& pace) {
  if (!pace) return {};
  const int64_t predicted_ns = PredictedAt(runner, *pace), assumed_ns = runner.plan.report.hand_over_ns;
  std::string text =
      " pace: reference work takes " + Fixed(pace->work, 2) + " times as long as when the plan's times were measured";
  if (pace->hand_over_ns > 0) {
    text += ", hand-overs between cores " + ShortTime(pace->hand_over_ns) + " instead of " + ShortTime(assumed_ns);
  }
  return text + "; " + ShortTime(predicted_ns) + " predicted at this pace, error " +
         Percent(PredictionError(predicted_ns, LatencyOf(runner.times_ns))) + "\n";
}

// By the median.
double RequestsPerSecond(const Latency& latency, uint32_t requests) {
  return 1e9 * requests / static_cast<double>(std::max<int64_t>(1, PercentileOf(latency.sorted, 50)));
}

std::string RequestsLine(const MeasuredPlan& runner, uint32_t requests) {
  if (requests < 2) return {};
  return " a run answers " + std::to_string(requests) +
         " requests: " + Fixed(RequestsPerSecond(LatencyOf(runner.times_ns), requests), 1) + " a second\n";
}

void AddRequests(const Latency& latency, uint32_t requests, Json& json) {
  if (requests < 2) return;
  json.Set("requests", static_cast<int64_t>(requests));
  json.Set("requests_per_s", RequestsPerSecond(latency, requests));
}

// Of runs that decide there is no prediction and no trace.
Result<int> MeasuredDispatch(const RunFlags& flags, const MeasuredPlan& runner, uint32_t requests,
                             std::span<const JudgedAssertion> judged) {
  if (!flags.common.json()) {
    PT_ASSIGN(const std::string table, LatencyTable({&runner, 1}, flags.percentiles));
    PT_CHECK_OK(WriteOut(table + RequestsLine(runner, requests) + AssertionLines(judged)));
    return ExitCodeOf(judged);
  }
  const Latency latency = LatencyOf(runner.times_ns);
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model());
  json.Set("dispatch", flags.choice.dispatch);
  json.Set("latency_ns", LatencyJson(latency));
  json.Set("runs", static_cast<int64_t>(latency.sorted.size()));
  AddRequests(latency, requests, json);
  json.Set("tasks", static_cast<int64_t>(runner.tasks));
  json.Set("decision_ns", DecisionNs(runner));
  json.Set("simulated", runner.simulated);
  AddAssertions(judged, json);
  PT_CHECK_OK(WriteOut(WriteJson(json) + "\n"));
  return ExitCodeOf(judged);
}

// What a plan's runs took, as JSON.
Json LatencyRow(const MeasuredPlan& runner) {
  const Latency latency = LatencyOf(runner.times_ns);
  Json row = Json::MakeObject();
  row.Set("plan", runner.name);
  row.Set("latency_ns", LatencyJson(latency));
  row.Set("runs", static_cast<int64_t>(latency.sorted.size()));
  return row;
}

// The times alone: of runs that were interrupted.
Result<int> ReportSoFar(const std::vector<MeasuredPlan>& runners, const RunFlags& flags) {
  if (!flags.common.json()) {
    PT_ASSIGN(const std::string table, LatencyTable(runners, flags.percentiles));
    PT_CHECK_OK(WriteOut(table));
    return 0;
  }
  Json rows = Json::MakeArray();
  for (const MeasuredPlan& runner : runners) rows.Push(LatencyRow(runner));
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model());
  json.Set("interrupted", true);
  json.Set("measured", std::move(rows));
  PT_CHECK_OK(WriteOut(WriteJson(json) + "\n"));
  return 0;
}

Result<int> Measured(const RunFlags& flags, Console& console, const CancelToken& cancel) {
  PT_ASSIGN(const MeasureLength length, MeasureLengthOf(flags));
  PT_ASSIGN(const std::vector<Assertion> assertions, AssertionsFrom(flags.assertions, false));
  PT_ASSIGN(const Setup setup, MakeSetup(flags, console));
  std::vector<MeasuredPlan> runners(1);
  PT_ASSIGN(const PlanSource source, flags.plan_source(setup.engine->machine().platform()));
  PT_ASSIGN(runners[0], MakeRunner(setup, flags, source, console));
  for (const std::string& line : UnmeasuredLines(runners[0].unmeasured, flags.common)) console.Note("note: " + line);
  PT_ASSIGN(const ReferenceTimes before, TimeReferences(runners[0]));
  PT_CHECK_OK(MeasureAll(runners, length, console, cancel));
  if (cancel.cancelled()) return ReportSoFar(runners, flags);
  NoteUnsteadyPace(runners, console);
  MeasuredPlan& runner = runners[0];
  if (!flags.save_outputs.empty()) PT_CHECK_OK(SaveOutputs(runner, flags.save_outputs));
  const std::vector<JudgedAssertion> judged = Judge(assertions, runners);
  if (runner.tasks > 0) return MeasuredDispatch(flags, runner, setup.model->rewrites.requests, judged);
  PT_ASSIGN(const ReferenceTimes after, TimeReferences(runner));
  const std::optional<Pace> pace = PaceOf(runner.plan, before, after);
  const Result<std::vector<Trace>> traced = TraceRuns(runner, flags.residuals || !flags.html.empty() ? 31 : 5, cancel);
  if (cancel.cancelled()) return ReportSoFar(runners, flags);
  PT_ASSIGN(const std::vector<Trace> traces, traced);
  const Trace& middle = traces[traces.size() / 2];
  const TraceShares shares = SharesOf(middle, setup.engine->machine().platform(), runner.plan);
  std::optional<ResidualReport> residuals;
  if (flags.residuals) residuals = ResidualsOfTraces(runner, traces, pace.value_or(Pace()));
  if (!flags.trace.empty()) {
    PT_CHECK_OK(WriteTo(
        flags.trace, ToTraceEventJson(middle, setup.engine->machine().platform(), *setup.model->graph, runner.plan)));
  }
  PT_CHECK_OK(WriteRunPage(flags, setup, runner, traces, pace));
  if (!flags.common.json()) {
    PT_ASSIGN(const std::string table, LatencyTable(runners, flags.percentiles));
    PT_CHECK_OK(WriteOut(table + AloneLine(runner) + SharesLine(shares) +
                         RequestsLine(runner, setup.model->rewrites.requests) + SegmentsLine(runner) +
                         PaceLine(runner, pace) + (residuals ? ResidualText(runner, *residuals) : "") +
                         AssertionLines(judged)));
    return ExitCodeOf(judged);
  }
  const Latency latency = LatencyOf(runner.times_ns);
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model());
  json.Set("plan", runner.name);
  json.Set("planner", runner.plan.planner);
  json.Set("latency_ns", LatencyJson(latency));
  json.Set("runs", static_cast<int64_t>(latency.sorted.size()));
  json.Set("alone_runs", runner.alone_runs);
  AddRequests(latency, setup.model->rewrites.requests, json);
  json.Set("predicted_ns", runner.plan.makespan.ns);
  json.Set("prediction_error", PredictionError(runner.plan.makespan.ns, latency));
  if (pace) {
    json.Set("pace", pace->work);
    if (pace->hand_over_ns > 0) {
      json.Set("hand_over_ns", pace->hand_over_ns);
      json.Set("assumed_hand_over_ns", runner.plan.report.hand_over_ns);
    }
    json.Set("prediction_error_at_pace", PredictionError(PredictedAt(runner, *pace), latency));
  }
  json.Set("prediction_complete", runner.plan.complete);
  if (!runner.unmeasured.is_none()) json.Set("estimated", ToJson(runner.unmeasured, flags.common));
  json.Set("simulated", runner.simulated);
  json.Set("steps", static_cast<int64_t>(runner.plan.steps.size()));
  json.Set("shares", SharesJson(shares));
  AddSegments(runner, json);
  if (residuals) json.Set("residuals", ResidualJson(runner, *residuals));
  AddAssertions(judged, json);
  PT_CHECK_OK(WriteOut(WriteJson(json) + "\n"));
  return ExitCodeOf(judged);
}

Result<int> Compared(const RunFlags& flags, Console& console, const CancelToken& cancel) {
  PT_ASSIGN(const MeasureLength length, MeasureLengthOf(flags));
  PT_ASSIGN(const std::vector<Assertion> assertions, AssertionsFrom(flags.assertions, true));
  PT_ASSIGN(const Setup setup, MakeSetup(flags, console));
  std::vector<MeasuredPlan> runners;
  PT_ASSIGN(PlanSource source, flags.plan_source(setup.engine->machine().platform()));
  if (!flags.choice.plan.empty() && !flags.same) {
    PT_ASSIGN(MeasuredPlan runner, MakeRunner(setup, flags, source, console));
    runners.push_back(std::move(runner));
  }
  if (flags.same) {
    for (int i = 0; i < 2; ++i) {
      PT_ASSIGN(MeasuredPlan runner, MakeRunner(setup, flags, source, console));
      if (i == 1) runner.name += " again";
      runners.push_back(std::move(runner));
    }
  }
  for (const std::string& name : SplitList(flags.compare)) {
    source.plan_file.clear();
    source.planner = name;
    PT_ASSIGN(MeasuredPlan runner, MakeRunner(setup, flags, source, console));
    runners.push_back(std::move(runner));
  }
  PT_CHECK_OK(MeasureAll(runners, length, console, cancel));
  if (cancel.cancelled()) return ReportSoFar(runners, flags);
  NoteUnsteadyPace(runners, console);
  const std::vector<JudgedAssertion> judged = Judge(assertions, runners);
  if (!flags.common.json()) {
    PT_ASSIGN(const std::string table, LatencyTable(runners, flags.percentiles));
    PT_CHECK_OK(
        WriteOut(table + (flags.same ? FloorLine(SpeedupOver(runners[0], runners[1])) : "") + AssertionLines(judged)));
    return ExitCodeOf(judged);
  }
  Json rows = Json::MakeArray();
  for (const MeasuredPlan& runner : runners) {
    Json row = LatencyRow(runner);
    if (runner.tasks > 0) {
      row.Set("tasks", static_cast<int64_t>(runner.tasks));
      row.Set("decision_ns", DecisionNs(runner));
    } else {
      row.Set("alone_runs", runner.alone_runs);
      row.Set("predicted_ns", runner.plan.makespan.ns);
    }
    row.Set("simulated", runner.simulated);
    AddTo(row, SpeedupOver(runners[0], runner));
    rows.Push(std::move(row));
  }
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model());
  json.Set("compared", std::move(rows));
  AddAssertions(judged, json);
  PT_CHECK_OK(WriteOut(WriteJson(json) + "\n"));
  return ExitCodeOf(judged);
}

}  // namespace

int RunMeasured(const RunFlags& flags, Console& console, const InterruptWatch& interrupt) {
  return FinishMeasuring(Measured(flags, console, interrupt.token()), console, interrupt);
}

int RunCompared(const RunFlags& flags, Console& console, const InterruptWatch& interrupt) {
  return FinishMeasuring(Compared(flags, console, interrupt.token()), console, interrupt);
}

}  // namespace pt::tools
