#include "tools/pt-run/residuals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tools/common/text.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

constexpr size_t kMostSteps = 10;  // in the table

using Term = std::pair<const char*, int64_t Residuals::*>;
constexpr std::array<Term, 6> kTerms = {{{"drift", &Residuals::drift_ns},
                                         {"kernels", &Residuals::kernels_ns},
                                         {"inputs", &Residuals::inputs_ns},
                                         {"reorders", &Residuals::reorders_ns},
                                         {"copies", &Residuals::copies_ns},
                                         {"waits", &Residuals::waits_ns}}};

int64_t MedianOf(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return PercentileOf(values, 50);
}

std::string Signed(int64_t ns) { return (ns < 0 ? "-" : "+") + ShortTime(std::abs(ns)); }

std::string WorkOf(const MeasuredPlan& runner, const Step& step) {
  if (const auto* group = std::get_if<RunGroup>(&step.work)) {
    const Candidate& candidate = runner.plan.candidates[group->candidate.index()];
    const Graph& graph = runner.session->graph();
    std::string text = NodeLabel(graph, HeaviestNode(graph, candidate.nodes));
    if (candidate.nodes.size() > 1) text += " and " + std::to_string(candidate.nodes.size() - 1) + " more";
    return text + ", " + candidate.library;
  }
  return std::holds_alternative<Reorder>(step.work) ? "reorder" : "copy";
}

// The steps whose times differ most, the worst first.
std::vector<size_t> WorstSteps(const MeasuredPlan& runner, const ResidualReport& report) {
  std::vector<size_t> steps(runner.plan.steps.size());
  std::iota(steps.begin(), steps.end(), size_t{0});
  const auto off = [&](size_t s) { return std::abs(report.step_ns[s] - runner.plan.steps[s].expected_ns); };
  std::stable_sort(steps.begin(), steps.end(), [&](size_t a, size_t b) { return off(a) > off(b); });
  steps.resize(std::min(steps.size(), kMostSteps));
  return steps;
}

}  // namespace

std::vector<int64_t> StepMediansOf(std::span<const Trace> traces) {
  std::vector<int64_t> medians;
  for (size_t s = 0; s < traces.front().events.size(); ++s) {
    std::vector<int64_t> times;
    for (const Trace& trace : traces) times.push_back(trace.events[s].end_ns - trace.events[s].start_ns);
    medians.push_back(MedianOf(std::move(times)));
  }
  return medians;
}

ResidualReport ResidualsOfTraces(const MeasuredPlan& runner, std::span<const Trace> traces, const Pace& pace) {
  ResidualReport report;
  std::vector<int64_t> runs;
  for (const Trace& trace : traces) runs.push_back(trace.run_ns);
  report.step_ns = StepMediansOf(traces);
  report.terms =
      ResidualsOf(runner.session->machine().platform(), runner.plan, report.step_ns, MedianOf(std::move(runs)), pace);
  return report;
}

std::string ResidualText(const MeasuredPlan& runner, const ResidualReport& report) {
  const Residuals& terms = report.terms;
  TextTable table({"residual", "time", "of predicted"});
  table.Row({"predicted", ShortTime(terms.predicted_ns), ""});
  const auto share = [&](int64_t ns) {
    return Percent(static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(1, terms.predicted_ns)));
  };
  for (const auto& [name, member] : kTerms) table.Row({name, Signed(terms.*member), share(terms.*member)});
  table.Row({"measured, traced", ShortTime(terms.measured_ns), share(terms.measured_ns - terms.predicted_ns)});

  TextTable steps({"step", "<unit", "predicted", "measured", "<reads from", "<work"});
  const std::vector<bool> elsewhere = ReadsFromOtherUnits(runner.plan);
  const Platform& platform = runner.session->machine().platform();
  for (const size_t s : WorstSteps(runner, report)) {
    const Step& step = runner.plan.steps[s];
    steps.Row({std::to_string(s), platform.unit(step.unit).name, ShortTime(step.expected_ns),
               ShortTime(report.step_ns[s]), elsewhere[s] ? "other units" : "own unit", WorkOf(runner, step)});
  }
  return table.Text() + steps.Text();
}

Json ResidualJson(const MeasuredPlan& runner, const ResidualReport& report) {
  Json json = Json::MakeObject();
  json.Set("predicted_ns", report.terms.predicted_ns);
  json.Set("measured_ns", report.terms.measured_ns);
  for (const auto& [name, member] : kTerms) json.Set(std::string(name) + "_ns", report.terms.*member);
  Json steps = Json::MakeArray();
  const std::vector<bool> elsewhere = ReadsFromOtherUnits(runner.plan);
  for (size_t s = 0; s < report.step_ns.size(); ++s) {
    Json step = Json::MakeObject();
    step.Set("step", static_cast<int64_t>(s));
    step.Set("predicted_ns", runner.plan.steps[s].expected_ns);
    step.Set("measured_ns", report.step_ns[s]);
    step.Set("reads_from_other_units", static_cast<bool>(elsewhere[s]));
    steps.Push(std::move(step));
  }
  json.Set("steps", std::move(steps));
  return json;
}

}  // namespace pt::tools
