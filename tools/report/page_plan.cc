#include "tools/report/page_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "partitiontuner/plan/memory_use.h"
#include "partitiontuner/plan/step_text.h"
#include "tools/report/plan_facts.h"

namespace pt::tools {
namespace {

PageStep::Kind KindOf(const Step& step) {
  if (std::holds_alternative<Copy>(step.work)) return PageStep::Kind::kCopy;
  return std::holds_alternative<Reorder>(step.work) ? PageStep::Kind::kReorder : PageStep::Kind::kGroup;
}

std::vector<PageAlternative> OthersThan(const Candidate& chosen, std::span<const Candidate* const> all,
                                        const Platform& platform, const CostModel& costs) {
  constexpr size_t kMost = 4;
  std::map<std::pair<std::string, std::string>, int64_t> fastest;  // by class and library: forms also differ
  for (const Candidate* other : all) {
    const std::pair<std::string, std::string> key = {platform.unit_class(other->unit_class).name, LibraryLabel(*other)};
    if (key == std::pair(platform.unit_class(chosen.unit_class).name, LibraryLabel(chosen))) continue;
    const StepCost cost = costs.OfStep(*other);
    if (!cost.run) continue;
    const int64_t ns = cost.run->ns + cost.overhead.ns;
    const auto [found, fresh] = fastest.try_emplace(key, ns);
    if (!fresh) found->second = std::min(found->second, ns);
  }
  std::vector<PageAlternative> others;
  for (const auto& [key, ns] : fastest) others.push_back({key.first, key.second, ns});
  std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.ns < b.ns; });
  others.resize(std::min(others.size(), kMost));
  return others;
}

}  // namespace

StepNames NamesBy(const Graph& graph, const Plan& plan) {
  return {[&](const Step& step) { return WorkLabel(graph, plan, step); },
          [&](const Step& step) {
            const Candidate& candidate = plan.candidates[std::get<RunGroup>(step.work).candidate.index()];
            return graph.node(HeaviestNode(graph, candidate.nodes)).op;
          }};
}

PagePlan PagePlanOf(const Platform& platform, const Plan& plan, const StepNames& names, const std::string& title) {
  PagePlan page;
  page.title = title;
  page.makespan_ns = plan.makespan.ns;
  page.bound_ns = plan.lower_bound_ns;
  page.single_ns = BestSingleOf(plan).ns;
  StepLanes lanes = StepLanesOf(platform, plan);
  page.lanes = std::move(lanes.names);
  std::map<UnitId, size_t> index_of;
  for (const Step& step : plan.steps) {
    const auto [found, fresh] = index_of.try_emplace(step.unit, page.units.size());
    if (fresh) page.units.push_back({platform.unit(step.unit).name, lanes.of_unit[step.unit]});
    PageStep row;
    row.kind = KindOf(step);
    row.unit = found->second;
    row.start_ns = step.expected_start_ns;
    row.ns = step.expected_ns;
    row.work = names.work(step);
    row.library = LibraryLabel(plan, step);
    if (row.kind == PageStep::Kind::kGroup) row.op = names.op(step);
    page.steps.push_back(std::move(row));
  }
  for (const StepId id : plan.report.critical_path) page.steps[id.index()].critical = true;
  for (auto& [device, use] : MemoryUseOf(plan)) {
    page.memory.push_back({platform.device(device).name, use.peak_bytes, std::move(use.bytes_at)});
  }
  for (const auto& [unit, share] : plan.report.busy) page.busy.push_back({unit, share});
  return page;
}

void AddAlternatives(const Platform& platform, const Plan& plan, std::span<const Candidate> candidates,
                     const CostModel& costs, PagePlan& page) {
  std::map<std::vector<NodeId>, std::vector<const Candidate*>> of_nodes;
  for (const Candidate& candidate : plan.candidates) of_nodes[candidate.nodes];
  for (const Candidate& candidate : candidates) {
    const auto found = of_nodes.find(candidate.nodes);
    if (found != of_nodes.end()) found->second.push_back(&candidate);
  }
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto* run = std::get_if<RunGroup>(&plan.steps[s].work);
    if (run == nullptr) continue;
    const Candidate& chosen = plan.candidates[run->candidate.index()];
    page.steps[s].others = OthersThan(chosen, of_nodes.at(chosen.nodes), platform, costs);
  }
}

void AddReasons(const Plan& plan, const Explanations& explanations, PagePlan& page) {
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto* run = std::get_if<RunGroup>(&plan.steps[s].work);
    if (run == nullptr) continue;
    std::set<std::string> seen;
    for (const NodeId node : plan.candidates[run->candidate.index()].nodes) {
      for (const std::string& line : explanations.of(node)) {
        if (seen.insert(line).second) page.steps[s].why.push_back(line);
      }
    }
  }
}

void AddMeasured(const Trace& run, std::span<const int64_t> step_ns, const std::string& title, PagePlan& page) {
  page.measured_title = title;
  page.measured_end_ns = run.run_ns;
  for (const TraceEvent& event : run.events) {
    PageStep& step = page.steps[event.step.index()];
    step.measured_ns = step_ns[event.step.index()];
    step.run_start_ns = event.start_ns;
    step.run_ns = event.end_ns - event.start_ns;
  }
}

}  // namespace pt::tools
