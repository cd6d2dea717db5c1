#include "partitiontuner/plan/dispatch_plan.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pt {
namespace {

// Follows a run with given choices, as one core would do it.
class Follower {
 public:
  Follower(const Graph& graph, const Platform& platform, const DispatchPlan& dispatch)
      : graph_(graph), platform_(platform), dispatch_(dispatch), plan_(dispatch.plan) {
    plan_.steps.clear();
    for (auto& [device, arena] : plan_.memory) arena.scratch.clear();
    for (InstanceId input : dispatch.table.inputs) made_[ValueOf(input)] = input;
    for (const auto& [device, arena] : dispatch.plan.memory) {
      for (const ScratchPlacement& scratch : arena.scratch) scratch_[scratch.step] = {device, scratch};
    }
  }

  Status Run(const DispatchPlacement& placement) {
    for (StepId step : placement.steps) {
      const auto& group = std::get<RunGroup>(dispatch_.plan.steps[step.index()].work);
      for (InstanceId in : group.in) PT_CHECK_OK(Bring(in, placement.unit));
      Append(step, group.in, group.out);
      for (InstanceId out : group.out) {
        made_[ValueOf(out)] = out;
        for (InstanceId wanted : dispatch_.table.outputs) {
          if (ValueOf(wanted) == ValueOf(out)) PT_CHECK_OK(Bring(wanted, placement.unit));
        }
      }
    }
    return {};
  }

  Plan Take() { return std::move(plan_); }

 private:
  ValueId ValueOf(InstanceId id) const { return plan_.instances[id.index()].value; }

  Status Bring(InstanceId wanted, UnitId unit) {
    const auto made = made_.find(ValueOf(wanted));
    if (made != made_.end() && (made->second == wanted || maker_.contains(wanted))) return {};
    const DispatchRoute* route = made == made_.end() ? nullptr : FindRoute(dispatch_.table, made->second, wanted);
    if (route == nullptr) {
      return MakeError(ErrorCode::kInvalidInput, "dispatch.route",
                       "value '" + graph_.value(ValueOf(wanted)).name + "' cannot be brought to " +
                           platform_.unit(unit).name + ", where a task reads it");
    }
    for (uint32_t m : route->moves) {
      const DispatchMove& move = dispatch_.table.moves[m];
      if (!maker_.contains(move.to)) Append(WayOf(dispatch_.plan, move, unit, unit), {move.from}, {move.to});
    }
    return {};
  }

  void Append(StepId from, const std::vector<InstanceId>& in, const std::vector<InstanceId>& out) {
    const StepId id(plan_.steps.size());
    Step step = dispatch_.plan.steps[from.index()];
    for (InstanceId instance : in) {
      const auto maker = maker_.find(instance);
      if (maker != maker_.end()) step.after.push_back(maker->second);
    }
    std::sort(step.after.begin(), step.after.end());
    step.after.erase(std::unique(step.after.begin(), step.after.end()), step.after.end());
    for (InstanceId instance : out) maker_[instance] = id;
    if (const auto scratch = scratch_.find(from); scratch != scratch_.end()) {
      const auto& [device, placement] = scratch->second;
      plan_.memory[device].scratch.push_back({id, placement.offset, placement.bytes});
    }
    plan_.steps.push_back(std::move(step));
  }

  const Graph& graph_;
  const Platform& platform_;
  const DispatchPlan& dispatch_;
  Plan plan_;
  std::map<ValueId, InstanceId> made_;                               // by the caller or by a group
  std::map<InstanceId, StepId> maker_;                               // steps of plan_
  std::map<StepId, std::pair<DeviceId, ScratchPlacement>> scratch_;  // by step of the dispatch
};

// No other plan uses less than all of the candidates and instances; a plan names those it uses, once each.
void DropUnused(Plan& plan) {
  std::vector<PlanCandidateId> candidate_of(plan.candidates.size());
  std::vector<InstanceId> instance_of(plan.instances.size());
  std::vector<Candidate> candidates;
  std::vector<Instance> instances;
  const auto keep = [&](InstanceId& id) {
    InstanceId& kept = instance_of[id.index()];
    if (!kept.valid()) {
      kept = InstanceId(instances.size());
      instances.push_back(plan.instances[id.index()]);
    }
    id = kept;
  };
  for (Step& step : plan.steps) {
    if (auto* group = std::get_if<RunGroup>(&step.work)) {
      PlanCandidateId& kept = candidate_of[group->candidate.index()];
      if (!kept.valid()) {
        kept = PlanCandidateId(candidates.size());
        candidates.push_back(plan.candidates[group->candidate.index()]);
      }
      group->candidate = kept;
      for (InstanceId& in : group->in) keep(in);
      for (InstanceId& out : group->out) keep(out);
    } else if (auto* copy = std::get_if<Copy>(&step.work)) {
      keep(copy->from);
      keep(copy->to);
    } else {
      auto& reorder = std::get<Reorder>(step.work);
      keep(reorder.from);
      keep(reorder.to);
    }
  }
  for (auto& [device, arena] : plan.memory) {
    std::erase_if(arena.placements, [&](const Placement& p) { return !instance_of[p.instance.index()].valid(); });
    for (Placement& placement : arena.placements) placement.instance = instance_of[placement.instance.index()];
  }
  plan.candidates = std::move(candidates);
  plan.instances = std::move(instances);
}

}  // namespace

const DispatchRoute* FindRoute(const DispatchTable& table, InstanceId from, InstanceId to) {
  const auto key = [](const DispatchRoute& route) { return std::pair(route.from, route.to); };
  const auto found = std::ranges::lower_bound(table.routes, std::pair(from, to), {}, key);
  return found != table.routes.end() && key(*found) == std::pair(from, to) ? &*found : nullptr;
}

StepId WayOf(const Plan& plan, const DispatchMove& move, UnitId unit, UnitId own) {
  const auto on = [&](UnitId wanted) {
    return std::ranges::find_if(move.steps, [&](StepId s) { return plan.steps[s.index()].unit == wanted; });
  };
  for (UnitId wanted : {unit, own}) {
    if (const auto way = on(wanted); way != move.steps.end()) return *way;
  }
  return move.steps.front();
}

Result<Plan> StaticPlanOf(const Graph& graph, const Platform& platform, const DispatchPlan& dispatch,
                          std::span<const uint32_t> choices) {
  Follower follower(graph, platform, dispatch);
  for (size_t t = 0; t < dispatch.table.tasks.size(); ++t) {
    PT_CHECK_OK(follower.Run(dispatch.table.tasks[t].placements[choices[t]]));
  }
  Plan plan = follower.Take();
  DropUnused(plan);
  return plan;
}

}  // namespace pt
