// MemoryJudge: how far the plan of a solution is over the memory caps of its problem, or breaks its device rules, and
// which choices make it so. The measure of memory is PlanMemory itself, so what fits here fits in the plan that is made
// in the end.
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "lib/planner/schedule/device_rules.h"

namespace pt {

// Plans are compared by it before their times.
struct Overrun {
  Breach breach;         // of device rules
  uint64_t bytes = 0;    // above the memory caps, added up
  uint64_t pressed = 0;  // of all that reaches above them: less of it is a way down where `bytes` stays
  bool fits() const { return bytes == 0 && !breach.any(); }
  friend auto operator<=>(const Overrun&, const Overrun&) = default;
};

// One thread at a time.
class MemoryJudge {
 public:
  explicit MemoryJudge(const Space& space) : space_(space), rules_(space), schedule_(space) {}

  // Without limits everything fits.
  bool has_limits() const { return space_.problem().constraints.limits_whole_plans(); }
  bool is_capped() const { return space_.problem().constraints.caps_memory(); }
  const DeviceRules& rules() const { return rules_; }
  // Of a solution that Scheduler::Run finds possible. Largest where the plan can have no memory at all.
  Overrun Judge(const Solution& solution);
  // Choices that make, read or compute what lay above a cap in the last solution judged, or were where device rules
  // forbid it; ascending.
  std::span<const uint32_t> pressing() const { return pressing_; }

 private:
  void JudgeMemory(const Solution& solution, Overrun& overrun);
  // What of the device's arena lies in its last `over` bytes.
  void Press(const Plan& plan, const Arena& arena, uint64_t over, Overrun& overrun);
  void FindPressing(const Plan& plan);

  const Space& space_;
  DeviceRules rules_;
  Scheduler schedule_;
  std::vector<bool> pressed_;  // by instance of the plan
  std::vector<uint32_t> pressing_;
};

// The same choices in a legal order that keeps few bytes alive at once: the next is always the ready one that leaves
// the least more.
Solution OrderForMemory(const Space& space, const Solution& solution);

}  // namespace pt
