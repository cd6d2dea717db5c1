#include "lib/engine/rate_plan.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include "lib/engine/request_simulation.h"
#include "lib/engine/request_ways.h"
#include "partitiontuner/engine/open_loop.h"
#include "partitiontuner/engine/rate_search.h"
#include "partitiontuner/exec/session.h"
#include "partitiontuner/planner/planning_watch.h"

namespace pt {
namespace {

constexpr double kPercent = 99;

SimulatedLoad LoadOf(const RateGoal& goal, const RequestSetting& setting, double per_second) {
  SimulatedLoad load;
  load.arrivals = goal.arrivals;
  load.per_second = per_second;
  load.seed = goal.seed;
  load.in_flight = setting.in_flight;
  load.waiting = goal.waiting;
  return load;
}

// The highest rate that meets the goal by prediction; 0: none.
Result<double> PredictedRate(const RateGoal& goal, const RequestWay& way) {
  double sum_ns = 0;
  for (const int64_t ns : way.service.run_ns) sum_ns += static_cast<double>(ns);
  const double run_ns = way.service.headway * sum_ns / static_cast<double>(way.service.run_ns.size());
  RateSearch search;
  search.first_rate = way.service.servers * 1e9 / run_ns / 2;
  search.least_rate = 1e-5;  // all requests of a simulation come within the clock's range
  search.nearness = 1.005;
  search.most_trials = 64;
  return FindHighestRate(search, [&](double rate, bool /*confirms*/) -> Result<bool> {
    return Meets(goal, SimulateRequests(way.service, LoadOf(goal, way.setting, rate)));
  });
}

void SayWhatFor(const RateGoal& goal, RateContender& contender) {
  auto& settings = contender.plan.made_for.settings;
  settings["objective"] = "rate";
  char rate[32];
  settings["rate"] = std::string(rate, std::to_chars(rate, std::end(rate), goal.per_second).ptr);
  settings["arrivals"] = goal.arrivals == ArrivalKind::kFixed ? "fixed" : "poisson";
  if (goal.p99) settings["p99_ns"] = std::to_string(goal.p99->count());
  SetRequestSetting(contender.setting, contender.plan);
}

// What is refused comes last, then what has the higher percentile.
double RankOf(const RequestTally& tally) {
  if (!tally.all_served()) return std::numeric_limits<double>::infinity();
  return static_cast<double>(tally.latency.Percentile(kPercent));
}

Result<std::vector<RateContender>> PredictAll(const RateGoal& goal, std::vector<RequestWay> ways) {
  std::vector<RateContender> contenders;
  for (RequestWay& way : ways) {
    RateContender contender;
    contender.predicted = SimulateRequests(way.service, LoadOf(goal, way.setting, goal.per_second));
    PT_ASSIGN(contender.predicted_rate, PredictedRate(goal, way));
    contender.name = std::move(way.name);
    contender.plan = std::move(way.plan);
    contender.setting = way.setting;
    SayWhatFor(goal, contender);
    contenders.push_back(std::move(contender));
  }
  std::ranges::stable_sort(contenders, [](const RateContender& a, const RateContender& b) {
    const double rank_a = RankOf(a.predicted), rank_b = RankOf(b.predicted);
    return rank_a != rank_b ? rank_a < rank_b : a.predicted_rate > b.predicted_rate;
  });
  return contenders;
}

// A contender with its session, and what sends requests to it.
class Stand {
 public:
  static Result<Stand> Make(const PlanningContext& context, const RateGoal& goal, const RateConfirmation& confirmation,
                            const RateContender& contender) {
    SessionOptions options = context.session_options();
    contender.setting.ApplyTo(options);
    Stand stand;
    PT_ASSIGN(stand.session_, Session::Create(context.model.graph, contender.plan, context.machine, options));
    PT_ASSIGN(stand.inputs_, RunBuffers::ForInputs(*stand.session_, confirmation.inputs));
    OpenLoopOptions loop;
    loop.queue = {.in_flight = contender.setting.in_flight, .waiting = goal.waiting};
    loop.arrivals = goal.arrivals;
    loop.seed = goal.seed;
    loop.deadline = context.limits.run_options(contender.plan).deadline;
    loop.cancel = confirmation.cancel;
    loop.progress = confirmation.progress;
    stand.loop_ = std::make_unique<OpenLoop>(*stand.session_, stand.inputs_.tensors(), std::move(loop));
    PT_ASSIGN(stand.idle_, stand.loop_->RunIdle());
    return stand;
  }
  bool has_wall_clock() const { return !idle_.last.simulated; }
  Result<RequestTally> Try(double rate, std::chrono::nanoseconds duration) {
    PT_ASSIGN(RequestTally tally, loop_->Run(rate, TrialLength(kPercent, rate, duration)));
    PT_CHECK_OK(loop_->CheckBits());
    return tally;
  }

 private:
  std::unique_ptr<Session> session_;
  RunBuffers inputs_;
  std::unique_ptr<OpenLoop> loop_;
  IdleRuns idle_;
};

class Confirming {
 public:
  Confirming(const PlanningContext& context, const RateGoal& goal, const RateConfirmation& confirmation,
             RateChoice& choice)
      : context_(context), goal_(goal), confirmation_(confirmation), choice_(choice) {}

