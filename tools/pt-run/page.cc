#include "tools/pt-run/page.h"

#include <algorithm>
#include <cmath>

#include "tools/common/page_facts.h"
#include "tools/common/text.h"
#include "tools/pt-run/residuals.h"
#include "tools/report/page_plan.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

void AddLatency(const MeasuredPlan& runner, const Latency& latency, Page& page) {
  const int64_t median_ns = PercentileOf(latency.sorted, 50), predicted_ns = runner.plan.makespan.ns;
  page.cards.push_back({runner.simulated ? "median, virtual clock" : "median", ShortTime(median_ns),
                        std::to_string(latency.sorted.size()) + " runs, p99 " +
                            ShortTime(PercentileOf(latency.sorted, 99)) + ", fastest " +
                            ShortTime(latency.sorted.front())});
  const double error = PredictionError(predicted_ns, latency);
  page.cards.push_back({"predicted", ShortTime(predicted_ns),
                        Percent(std::fabs(error)) + (error < 0 ? " less than measured" : " more than measured")});
}

// Where noise comes from: how far runs lie apart, and how fast the machine is beside when the plan was made.
PageTable NoiseTable(const MeasuredPlan& runner, const Latency& latency, const std::optional<Pace>& pace) {
  PageTable table{"Noise and pace", "", {"what", "is"}, {1}, {}};
  for (const double percent : {0.0, 25.0, 50.0, 75.0, 90.0, 99.0}) {
    table.rows.push_back({percent == 0 ? "fastest run" : "percentile " + Fixed(percent, 0),
                          ShortTime(percent == 0 ? latency.sorted.front() : PercentileOf(latency.sorted, percent))});
  }
  if (!pace) return table;
  const int64_t at_pace_ns = PredictedAt(runner.session->machine().platform(), runner.plan, *pace);
  table.rows.push_back({"reference work beside when the plan's times were measured", Fixed(pace->work, 2) + " x"});
  if (pace->hand_over_ns > 0) {
    table.rows.push_back({"hand-over between cores", ShortTime(pace->hand_over_ns)});
    table.rows.push_back({"hand-over that the plan assumes", ShortTime(runner.plan.report.hand_over_ns)});
  }
  table.rows.push_back({"predicted at this pace", ShortTime(at_pace_ns)});
  return table;
}

PageTable SharesTable(const TraceShares& shares) {
  PageTable table{"Time of the cores", "Of the run that is drawn.", {"what", "share"}, {1}, {}};
  table.rows = {{"kernels", Percent(shares.kernels)},
                {"reorders", Percent(shares.reorders)},
                {"copies", Percent(shares.copies)},
                {"waits", Percent(shares.waits)},
                {"overhead", Percent(shares.overhead)}};
  return table;
}

// What the cores did is told by traces, not by predictions.
void MeasureBusy(const Platform& platform, const Plan& plan, const Trace& run, PagePlan& page) {
  for (PageBusy& row : page.busy) row.unit += ", predicted";
  std::map<std::string, int64_t> busy_ns;
  for (const TraceEvent& event : run.events) {
    if (plan.steps[event.step.index()].expected_ns > 0) {
      busy_ns[platform.unit(event.unit).name] += event.end_ns - event.start_ns;
    }
  }
  for (const auto& [unit, ns] : busy_ns) {
    const double share = static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(1, run.run_ns));
    page.busy.push_back({unit + ", measured", share});
  }
}

}  // namespace

Status WriteRunPage(const RunFlags& flags, const Setup& setup, const MeasuredPlan& runner,
                    std::span<const Trace> traces, const std::optional<Pace>& pace) {
  if (flags.html.empty()) return {};
  const Plan& plan = runner.plan;
  const Platform& platform = setup.engine->machine().platform();
  const Latency latency = LatencyOf(runner.times_ns);
  PT_ASSIGN(const std::unique_ptr<CostModel> costs, setup.engine->CostsOf(*setup.model, PlanOptions()));
  Page page;
  page.heading = ModelName(flags.common.model());
  page.subtitle = "Runs of " + flags.common.model() + " by " + runner.name;
  AddLatency(runner, latency, page);
  AddPlanCards(platform, plan, page);
  AddPlanNotes(platform, plan, page);
  for (std::string& line : UnmeasuredLines(runner.unmeasured, flags.common)) page.notes.push_back(std::move(line));

  const Trace& middle = traces[traces.size() / 2];
  PagePlan drawn = PagePlanOf(platform, plan, NamesBy(*setup.model->graph, plan),
                              plan.planner + ", predicted: " + ShortTime(plan.makespan.ns));
  AddAlternatives(platform, plan, setup.model->candidates, *costs, drawn);
  AddMeasured(middle, StepMediansOf(traces), "measured, a run of " + ShortTime(middle.run_ns), drawn);
  MeasureBusy(platform, plan, middle, drawn);
  page.plans.push_back(std::move(drawn));
  page.tables = {NoiseTable(runner, latency, pace), SharesTable(SharesOf(middle, platform, plan)), BaselineFacts(plan),
                 OriginFacts(plan, flags.common), MachineFacts(platform)};
  return WriteTo(flags.html, PageHtml(page));
}

}  // namespace pt::tools
