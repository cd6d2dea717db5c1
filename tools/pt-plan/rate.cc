// pt-plan --rate R [--p99 T]: the plan for requests that come at a rate.
#include "partitiontuner/engine/rate_plan.h"
#include "partitiontuner/plan/plan_json.h"
#include "tools/common/estimates.h"
#include "tools/common/planning_progress.h"
#include "tools/common/request_tables.h"
#include "tools/common/text.h"
#include "tools/pt-plan/plan_flags.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

Result<RateGoal> GoalOf(const PlanFlags& flags) {
  RateGoal goal;
  PT_ASSIGN(goal.per_second, ParseNumber(flags.rate, "--rate"));
  if (!flags.p99.empty()) {
    PT_ASSIGN(goal.p99, ParseDuration(flags.p99, "--p99"));
  }
  goal.arrivals = ArrivalsOf(flags.arrivals);
  goal.waiting = flags.queue;
  goal.seed = flags.seed;
  return goal;
}

Result<RateChoice> MakeChoice(const PlanningSetup& setup, const PlanFlags& flags, const RateGoal& goal,
                              Console& console) {
  PlanOptions options = CostOptions(setup, flags);
  PlanningProgress progress(console, flags.interrupt);
  options.watch = &progress.watch();
  if (flags.no_confirm) return setup.engine->MakePlanForRate(*setup.model, options, goal);
  RateConfirmation confirmation;
  PT_ASSIGN(confirmation.inputs, MakeInputs(*setup.model, setup.given, flags.seed));
  if (!flags.duration.empty()) {
    PT_ASSIGN(confirmation.duration, ParseDuration(flags.duration, "--duration"));
  }
  if (flags.interrupt != nullptr) confirmation.cancel = &flags.interrupt->token();
  return setup.engine->MakePlanForRate(*setup.model, options, goal, &confirmation);
}

std::string PercentileOf(const RequestTally* tally, double percent) {
  if (tally == nullptr) return "-";
  return tally->latency.count() == 0 ? "none served" : ShortTime(tally->latency.Percentile(percent));
}

std::string RefusedOf(const RequestTally* tally) {
  return tally == nullptr ? "-" : std::to_string(tally->refused + tally->late);
}

std::string ContendersText(const RateChoice& choice) {
  TextTable table(
      {"plan and way", "in flight", "predicted p50", "p99", "refused", "up to", "measured p50", "p99", "refused", "<"});
  for (size_t i = 0; i < choice.contenders.size(); ++i) {
    const RateContender& contender = choice.contenders[i];
    const RequestTally* const measured = contender.measured ? &*contender.measured : nullptr;
    table.Row({contender.name, std::to_string(contender.setting.in_flight), PercentileOf(&contender.predicted, 50),
               PercentileOf(&contender.predicted, 99), RefusedOf(&contender.predicted),
               Fixed(contender.predicted_rate, 1) + "/s", PercentileOf(measured, 50), PercentileOf(measured, 99),
               RefusedOf(measured), i == choice.chosen ? "kept" : ""});
  }
  return table.Text();
}

// "200.0 requests a second with p99 below 2 ms".
std::string GoalText(const RateGoal& goal) {
  return Fixed(goal.per_second, 1) + " requests a second" +
         (goal.p99 ? " with p99 below " + ShortTime(goal.p99->count()) : ", all served");
}

std::string ResultLine(const RateGoal& goal, const RateChoice& choice) {
  const std::string how = choice.confirmed ? " (measured)" : " (predicted)";
  const std::string plan = "\"" + choice.contenders[choice.chosen].name + "\"" + how + ".\n";
  if (choice.met) return "result: " + GoalText(goal) + ": met by " + plan;
  if (choice.highest_rate == 0) return "result: " + GoalText(goal) + ": met at no rate; the plan is " + plan;
  return "result: " + GoalText(goal) + ": not met; up to " + Fixed(choice.highest_rate, 1) + " a second by " + plan;
}

Json ContenderJson(const RateContender& contender, bool kept) {
  Json row = Json::MakeObject();
  row.Set("name", contender.name).Set("planner", contender.plan.planner);
  row.Set("alone", std::string(NameOf(contender.setting.alone)));
  row.Set("in_flight", static_cast<int64_t>(contender.setting.in_flight));
  row.Set("makespan_ns", contender.plan.makespan.ns);
  row.Set("predicted", ToJson(contender.predicted)).Set("predicted_rate", contender.predicted_rate);
  if (contender.measured) row.Set("measured", ToJson(*contender.measured));
  row.Set("kept", kept);
  return row;
}

Json ChoiceJson(const PlanFlags& flags, const RateGoal& goal, const RateChoice& choice, const Unmeasured& unmeasured) {
  Json rows = Json::MakeArray();
  for (size_t i = 0; i < choice.contenders.size(); ++i) {
    rows.Push(ContenderJson(choice.contenders[i], i == choice.chosen));
  }
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model()).Set("rate", goal.per_second).Set("arrivals", flags.arrivals);
  if (goal.p99) json.Set("p99_ns", static_cast<int64_t>(goal.p99->count()));
  json.Set("queue", static_cast<int64_t>(goal.waiting));
  json.Set("met", choice.met).Set("confirmed", choice.confirmed).Set("highest_rate", choice.highest_rate);
  if (!unmeasured.is_none()) json.Set("estimated", ToJson(unmeasured, flags.common));
  json.Set("plans", std::move(rows));
  if (IsInterrupted(flags)) json.Set("interrupted", true);
  return json;
}

}  // namespace

Result<int> MakeRatePlan(const PlanFlags& flags, Console& console) {
  PT_ASSIGN(const RateGoal goal, GoalOf(flags));
  PT_ASSIGN(const PlanningSetup setup, MakePlanningSetup(flags));
  WarnOfModel(*setup.model, console);
  NotePrecision(*setup.model, console);
  Result<RateChoice> made = MakeChoice(setup, flags, goal, console);
  if (!made.ok()) return WithMeasureHint(made.error(), flags);
  const RateChoice& choice = *made;
  const Plan& plan = choice.contenders[choice.chosen].plan;
  const Unmeasured unmeasured = UnmeasuredOf(*setup.engine, *setup.model, plan, CostOptions(setup, flags));
  for (const std::string& line : UnmeasuredLines(unmeasured, flags.common)) console.Warn(line);
  if (!flags.output.empty()) {
    PT_CHECK_OK(WriteTo(flags.output, WriteJson(ToJson(plan, *setup.model->graph)) + "\n"));
  }
  const std::string text = ContendersText(choice) + (IsInterrupted(flags) ? "" : ResultLine(goal, choice));
  if (flags.output == "-") {
    console.Note(text.substr(0, text.size() - 1));  // standard output holds the plan
  } else {
    PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(ChoiceJson(flags, goal, choice, unmeasured)) + "\n" : text));
    console.Note(flags.output.empty() ? "note: the plan was not written; -o FILE writes it"
                                      : "plan written to " + flags.output);
  }
  if (!choice.confirmed && !flags.no_confirm && !IsInterrupted(flags)) {
    console.Note("note: nothing ran, since the plans use a simulated device; what is said is predicted");
  }
  if (const int code = ExitCodeForPlans(IsInterrupted(flags), flags, console); code != 0) return code;
  return choice.met ? 0 : static_cast<int>(ErrorCode::kAssertionFailed);
}

}  // namespace pt::tools
