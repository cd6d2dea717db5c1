// pt-run --rate LIST and --find-rate CLAIM: requests that come when they like, whatever became of those before, through
// a bounded queue. Each latency counts from the moment at which the request was to come, so that a sender or a queue
// that falls behind hides nothing.
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "partitiontuner/engine/arrivals.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/exec/request_queue.h"
#include "partitiontuner/support/latency_histogram.h"
#include "tools/common/text.h"
#include "tools/pt-run/assertions.h"
#include "tools/pt-run/run_flags.h"
#include "tools/pt-run/runner.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

using Clock = std::chrono::steady_clock;

// What became of the requests of one rate.
struct RateTally {
  double rate = 0;
  LatencyHistogram latency, waited;  // of those that succeeded
  LatencyHistogram sent_late;        // of all: how much later than it was to come a request was sent
  uint64_t refused = 0, late = 0;    // for want of room; by --deadline
  uint64_t alone_runs = 0;
  double seconds = 0;  // from the first request's time to the last one's end

  double served_per_s() const { return seconds > 0 ? static_cast<double>(latency.count()) / seconds : 0; }
};

// What one request writes to. Used again as soon as it is over, the last one first, so that runs find their kernels
// bound to it.
struct Slot {
  RunBuffers outputs;
  RunReport last;
  bool used = false;
  Clock::time_point due;
};

class OpenLoop {
 public:
  OpenLoop(const RunFlags& flags, const MeasuredPlan& runner, const CancelToken& cancel)
      : flags_(flags), runner_(runner), cancel_(cancel) {}

  // Sends requests for `length` and waits for the last one. The first error other than a deadline ends it.
  Result<RateTally> Run(double rate, const MeasureLength& length, Console& console);
  // Each slot's last outputs are the reference's. Errors: kInternal.
  Status CheckBits(std::span<const Tensor> reference) const;

 private:
  Status Send(RequestQueue& queue, Clock::time_point due);
  Result<Slot*> TakeSlot();
  void Finish(Slot& slot, Result<RunReport> run, int64_t waited_ns);
  Status error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

  const RunFlags& flags_;
  const MeasuredPlan& runner_;
  const CancelToken& cancel_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;  // guarded by the mutex, as are the next two
  RateTally tally_;
  Status error_;
};

Result<Slot*> OpenLoop::TakeSlot() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Slot* const slot = free_.back();
      free_.pop_back();
      return slot;
    }
  }
  auto slot = std::make_unique<Slot>();
  PT_ASSIGN(slot->outputs, RunBuffers::ForOutputs(*runner_.session));
  slots_.push_back(std::move(slot));
  return slots_.back().get();
}

void OpenLoop::Finish(Slot& slot, Result<RunReport> run, int64_t waited_ns) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  free_.push_back(&slot);
  if (!run.ok()) {
    if (run.error().id == "run.deadline") {
      ++tally_.late;
    } else if (error_.ok()) {
      error_ = run.error();
    }
    return;
  }
  tally_.latency.Record((now - slot.due).count());
  tally_.waited.Record(waited_ns);
  tally_.alone_runs += run->alone ? 1 : 0;
  slot.last = std::move(*run);
  slot.used = true;
}

Status OpenLoop::Send(RequestQueue& queue, Clock::time_point due) {
  PT_ASSIGN(Slot* const slot, TakeSlot());
  slot->due = due;
  const Status sent =
      queue.Submit(runner_.inputs.tensors(), slot->outputs.tensors(),
                   {.deadline = runner_.deadline, .cancel = &cancel_}, [this, slot](Result<RequestReport> report) {
                     const int64_t waited_ns = report.ok() ? report->waited_ns : 0;
                     Finish(*slot, report.ok() ? Result<RunReport>(std::move(report->run)) : report.error(), waited_ns);
                   });
  const std::lock_guard lock(mutex_);
  tally_.sent_late.Record((Clock::now() - due).count());
  if (sent.ok()) return {};
  free_.push_back(slot);
  if (sent.error().id != "queue.full") return sent;
  ++tally_.refused;
  return {};
}

