// pt-run --concurrency N: what several callers of one session get done at once, against one alone.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "partitiontuner/engine/verify.h"
#include "tools/common/text.h"
#include "tools/pt-run/run_flags.h"
#include "tools/pt-run/runner.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

using Clock = std::chrono::steady_clock;

// A thread's own buffers and what its runs took. All read the same inputs.
struct Caller {
  RunBuffers outputs;
  std::vector<int64_t> times_ns;
  RunReport last;  // of its last run
};

// What callers did together over all their turns.
struct Tally {
  std::vector<int64_t> times_ns;
  Clock::duration lasted{};

  double runs_per_s() const {
    return static_cast<double>(times_ns.size()) / std::chrono::duration<double>(lasted).count();
  }
};

// How long one turn is: until `runs` of each caller are over, or that long if 0.
struct TurnLength {
  std::optional<std::chrono::nanoseconds> deadline;  // of each run
  uint64_t runs = 0;
  Clock::duration duration{};
};

Status RunAgainAndAgain(Session& session, const RunBuffers& inputs, Caller& caller, const TurnLength& length,
                        const CancelToken& cancel, const std::atomic<bool>& failed) {
  const RunOptions options{.deadline = length.deadline, .cancel = &cancel};
  const auto end = Clock::now() + length.duration;
  for (uint64_t run = 0; !failed.load() && (length.runs > 0 ? run < length.runs : run == 0 || Clock::now() < end);
       ++run) {
    const auto start = Clock::now();
    PT_ASSIGN(caller.last, session.Run(inputs.tensors(), caller.outputs.tensors(), options));
    PT_CHECK_OK(NeedsWallClock(caller.last, "--concurrency"));
    caller.times_ns.push_back(std::max<int64_t>(1, (Clock::now() - start).count()));
  }
  return {};
}

Status TakeTurn(Session& session, const RunBuffers& inputs, std::span<Caller> callers, const TurnLength& length,
                const CancelToken& cancel, Tally& tally) {
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Status status;
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (Caller& caller : callers) {
    threads.emplace_back([&] {
      Status own = RunAgainAndAgain(session, inputs, caller, length, cancel, failed);
      if (own.ok()) return;
      const std::lock_guard lock(mutex);
      if (!failed.exchange(true)) status = std::move(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  tally.lasted += Clock::now() - start;
  for (Caller& caller : callers) {
    tally.times_ns.insert(tally.times_ns.end(), caller.times_ns.begin(), caller.times_ns.end());
    caller.times_ns.clear();
  }
  return status;
}

Result<bool> SameOutputs(const Caller& a, const Caller& b) {
  PT_ASSIGN(const std::vector<Tensor> ones, a.outputs.Copy(a.last));
  PT_ASSIGN(const std::vector<Tensor> others, b.outputs.Copy(b.last));
  return std::ranges::equal(ones, others, SameBits);
}

Json TallyJson(const Tally& tally) {
  Json json = Json::MakeObject();
  json.Set("runs", static_cast<int64_t>(tally.times_ns.size()));
  json.Set("runs_per_s", tally.runs_per_s());
  json.Set("latency_ns", LatencyJson(LatencyOf(tally.times_ns)));
  return json;
}

Status Print(const RunFlags& flags, const MeasuredPlan& runner, const Tally& alone, const Tally& together) {
  const double gain = together.runs_per_s() / alone.runs_per_s();
  if (flags.common.json()) {
    Json json = Json::MakeObject();
    json.Set("model", flags.common.model());
    json.Set("plan", runner.name);
    json.Set("concurrency", static_cast<int64_t>(flags.concurrency));
    json.Set("alone", TallyJson(alone));
    json.Set("together", TallyJson(together));
    json.Set("throughput", gain);
    return WriteOut(WriteJson(json) + "\n");
  }
  TextTable table({"callers", "runs/s", "p50", "p90", "p99", "min", "runs", "throughput"});
  const auto row = [&](uint32_t callers, const Tally& tally, double throughput) {
    const Latency latency = LatencyOf(tally.times_ns);
    table.Row({std::to_string(callers), Fixed(tally.runs_per_s(), 1), ShortTime(PercentileOf(latency.sorted, 50)),
               ShortTime(PercentileOf(latency.sorted, 90)), ShortTime(PercentileOf(latency.sorted, 99)),
               ShortTime(latency.sorted.front()), std::to_string(latency.sorted.size()), Fixed(throughput, 3)});
  };
  row(1, alone, 1);
  row(flags.concurrency, together, gain);
  return WriteOut(table.Text());
}

Result<int> Concurrent(const RunFlags& flags, Console& console, const CancelToken& cancel) {
  constexpr auto kTurn = std::chrono::milliseconds(200);
  PT_ASSIGN(const MeasureLength length, MeasureLengthOf(flags));
  PT_ASSIGN(const Setup setup, MakeSetup(flags, console));
  PT_ASSIGN(const PlanSource source, flags.plan_source(setup.engine->machine().platform()));
  PT_ASSIGN(const MeasuredPlan runner, MakeRunner(setup, flags, source, console));
  std::vector<Caller> callers(flags.concurrency);
  for (Caller& caller : callers) {
    PT_ASSIGN(caller.outputs, RunBuffers::ForOutputs(*runner.session));
  }
  Tally warm, alone, together;
  // One alone for reference; then all at once, so that the run states are made.
  Caller reference;
  PT_ASSIGN(reference.outputs, RunBuffers::ForOutputs(*runner.session));
  PT_CHECK_OK(TakeTurn(*runner.session, runner.inputs, {&reference, 1}, {runner.deadline, 1, {}}, cancel, warm));
  PT_CHECK_OK(TakeTurn(*runner.session, runner.inputs, callers, {runner.deadline, 2, {}}, cancel, warm));
  const bool by_runs = length.iterations > 0;
  const TurnLength turn{runner.deadline, length.iterations, std::min<Clock::duration>(kTurn, length.duration)};
  // In turns, so that whatever disturbs the machine hits both alike.
  do {
    PT_CHECK_OK(TakeTurn(*runner.session, runner.inputs, {callers.data(), 1}, turn, cancel, alone));
    PT_CHECK_OK(TakeTurn(*runner.session, runner.inputs, callers, turn, cancel, together));
  } while (!by_runs && together.lasted < length.duration);
  for (const Caller& caller : callers) {
    PT_ASSIGN(const bool same, SameOutputs(caller, reference));
    if (same) continue;
    return MakeError(ErrorCode::kInternal, "run.differs", "runs side by side gave other bits than a run alone");
  }
  PT_CHECK_OK(Print(flags, runner, alone, together));
  return 0;
}

}  // namespace

int RunConcurrent(const RunFlags& flags, Console& console, const InterruptWatch& interrupt) {
  return Finish(Concurrent(flags, console, interrupt.token()), console, interrupt);
}

}  // namespace pt::tools
