// single:DEVICE: everything on one device, one step after another. The floor for every other planner and the
// fallback when nothing better is known.
#include "lib/planner/search/serial_dp.h"
#include "lib/planner/solve.h"

namespace pt {

// A stream of one class never waits for other cores; a mixed one runs small steps narrow. Both are tried.
Result<Solved> SolveSingle(const Space& space, std::string_view argument) {
  const Platform& platform = space.platform();
  DeviceId device = kHostDevice;
  if (!argument.empty()) {
    PT_ASSIGN(device, DeviceNamed(platform, argument));
  }
  Scheduler scheduler(space);
  Solved best;
  int64_t best_ns = kImpossible;
  Result<Solution> last = Solution();
  const auto attempt = [&](const SerialRules& rules) {
    if (best_ns < kImpossible && space.deadline().IsOver()) return;
    last = SolveSerial(space, rules);
    if (!last.ok()) return;
    const int64_t ns = scheduler.Run(*last);
    if (ns >= best_ns) return;
    best_ns = ns;
    best.order = std::move(*last);
  };
  for (size_t c = 0; c < platform.unit_classes.size(); ++c) {
    if (platform.unit_classes[c].device != device || space.units(UnitClassId(c)).empty()) continue;
    SerialRules rules;
    rules.allowed = [&](const Option& option) { return option.unit_class == UnitClassId(c); };
    attempt(rules);
  }
  SerialRules mixed;
  mixed.allowed = [&](const Option& option) { return option.device == device; };
  attempt(mixed);
  if (best_ns < kImpossible) return best;
  Error error = last.ok()
                    ? MakeError(ErrorCode::kInfeasible, "planner.infeasible", "no copies lead to the device and back")
                    : last.error();
  error.device = platform.device(device).name;
  return error;
}

}  // namespace pt