Result<RateTally> OpenLoop::Run(double rate, const MeasureLength& length, Console& console) {
  prctl(PR_SET_TIMERSLACK, 1);  // a request is sent when it is to come, not up to 50 us later
  PT_ASSIGN(const auto queue,
            RequestQueue::Make(*runner_.session, {.in_flight = flags_.in_flight, .waiting = flags_.queue}));
  tally_ = RateTally();
  tally_.rate = rate;
  Arrivals arrivals(flags_.arrivals == "fixed" ? ArrivalKind::kFixed : ArrivalKind::kPoisson, rate, flags_.seed);
  const auto start = Clock::now();
  for (uint64_t sent = 0; length.iterations == 0 || sent < length.iterations; ++sent) {
    const auto due = start + std::chrono::nanoseconds(arrivals.NextNs());
    if (length.iterations == 0 && due >= start + length.duration && sent > 0) break;
    // Ctrl-C is not waited for where the next request is far.
    while (!cancel_.cancelled() && Clock::now() < due) {
      std::this_thread::sleep_until(std::min(due, Clock::now() + std::chrono::milliseconds(50)));
    }
    if (cancel_.cancelled()) break;
    PT_CHECK_OK(Send(*queue, due));
    if (!error().ok()) break;
    console.ShowRuns(sent + 1);
  }
  if (cancel_.cancelled()) queue->Close();
  queue->Drain();
  console.EndProgress();
  tally_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!cancel_.cancelled()) PT_CHECK_OK(error_);
  return tally_;
}

Status OpenLoop::CheckBits(std::span<const Tensor> reference) const {
  for (const std::unique_ptr<Slot>& slot : slots_) {
    if (!slot->used) continue;
    PT_ASSIGN(const std::vector<Tensor> outputs, slot->outputs.Copy(slot->last));
    if (std::ranges::equal(outputs, reference, SameBits)) continue;
    return MakeError(ErrorCode::kInternal, "run.differs", "a request of many gave other bits than a run by itself");
  }
  return {};
}

Result<std::vector<double>> RatesOf(const std::string& text) {
  std::vector<double> rates;
  for (const std::string& part : SplitList(text)) {
    PT_ASSIGN(const double rate, ParseNumber(part, "--rate"));
    if (!(rate > 0 && rate <= 1e7)) {
      return MakeError(ErrorCode::kUsage, "usage.value",
                       "--rate: " + part + " is not between 0 and 10000000 requests a second");
    }
    rates.push_back(rate);
  }
  if (rates.empty()) return MakeError(ErrorCode::kUsage, "usage.value", "--rate names no rate", "--rate 100,200");
  return rates;
}

// One request after another, for the reference outputs and what a run takes when nothing else is to be done.
Result<std::vector<Tensor>> RunIdle(const RunFlags& flags, MeasuredPlan& runner, const CancelToken& cancel,
                                    LatencyHistogram& idle) {
  constexpr int kWarmUp = 3, kMostRuns = 200;
  constexpr auto kTime = std::chrono::milliseconds(500);
  const auto end = Clock::now() + kTime;
  for (int run = 0; run < kMostRuns && (run < kWarmUp + 3 || Clock::now() < end); ++run) {
    const auto start = Clock::now();
    PT_ASSIGN(runner.last, runner.Run(cancel));
    if (run >= kWarmUp) idle.Record((Clock::now() - start).count());
  }
  PT_CHECK_OK(NeedsWallClock(runner.last, flags.find_rate.empty() ? "--rate" : "--find-rate"));
  return runner.LastOutputs();
}

Json HistogramJson(const LatencyHistogram& times) {
  Json json = Json::MakeObject();
  for (const auto& [name, percent] : {std::pair{"p50", 50.0}, {"p90", 90.0}, {"p99", 99.0}, {"p99.9", 99.9}}) {
    json.Set(name, times.Percentile(percent));
  }
  json.Set("min", times.min()).Set("max", times.max()).Set("mean", times.mean());
  return json;
}

Json RateJson(const RateTally& tally) {
  Json row = Json::MakeObject();
  row.Set("rate", tally.rate).Set("served_per_s", tally.served_per_s()).Set("seconds", tally.seconds);
  row.Set("served", static_cast<int64_t>(tally.latency.count()));
  row.Set("refused", static_cast<int64_t>(tally.refused)).Set("late", static_cast<int64_t>(tally.late));
  row.Set("alone_runs", static_cast<int64_t>(tally.alone_runs));
  row.Set("latency_ns", HistogramJson(tally.latency));
  row.Set("waited_ns", HistogramJson(tally.waited));
  row.Set("sent_late_ns", HistogramJson(tally.sent_late));
  return row;
}