  Status Run() {
    if (context_.options.watch != nullptr) context_.options.watch->StartMeasuring();
    PT_CHECK_OK(RunAtTheRate());
    if (!choice_.confirmed || cancelled()) return {};
    const auto& measured = choice_.contenders[choice_.chosen].measured;
    choice_.met = measured && Meets(goal_, *measured);
    return choice_.met ? Status() : FindRate();
  }

 private:
  bool cancelled() const {
    return IsInterrupted(context_.options.watch) ||
           (confirmation_.cancel != nullptr && confirmation_.cancel->cancelled());
  }

  // Of those that run, the best is chosen.
  Status RunAtTheRate() {
    constexpr size_t kMost = 4;
    constexpr double kHopeless = 0.5;
    size_t runs = 0;
    for (size_t i = 0; i < choice_.contenders.size() && runs < kMost && !cancelled(); ++i) {
      RateContender& contender = choice_.contenders[i];
      if (i > 0 && contender.predicted_rate < kHopeless * goal_.per_second) continue;
      PT_ASSIGN(Stand stand, Stand::Make(context_, goal_, confirmation_, contender));
      if (!stand.has_wall_clock()) return ForgetRuns();
      PT_ASSIGN(RequestTally measured, stand.Try(goal_.per_second, confirmation_.duration));
      if (cancelled()) break;
      ++runs;
      contender.measured = std::move(measured);
      const RateContender& best = choice_.contenders[choice_.chosen];
      if (!best.measured || RankOf(*contender.measured) < RankOf(*best.measured)) choice_.chosen = i;
    }
    choice_.confirmed = runs > 0;
    return {};
  }

  // Where one plan cannot run by the wall clock, all are compared by prediction.
  Status ForgetRuns() {
    for (RateContender& contender : choice_.contenders) contender.measured.reset();
    choice_.chosen = 0;
    return {};
  }

  // The highest rate below the goal's, of the contender that ran and is predicted to reach furthest.
  Status FindRate() {
    double reach = -1;
    for (size_t i = 0; i < choice_.contenders.size(); ++i) {
      const RateContender& contender = choice_.contenders[i];
      if (!contender.measured || contender.predicted_rate <= reach) continue;
      reach = contender.predicted_rate;
      choice_.chosen = i;
    }
    PT_ASSIGN(Stand stand, Stand::Make(context_, goal_, confirmation_, choice_.contenders[choice_.chosen]));
    RateSearch search;
    search.first_rate = std::min(reach > 0 ? reach : goal_.per_second, goal_.per_second / 2);
    search.least_rate = 1 / std::chrono::duration<double>(confirmation_.duration).count();
    search.cancel = confirmation_.cancel;
    PT_ASSIGN(choice_.highest_rate, FindHighestRate(search, [&](double rate, bool confirms) -> Result<bool> {
                if (rate >= goal_.per_second) return false;  // it was tried
                PT_ASSIGN(const RequestTally tally, stand.Try(rate, (confirms ? 2 : 1) * confirmation_.duration));
                return Meets(goal_, tally);
              }));
    return {};
  }

  const PlanningContext& context_;
  const RateGoal& goal_;
  const RateConfirmation& confirmation_;
  RateChoice& choice_;
};

// Where the first does not meet the goal none does: then the one that is predicted to reach furthest.
void ChooseByPrediction(const RateGoal& goal, RateChoice& choice) {
  const auto& contenders = choice.contenders;
  choice.met = Meets(goal, contenders.front().predicted);
  if (choice.met) return;
  const auto furthest = std::ranges::max_element(contenders, {}, &RateContender::predicted_rate);
  choice.chosen = static_cast<size_t>(furthest - contenders.begin());
  choice.highest_rate = furthest->predicted_rate;
}

}  // namespace

bool Meets(const RateGoal& goal, const RequestTally& tally) {
  return tally.all_served() && (!goal.p99 || tally.latency.Percentile(kPercent) < goal.p99->count());
}

Status CheckRateGoal(const RateGoal& goal, const RateConfirmation* confirmation) {
  constexpr double kMost = 1e7;
  if (!(goal.per_second > 0 && goal.per_second <= kMost)) {
    return MakeError(ErrorCode::kUsage, "rate.per_second",
                     "a rate lies above 0 and is at most 10000000 requests a second");
  }
  if (goal.p99 && goal.p99->count() <= 0) {
    return MakeError(ErrorCode::kUsage, "rate.bound", "the bound of a latency is not above 0");
  }
  if (confirmation != nullptr && confirmation->duration.count() <= 0) {
    return MakeError(ErrorCode::kUsage, "rate.duration", "the time for which requests are sent is not above 0");
  }
  return {};
}

Result<RateChoice> PlanForRate(const PlanningContext& context, const RateGoal& goal,
                               const RateConfirmation* confirmation) {
  PT_ASSIGN(std::vector<RequestWay> ways, RequestWaysFor(context));
  RateChoice choice;
  PT_ASSIGN(choice.contenders, PredictAll(goal, std::move(ways)));
  if (confirmation != nullptr) PT_CHECK_OK(Confirming(context, goal, *confirmation, choice).Run());
  if (!choice.confirmed) ChooseByPrediction(goal, choice);
  if (choice.met) choice.highest_rate = goal.per_second;
  return choice;
}

}  // namespace pt
