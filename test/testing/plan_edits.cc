#include "test/testing/plan_edits.h"

#include <algorithm>
#include <map>
#include <set>

#include "lib/plan/work.h"
#include "partitiontuner/plan/memory_plan.h"

namespace pt::testing {
namespace {

constexpr uint64_t kAlignment = 64;

// Bytes of a device that a step touches.
struct Touch {
  DeviceId device;
  uint64_t begin = 0, end = 0;
  bool writes = false;
};

struct StepTouches {
  std::map<InstanceId, bool> instances;  // true: written
  std::vector<Touch> bytes;
};

std::vector<StepTouches> TouchesOf(const Plan& plan) {
  const std::vector<const Placement*> placements = PlacementsOf(plan);
  std::vector<StepTouches> touches(plan.steps.size());
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto add = [&](std::span<const InstanceId> ids, bool writes) {
      for (InstanceId id : ids) {
        touches[s].instances[id] |= writes;
        const Placement* place = placements[id.index()];
        if (place == nullptr) continue;
        touches[s].bytes.push_back(
            {plan.instances[id.index()].device, place->offset, place->offset + place->bytes, writes});
      }
    };
    add(ReadsOf(plan.steps[s].work), false);
    add(WritesOf(plan.steps[s].work), true);
  }
  for (const auto& [device, arena] : plan.memory) {
    for (const ScratchPlacement& scratch : arena.scratch) {
      touches[scratch.step.index()].bytes.push_back({device, scratch.offset, scratch.offset + scratch.bytes, true});
    }
  }
  return touches;
}

bool Conflict(const StepTouches& a, const StepTouches& b) {
  for (const auto& [instance, writes] : a.instances) {
    const auto other = b.instances.find(instance);
    if (other != b.instances.end() && (writes || other->second)) return true;
  }
  return std::any_of(a.bytes.begin(), a.bytes.end(), [&](const Touch& x) {
    return std::any_of(b.bytes.begin(), b.bytes.end(), [&](const Touch& y) {
      return x.device == y.device && (x.writes || y.writes) && x.begin < y.end && y.begin < x.end;
    });
  });
}

// Instances whose place says what a step does: of elided steps, and where results must lie on inputs.
std::set<InstanceId> TiedInstances(const Graph& graph, const Plan& plan) {
  std::set<InstanceId> tied;
  const std::vector<bool> elided = ElidedSteps(graph, plan);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto* group = std::get_if<RunGroup>(&plan.steps[s].work);
    if (group == nullptr) continue;
    if (elided[s]) {
      tied.insert(group->in.begin(), group->in.end());
      tied.insert(group->out.begin(), group->out.end());
    }
    for (const Alias& alias : plan.candidates[group->candidate.index()].aliases) {
      if (alias.kind == Alias::Kind::kRequired) tied.insert({group->in[alias.in], group->out[alias.out]});
    }
  }
  return tied;
}

uint64_t AlignUp(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Whatever meets moves by as much, so that only gaps grow.
void OpenGaps(Arena& arena, std::mt19937_64& random) {
  struct Range {
    uint64_t begin, end;
    uint64_t* offset;
  };
  std::vector<Range> ranges;
  for (Placement& place : arena.placements) ranges.push_back({place.offset, place.offset + place.bytes, &place.offset});
  for (ScratchPlacement& place : arena.scratch) {
    ranges.push_back({place.offset, place.offset + place.bytes, &place.offset});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  uint64_t shift = 0;
  uint64_t end = 0;
  for (const Range& range : ranges) {
    if (range.begin >= end && range.begin % kAlignment == 0) shift += random() % 3 * kAlignment;
    end = std::max(end, range.end);
    *range.offset += shift;
  }
  arena.bytes += shift + random() % 5 * kAlignment;
}

}  // namespace

void SpellOutWaits(Plan& plan) {
  const std::vector<StepTouches> touches = TouchesOf(plan);
  for (size_t b = 0; b < plan.steps.size(); ++b) {
    std::set<StepId> after(plan.steps[b].after.begin(), plan.steps[b].after.end());
    for (size_t a = 0; a < b; ++a) {
      if (Conflict(touches[a], touches[b])) after.insert(StepId(a));
    }
    plan.steps[b].after.assign(after.begin(), after.end());
  }
}

void ReorderSteps(Plan& plan, std::mt19937_64& random) {
  const size_t count = plan.steps.size();
  std::vector<size_t> open(count);
  std::vector<std::vector<size_t>> followers(count);
  std::vector<size_t> ready;
  for (size_t s = 0; s < count; ++s) {
    open[s] = plan.steps[s].after.size();
    for (StepId predecessor : plan.steps[s].after) followers[predecessor.index()].push_back(s);
    if (open[s] == 0) ready.push_back(s);
  }
  std::vector<StepId> place(count);
  std::vector<Step> steps;
  while (!ready.empty()) {
    const size_t chosen = random() % ready.size();
    const size_t s = ready[chosen];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));
    place[s] = StepId(steps.size());
    steps.push_back(plan.steps[s]);
    for (size_t follower : followers[s]) {
      if (--open[follower] == 0) ready.push_back(follower);
    }
  }
  for (Step& step : steps) {
    for (StepId& predecessor : step.after) predecessor = place[predecessor.index()];
    std::sort(step.after.begin(), step.after.end());
  }
  plan.steps = std::move(steps);
  for (auto& [device, arena] : plan.memory) {
    for (ScratchPlacement& scratch : arena.scratch) scratch.step = place[scratch.step.index()];
  }
  for (StepId& step : plan.report.critical_path) step = place[step.index()];
}

void SwapUnits(const Platform& platform, Plan& plan, std::mt19937_64& random) {
  for (Step& step : plan.steps) {
    if (platform.unit(step.unit).link) continue;
    const std::vector<UnitId> units = UnitsOf(platform, platform.unit(step.unit).unit_class);
    step.unit = units[random() % units.size()];
  }
}

void MoveApart(const Graph& graph, Plan& plan, std::mt19937_64& random) {
  const std::set<InstanceId> tied = TiedInstances(graph, plan);
  for (auto& [device, arena] : plan.memory) {
    for (Placement& place : arena.placements) {
      if (tied.contains(place.instance) || random() % 3 != 0) continue;
      place.offset = AlignUp(arena.bytes);
      arena.bytes = place.offset + place.bytes;
    }
    OpenGaps(arena, random);
  }
}

}  // namespace pt::testing