Result<std::string> RateTable(const LatencyHistogram& idle, std::span<const RateTally> tallies,
                              const std::string& percentiles) {
  PT_ASSIGN(const std::vector<Percentile> wanted, PercentilesFrom(percentiles));
  std::vector<std::string> columns = {"requests/s", "served/s", "refused", "late"};
  for (const Percentile& percentile : wanted) columns.push_back(percentile.name);
  for (const char* column : {"max", "waited p99", "alone"}) columns.emplace_back(column);
  TextTable table(columns);
  std::vector<std::string> first = {"idle", "-", "-", "-"};
  for (const Percentile& p : wanted) first.push_back(ShortTime(idle.Percentile(p.percent)));
  first.push_back(ShortTime(idle.max()));
  table.Row(std::move(first));
  for (const RateTally& tally : tallies) {
    const bool any = tally.latency.count() > 0;
    std::vector<std::string> row = {Fixed(tally.rate, 1), Fixed(tally.served_per_s(), 1), std::to_string(tally.refused),
                                    std::to_string(tally.late)};
    for (const Percentile& p : wanted) row.push_back(any ? ShortTime(tally.latency.Percentile(p.percent)) : "-");
    row.push_back(any ? ShortTime(tally.latency.max()) : "-");
    row.push_back(any ? ShortTime(tally.waited.Percentile(99)) : "-");
    row.push_back(any ? Percent(static_cast<double>(tally.alone_runs) / static_cast<double>(tally.latency.count()))
                      : "-");
    table.Row(std::move(row));
  }
  return table.Text();
}

// The highest rate that is found to hold a claim.
struct FoundRate {
  Assertion claim;
  double rate = 0;  // 0: none
};

bool Holds(const Assertion& claim, const RateTally& tally) {
  if (tally.refused > 0 || tally.late > 0 || tally.latency.count() == 0) return false;
  return Allows(claim, static_cast<double>(tally.latency.Percentile(claim.percent)));
}

// Enough requests that the percentile is not that of one of them, within ten times the duration.
MeasureLength TrialLength(const Assertion& claim, double rate, std::chrono::nanoseconds duration) {
  const double least = 3 / (1 - claim.percent / 100);
  const double sent = rate * std::chrono::duration<double>(duration).count();
  return {duration, static_cast<uint64_t>(std::ceil(std::max(sent, std::min(least, 10 * sent))))};
}

// Looks for the highest rate that holds a claim.
class RateSearch {
 public:
  // The tallies are those of all trials.
  RateSearch(OpenLoop& loop, const Assertion& claim, const MeasureLength& length, Console& console,
             const CancelToken& cancel, std::vector<RateTally>& tallies)
      : loop_(loop), claim_(claim), length_(length), console_(console), cancel_(cancel), tallies_(tallies) {}

  // What is found must hold once more, for twice the time, or a little less does.
  Result<FoundRate> Find(double first_rate) {
    constexpr double kStepDown = 0.93;
    PT_ASSIGN(double rate, Bracket(first_rate));
    for (; MayTry(rate); rate *= kStepDown) {
      PT_ASSIGN(const bool holds, Try(rate, 2 * length_.duration));
      if (holds) return FoundRate{claim_, rate};
    }
    return FoundRate{claim_};
  }

 private:
  // Doubles or quarters the rate until it lies between one that holds and one that does not, and halves that range to a
  // twentieth. 0: none holds.
  Result<double> Bracket(double rate) {
    constexpr double kNear = 1.05;
    double low = 0, high = 0;
    while (MayTry(rate) && (low == 0 || high == 0 || high / low >= kNear)) {
      PT_ASSIGN(const bool holds, Try(rate, length_.duration));
      (holds ? low : high) = rate;
      rate = low == 0 ? high / 4 : high == 0 ? 2 * low : std::sqrt(low * high);
    }
    return low;
  }

  // A rate at which less than one request comes in a trial says nothing.
  bool MayTry(double rate) const {
    constexpr size_t kMostTrials = 24;
    return tallies_.size() < kMostTrials && !cancel_.cancelled() &&
           rate * std::chrono::duration<double>(length_.duration).count() >= 1;
  }

  Result<bool> Try(double rate, std::chrono::nanoseconds duration) {
    PT_ASSIGN(RateTally tally, loop_.Run(rate, TrialLength(claim_, rate, duration), console_));
    tallies_.push_back(std::move(tally));
    return Holds(claim_, tallies_.back());
  }

  OpenLoop& loop_;
  const Assertion& claim_;
  const MeasureLength& length_;
  Console& console_;
  const CancelToken& cancel_;
  std::vector<RateTally>& tallies_;
};

std::string FoundLine(const FoundRate& found) {
  const std::string& claim = found.claim.text;
  if (found.rate == 0) return " no rate was found at which " + claim + " holds with nothing refused or late\n";
  return " " + claim + " holds up to " + Fixed(found.rate, 1) + " requests a second\n";
}

