// What a step reads and writes, whatever its kind.
#pragma once

#include <span>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

inline std::span<const InstanceId> ReadsOf(const Work& work) {
  if (const auto* group = std::get_if<RunGroup>(&work)) return group->in;
  if (const auto* copy = std::get_if<Copy>(&work)) return {&copy->from, 1};
  return {&std::get_if<Reorder>(&work)->from, 1};
}

inline std::span<const InstanceId> WritesOf(const Work& work) {
  if (const auto* group = std::get_if<RunGroup>(&work)) return group->out;
  if (const auto* copy = std::get_if<Copy>(&work)) return {&copy->to, 1};
  return {&std::get_if<Reorder>(&work)->to, 1};
}

// By instance; null where a plan places none.
inline std::vector<const Placement*> PlacementsOf(const Plan& plan) {
  std::vector<const Placement*> placements(plan.instances.size(), nullptr);
  for (const auto& [device, arena] : plan.memory) {
    for (const Placement& placement : arena.placements) {
      if (placement.instance.index() < placements.size()) placements[placement.instance.index()] = &placement;
    }
  }
  return placements;
}

}  // namespace pt
