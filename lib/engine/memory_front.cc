#include "lib/engine/memory_front.h"

#include <algorithm>
#include <tuple>

#include "lib/engine/make_plan.h"

namespace pt {

uint64_t TotalMemory(const Plan& plan) {
  uint64_t bytes = 0;
  for (const auto& [device, arena] : plan.memory) bytes += arena.bytes;
  return bytes;
}

std::vector<Plan> MemoryFrontOf(std::vector<Plan> plans) {
  std::stable_sort(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) {
    return std::tuple(a.makespan.ns, TotalMemory(a)) < std::tuple(b.makespan.ns, TotalMemory(b));
  });
  std::vector<Plan> front;
  for (Plan& plan : plans) {
    if (front.empty() || TotalMemory(plan) < TotalMemory(front.back())) front.push_back(std::move(plan));
  }
  return front;
}

// Down in steps of a tenth until no plan is found, then by halves to where that begins.
Result<std::vector<Plan>> MakeMemoryFront(const PlanningContext& context) {
  constexpr int kHalvings = 3;
  constexpr uint64_t kFinest = 64;  // what arenas are rounded to
  PlanOptions options = context.options;
  options.margin = SplitMargin::kNone;  // what can be had at all, the single devices' plans among it
  const auto make = [&] {
    return MakeModelPlan(context.model, context.machine, context.costs, context.profile, options, nullptr, nullptr);
  };
  std::vector<Plan> plans;
  const auto ends = [&] { return IsInterrupted(options.watch); };  // with the plans so far
  PT_ASSIGN(Plan first, make());
  uint64_t least = TotalMemory(first);  // of the plans so far
  plans.push_back(std::move(first));
  // True when there is a plan under the cap.
  const auto attempt = [&](uint64_t cap) -> Result<bool> {
    options.constraints.total_memory_cap = cap;
    Result<Plan> plan = make();
    const bool none =
        !plan.ok() && (plan.error().code == ErrorCode::kOutOfMemory || plan.error().code == ErrorCode::kInfeasible);
    if (none || (!plan.ok() && ends())) return false;
    if (!plan.ok()) return plan.error();
    least = TotalMemory(*plan);
    plans.push_back(*std::move(plan));
    return true;
  };
  uint64_t too_small = 0;
  while (least > 0 && !ends()) {
    const uint64_t cap = least - std::min(least, std::max(least / 10, kFinest));
    PT_ASSIGN(const bool fits, attempt(cap));
    if (fits) continue;
    too_small = cap;
    break;
  }
  for (int i = 0; i < kHalvings && least > too_small + kFinest && !ends(); ++i) {
    const uint64_t cap = too_small + (least - too_small) / 2;
    PT_ASSIGN(const bool fits, attempt(cap));
    if (!fits) too_small = cap;
  }
  return MemoryFrontOf(std::move(plans));
}

}  // namespace pt
