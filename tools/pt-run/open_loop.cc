// pt-run --rate LIST and --find-rate CLAIM: requests that come when they like, whatever became of those before.
#include "partitiontuner/engine/open_loop.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "partitiontuner/engine/rate_search.h"
#include "tools/common/request_tables.h"
#include "tools/common/text.h"
#include "tools/pt-run/assertions.h"
#include "tools/pt-run/run_flags.h"
#include "tools/pt-run/runner.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

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

Result<std::string> RateTable(const LatencyHistogram& idle, std::span<const RequestTally> tallies,
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
  for (const RequestTally& tally : tallies) {
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

bool Holds(const Assertion& claim, const RequestTally& tally) {
  return tally.all_served() && Allows(claim, static_cast<double>(tally.latency.Percentile(claim.percent)));
}

// Trials of the claim, whose tallies are kept.
Result<double> FindRate(OpenLoop& loop, const Assertion& claim, const MeasureLength& length, double first_rate,
                        const CancelToken& cancel, std::vector<RequestTally>& tallies) {
  RateSearch search;
  search.first_rate = first_rate;
  search.least_rate = 1 / std::chrono::duration<double>(length.duration).count();  // less than one request a trial
  search.cancel = &cancel;
  return FindHighestRate(search, [&](double rate, bool confirms) -> Result<bool> {
    const auto duration = (confirms ? 2 : 1) * length.duration;
    PT_ASSIGN(RequestTally tally, loop.Run(rate, TrialLength(claim.percent, rate, duration)));
    tallies.push_back(std::move(tally));
    return Holds(claim, tallies.back());
  });
}

std::string FoundLine(const FoundRate& found) {
  const std::string& claim = found.claim.text;
  if (found.rate == 0) return " no rate was found at which " + claim + " holds with nothing refused or late\n";
  return " " + claim + " holds up to " + Fixed(found.rate, 1) + " requests a second\n";
}

// A sender that is not given a core in time is part of what is measured.
void NoteLateSender(std::span<const RequestTally> tallies, const Console& console) {
  constexpr int64_t kLateNs = 1'000'000;
  for (const RequestTally& tally : tallies) {
    if (tally.sent_late.Percentile(99) < kLateNs) continue;
    console.Note("note: at " + Fixed(tally.rate, 1) + " a second one request in a hundred was sent " +
                 ShortTime(tally.sent_late.Percentile(99)) +
                 " late or more, since all cores were busy; latencies count from when it was due");
  }
}

Result<int> Report(const RunFlags& flags, const MeasuredPlan& runner, uint32_t in_flight, const LatencyHistogram& idle,
                   std::span<const RequestTally> tallies, std::span<const JudgedAssertion> judged,
                   const std::optional<FoundRate>& found, bool interrupted) {
  const int exit_code =
      found && found->rate == 0 && !interrupted ? static_cast<int>(ErrorCode::kAssertionFailed) : ExitCodeOf(judged);
  if (!flags.common.json()) {
    PT_ASSIGN(const std::string table, RateTable(idle, tallies, flags.percentiles));
    PT_CHECK_OK(WriteOut(table + AssertionLines(judged) + (found && !interrupted ? FoundLine(*found) : "")));
    return exit_code;
  }
  Json rows = Json::MakeArray();
  for (const RequestTally& tally : tallies) rows.Push(ToJson(tally));
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model()).Set("plan", runner.name).Set("arrivals", flags.arrivals);
  json.Set("in_flight", static_cast<int64_t>(in_flight > 0 ? in_flight : runner.session->parallel_runs()));
  json.Set("queue", static_cast<int64_t>(flags.queue));
  if (interrupted) json.Set("interrupted", true);
  json.Set("idle_ns", ToJson(idle)).Set("rates", std::move(rows));
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

// As the plan says, unless the flags do. 0: one a core of the plan.
Result<uint32_t> InFlight(const RunFlags& flags, const MeasuredPlan& runner, const Console& console) {
  PT_ASSIGN(const std::optional<RequestSetting> requests, flags.requests_of(runner.plan));
  if (!requests) return flags.in_flight;
  console.Note("note: the plan was made for a rate: " + std::to_string(requests->in_flight) + " requests in flight, " +
               "--alone " + std::string(NameOf(requests->alone)) + " (--inflight and --alone change that)");
  return requests->in_flight;
}

OpenLoopOptions LoopOptions(const RunFlags& flags, const MeasuredPlan& runner, uint32_t in_flight, Console& console,
                            const CancelToken& cancel) {
  return {.queue = {.in_flight = in_flight, .waiting = flags.queue},
          .arrivals = ArrivalsOf(flags.arrivals),
          .seed = flags.seed,
          .deadline = runner.deadline,
          .cancel = &cancel,
          .progress = [&console](uint64_t sent) { console.ShowRuns(sent); }};
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
  PT_ASSIGN(const MeasuredPlan runner, MakeRunner(setup, flags, source, console));
  PT_ASSIGN(const uint32_t in_flight, InFlight(flags, runner, console));
  OpenLoop loop(*runner.session, runner.inputs.tensors(), LoopOptions(flags, runner, in_flight, console, cancel));
  PT_ASSIGN(const IdleRuns idle, loop.RunIdle());
  PT_CHECK_OK(NeedsWallClock(idle.last, claim ? "--find-rate" : "--rate"));
  std::vector<RequestTally> tallies;
  std::optional<FoundRate> found;
  for (size_t i = 0; i < rates.size() && !cancel.cancelled(); ++i) {
    PT_ASSIGN(RequestTally tally, loop.Run(rates[i], {length.duration, length.iterations}));
    tallies.push_back(std::move(tally));
  }
  if (claim) {
    const double half_of_idle = 0.5e9 / static_cast<double>(std::max<int64_t>(1, idle.latency.Percentile(50)));
    PT_ASSIGN(const double rate, FindRate(loop, *claim, length, half_of_idle, cancel, tallies));
    found = FoundRate{*claim, rate};
  }
  console.EndProgress();
  if (cancel.cancelled()) return Report(flags, runner, in_flight, idle.latency, tallies, {}, found, true);
  PT_CHECK_OK(loop.CheckBits());
  NoteLateSender(tallies, console);
  const std::vector<JudgedAssertion> judged = Judge(assertions, tallies.back().latency);
  return Report(flags, runner, in_flight, idle.latency, tallies, judged, found, false);
}

}  // namespace

int RunOpenLoop(const RunFlags& flags, Console& console, const InterruptWatch& interrupt) {
  return FinishMeasuring(ServeRates(flags, console, interrupt.token()), console, interrupt);
}

}  // namespace pt::tools
