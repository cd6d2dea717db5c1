#include "lib/planner/schedule/memory_judge.h"

#include <algorithm>
#include <limits>
#include <set>

#include "lib/planner/schedule/assemble.h"

namespace pt {

Overrun MemoryJudge::Judge(const Solution& solution) {
  Overrun overrun;
  overrun.breach = rules_.BreachOf(solution);
  pressing_.clear();
  if (overrun.breach.any()) pressing_ = rules_.Breaching(solution);
  if (is_capped()) JudgeMemory(solution, overrun);
  std::sort(pressing_.begin(), pressing_.end());
  return overrun;
}

void MemoryJudge::JudgeMemory(const Solution& solution, Overrun& overrun) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  overrun.bytes = overrun.pressed = kMost;
  if (schedule_.Run(solution) >= kImpossible) return;
  Plan plan = StepsOf(space_, solution, schedule_);
  if (!PlanMemory(space_.graph(), space_.platform(), plan).ok()) return;
  overrun.bytes = overrun.pressed = 0;
  const Constraints& constraints = space_.problem().constraints;
  pressed_.assign(plan.instances.size(), false);
  uint64_t total = 0;
  for (const auto& [device, arena] : plan.memory) {
    total += arena.bytes;
    const auto cap = constraints.memory_caps.find(device);
    if (cap == constraints.memory_caps.end() || arena.bytes <= cap->second) continue;
    overrun.bytes += arena.bytes - cap->second;
    Press(plan, arena, arena.bytes - cap->second, overrun);
  }
  if (constraints.total_memory_cap && total > *constraints.total_memory_cap) {
    const uint64_t over = total - *constraints.total_memory_cap;
    overrun.bytes += over;
    for (const auto& [device, arena] : plan.memory) Press(plan, arena, over, overrun);
  }
  if (overrun.bytes > 0) FindPressing(plan);
}

void MemoryJudge::Press(const Plan& plan, const Arena& arena, uint64_t over, Overrun& overrun) {
  const uint64_t limit = arena.bytes - std::min(arena.bytes, over);
  for (const Placement& placement : arena.placements) {
    if (placement.offset + placement.bytes <= limit) continue;
    pressed_[placement.instance.index()] = true;
    overrun.pressed += placement.bytes;
  }
  for (const ScratchPlacement& scratch : arena.scratch) {
    if (scratch.offset + scratch.bytes <= limit) continue;
    overrun.pressed += scratch.bytes;
    const RunGroup& group = std::get<RunGroup>(plan.steps[scratch.step.index()].work);
    for (InstanceId out : group.out) pressed_[out.index()] = true;
  }
}

void MemoryJudge::FindPressing(const Plan& plan) {
  const auto any = [&](const std::vector<InstanceId>& instances) {
    return std::any_of(instances.begin(), instances.end(), [&](InstanceId id) { return pressed_[id.index()]; });
  };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto* group = std::get_if<RunGroup>(&plan.steps[s].work);
    if (group != nullptr && (any(group->in) || any(group->out))) pressing_.push_back(schedule_.steps()[s].choice);
  }
}

namespace {

// Picks choices one by one and knows what each would leave alive.
class MemoryOrder {
 public:
  MemoryOrder(const Space& space, const Solution& solution)
      : space_(space),
        solution_(solution),
        maker_(space.graph().values().size(), kNothing),
        bytes_(maker_.size(), 0),
        readers_(maker_.size()),
        open_(solution.size(), 0),
        left_(maker_.size(), 0) {
    for (uint32_t c = 0; c < solution.size(); ++c) {
      const Option& option = space.option(solution[c].option);
      const Group& group = space.group(option.group);
      for (size_t i = 0; i < group.out.size(); ++i) {
        const ValueId v = group.out[i];
        maker_[v.index()] = c;
        const bool external = space.value(v).is_output && option.out[i] == space.value(v).external;
        if (!external) bytes_[v.index()] = BytesIn(v, option.out[i]);
      }
    }
    for (uint32_t c = 0; c < solution.size(); ++c) {
      for (ValueId v : space.group_of(solution[c].option).in) {
        readers_[v.index()].push_back(c);
        ++left_[v.index()];
        if (maker_[v.index()] != kNothing) ++open_[c];
      }
    }
  }

  Solution Run() {
    std::set<uint32_t> ready;
    for (uint32_t c = 0; c < open_.size(); ++c) {
      if (open_[c] == 0) ready.insert(c);
    }
    Solution ordered;
    while (!ready.empty()) {
      const auto next = std::min_element(ready.begin(), ready.end(),
                                         [&](uint32_t a, uint32_t b) { return LeftAlive(a) < LeftAlive(b); });
      const uint32_t c = *next;
      ready.erase(next);
      ordered.push_back(solution_[c]);
      const Group& group = space_.group_of(solution_[c].option);
      for (ValueId v : group.in) --left_[v.index()];
      for (ValueId v : group.out) {
        for (uint32_t reader : readers_[v.index()]) {
          if (--open_[reader] == 0) ready.insert(reader);
        }
      }
    }
    return ordered;
  }

 private:
  uint64_t BytesIn(ValueId v, uint32_t slot) const {
    return space_.routes(v).bytes[slot % space_.value(v).forms.size()];
  }

  // How many bytes more are alive after the choice than before it.
  int64_t LeftAlive(uint32_t c) const {
    const Group& group = space_.group_of(solution_[c].option);
    int64_t bytes = 0;
    for (ValueId v : group.out) bytes += static_cast<int64_t>(bytes_[v.index()]);
    for (ValueId v : group.in) {
      if (left_[v.index()] == 1) bytes -= static_cast<int64_t>(bytes_[v.index()]);
    }
    return bytes;
  }

  const Space& space_;
  const Solution& solution_;
  std::vector<uint32_t> maker_;                 // by value
  std::vector<uint64_t> bytes_;                 // by value; 0 where the caller has it
  std::vector<std::vector<uint32_t>> readers_;  // by value
  std::vector<uint32_t> open_;                  // by choice: values it waits for
  std::vector<uint32_t> left_;                  // by value: readers still to come
};

}  // namespace

Solution OrderForMemory(const Space& space, const Solution& solution) { return MemoryOrder(space, solution).Run(); }

}  // namespace pt