// A sender that is not given a core in time is part of what is measured.
void NoteLateSender(std::span<const RateTally> tallies, const Console& console) {
  constexpr int64_t kLateNs = 1'000'000;
  for (const RateTally& tally : tallies) {
    if (tally.sent_late.Percentile(99) < kLateNs) continue;
    console.Note("note: at " + Fixed(tally.rate, 1) + " a second one request in a hundred was sent " +
                 ShortTime(tally.sent_late.Percentile(99)) +
                 " late or more, since all cores were busy; latencies count from when it was due");
  }
}

Result<int> Report(const RunFlags& flags, const MeasuredPlan& runner, const LatencyHistogram& idle,
                   std::span<const RateTally> tallies, std::span<const JudgedAssertion> judged,
                   const std::optional<FoundRate>& found, bool interrupted) {
  const int exit_code =
      found && found->rate == 0 && !interrupted ? static_cast<int>(ErrorCode::kAssertionFailed) : ExitCodeOf(judged);
  if (!flags.common.json()) {
    PT_ASSIGN(const std::string table, RateTable(idle, tallies, flags.percentiles));
    PT_CHECK_OK(WriteOut(table + AssertionLines(judged) + (found && !interrupted ? FoundLine(*found) : "")));
    return exit_code;
  }
  Json rows = Json::MakeArray();
  for (const RateTally& tally : tallies) rows.Push(RateJson(tally));
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model).Set("plan", runner.name).Set("arrivals", flags.arrivals);
  json.Set("in_flight", static_cast<int64_t>(flags.in_flight > 0 ? flags.in_flight : runner.session->parallel_runs()));
  json.Set("queue", static_cast<int64_t>(flags.queue));
  if (interrupted) json.Set("interrupted", true);
  json.Set("idle_ns", HistogramJson(idle)).Set("rates", std::move(rows));
  if (found) json.Set("claim", found->claim.text).Set("highest_rate", found->rate);
  AddAssertions(judged, json);
  PT_CHECK_OK(WriteOut(WriteJson(json) + "\n"));
  return exit_code;
}

// What --find-rate claims; nothing where it is not given. Errors: kUsage.
Result<std::optional<Assertion>> ClaimOf(const RunFlags& flags) {
  if (flags.find_rate.empty()) return std::optional<Assertion>();
  PT_ASSIGN(const std::vector<Assertion> claims, AssertionsFrom({&flags.find_rate, 1}, false));
  if (claims[0].is_below) return std::optional(claims[0]);
  return MakeError(ErrorCode::kUsage, "usage.value", "--find-rate " + flags.find_rate + " sets no upper bound",
                   "--find-rate 'p99<20ms'");
}

Result<int> ServeRates(const RunFlags& flags, Console& console, const CancelToken& cancel) {
  PT_ASSIGN(const MeasureLength length, MeasureLengthOf(flags));
  PT_ASSIGN(const std::optional<Assertion> claim, ClaimOf(flags));
  std::vector<double> rates;
  if (!claim) {
    PT_ASSIGN(rates, RatesOf(flags.rate));
  }
  PT_ASSIGN(const std::vector<Assertion> assertions, AssertionsFrom(flags.assertions, false));
  PT_ASSIGN(const Setup setup, MakeSetup(flags, console));
  PT_ASSIGN(const PlanSource source, flags.plan_source(setup.engine->machine().platform()));
  PT_ASSIGN(MeasuredPlan runner, MakeRunner(setup, flags, source, console));
  LatencyHistogram idle;
  PT_ASSIGN(const std::vector<Tensor> reference, RunIdle(flags, runner, cancel, idle));
  OpenLoop loop(flags, runner, cancel);
  std::vector<RateTally> tallies;
  std::optional<FoundRate> found;
  for (size_t i = 0; i < rates.size() && !cancel.cancelled(); ++i) {
    PT_ASSIGN(RateTally tally, loop.Run(rates[i], length, console));
    tallies.push_back(std::move(tally));
  }
  if (claim) {
    const double half_of_idle = 0.5e9 / static_cast<double>(std::max<int64_t>(1, idle.Percentile(50)));
    PT_ASSIGN(found, RateSearch(loop, *claim, length, console, cancel, tallies).Find(half_of_idle));
  }
  if (cancel.cancelled()) return Report(flags, runner, idle, tallies, {}, found, true);
  PT_CHECK_OK(loop.CheckBits(reference));
  NoteLateSender(tallies, console);
  const std::vector<JudgedAssertion> judged = Judge(assertions, tallies.back().latency);
  return Report(flags, runner, idle, tallies, judged, found, false);
}

}  // namespace

int RunOpenLoop(const RunFlags& flags, Console& console, const InterruptWatch& interrupt) {
  return FinishMeasuring(ServeRates(flags, console, interrupt.token()), console, interrupt);
}

}  // namespace pt::tools
