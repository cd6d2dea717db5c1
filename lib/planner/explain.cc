#include <algorithm>

#include "lib/planner/schedule/assemble.h"

namespace pt {

void Explanations::Add(NodeId node, std::string line) { lines_[node].push_back(std::move(line)); }

std::span<const std::string> Explanations::of(NodeId node) const {
  const auto found = lines_.find(node);
  return found == lines_.end() ? std::span<const std::string>() : std::span(found->second);
}

namespace {

std::string Microseconds(int64_t ns) {
  std::string text = std::to_string(ns / 1000) + "." + std::to_string(ns % 1000 / 100);
  return text + " us";
}

// How much later each step could end without moving the makespan, from the last step back.
std::vector<int64_t> SlackOf(const Space& space, const Plan& plan, const Timeline& timeline) {
  const Lanes& lanes = space.simulator().lanes();
  std::vector<int64_t> latest(plan.steps.size(), timeline.makespan_ns);
  std::vector<uint32_t> next(lanes.count, kNothing);
  std::vector<uint32_t> writer(plan.instances.size(), kNothing);
  std::vector<std::vector<uint32_t>> waits(plan.steps.size());
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    for (StepId predecessor : plan.steps[s].after) waits[s].push_back(predecessor.value);
    if (const auto* group = std::get_if<RunGroup>(&plan.steps[s].work)) {
      for (InstanceId in : group->in) {
        if (writer[in.index()] != kNothing) waits[s].push_back(writer[in.index()]);
      }
      for (InstanceId out : group->out) writer[out.index()] = s;
    } else if (const auto* copy = std::get_if<Copy>(&plan.steps[s].work)) {
      writer[copy->to.index()] = s;
    } else {
      writer[std::get<Reorder>(plan.steps[s].work).to.index()] = s;
    }
  }
  for (uint32_t s = static_cast<uint32_t>(plan.steps.size()); s-- > 0;) {
    const UnitId unit = plan.steps[s].unit;
    for (uint32_t lane : lanes.of_unit[unit.index()]) {
      if (next[lane] != kNothing) {
        const uint32_t after = next[lane];
        latest[s] = std::min(latest[s], latest[after] - (timeline.end_ns[after] - timeline.start_ns[after]));
      }
      next[lane] = s;
    }
    const int64_t latest_start = latest[s] - (timeline.end_ns[s] - timeline.start_ns[s]);
    for (uint32_t predecessor : waits[s]) {
      latest[predecessor] =
          std::min(latest[predecessor], latest_start - space.simulator().wait_ns(plan.steps[predecessor].unit, unit));
    }
  }
  for (size_t s = 0; s < latest.size(); ++s) latest[s] = std::max<int64_t>(0, latest[s] - timeline.end_ns[s]);
  return latest;
}

std::string Alternatives(const Space& space, NodeId node, const Candidate& chosen) {
  // The cheapest option of every group of the node on every class; what is chosen is left out.
  std::string text;
  for (uint32_t g : space.groups_of(node)) {
    std::vector<UnitClassId> seen;
    for (uint32_t o : space.group(g).options) {
      const Option& option = space.option(o);
      if (std::find(seen.begin(), seen.end(), option.unit_class) != seen.end()) continue;
      seen.push_back(option.unit_class);
      if (space.group(g).nodes == chosen.nodes && option.unit_class == chosen.unit_class) continue;
      const size_t nodes = space.group(g).nodes.size();
      text += (text.empty() ? "" : "; ") + space.platform().unit_class(option.unit_class).name + " " +
              (nodes == 1 ? std::string("alone") : "in a group of " + std::to_string(nodes)) + " by " +
              space.problem().candidates[option.candidate].library + " " + Microseconds(option.ns());
    }
  }
  return text.empty() ? "none" : text;
}

}  // namespace

void ExplainPlan(const Space& space, const Plan& plan, const Timeline& timeline, Explanations& explanations) {
  const std::vector<int64_t> slack = SlackOf(space, plan, timeline);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const auto* group = std::get_if<RunGroup>(&step.work);
    if (group == nullptr) continue;
    const Candidate& candidate = plan.candidates[group->candidate.index()];
    std::string nodes;
    for (NodeId node : candidate.nodes) nodes += (nodes.empty() ? "" : " + ") + NodeLabel(space.graph(), node);
    const bool critical = std::find(plan.report.critical_path.begin(), plan.report.critical_path.end(), StepId(s)) !=
                          plan.report.critical_path.end();
    std::string waits;
    for (StepId predecessor : step.after) waits += (waits.empty() ? "" : ", ") + std::to_string(predecessor.value);
    for (NodeId node : candidate.nodes) {
      explanations.Add(node, "step " + std::to_string(s) + " on " + space.platform().unit(step.unit).name + ": " +
                                 nodes + " by " + candidate.library +
                                 (candidate.variant.empty() ? std::string() : " (" + candidate.variant + ")"));
      explanations.Add(node, "runs " + Microseconds(timeline.end_ns[s] - timeline.start_ns[s]) + " from " +
                                 Microseconds(timeline.start_ns[s]) + ", slack " + Microseconds(slack[s]) +
                                 (critical ? ", on the critical path" : ""));
      explanations.Add(node, "waits for " + (waits.empty() ? std::string("its unit only") : "steps " + waits));
      explanations.Add(node, "alternatives: " + Alternatives(space, node, candidate));
    }
  }
}

}  // namespace pt
