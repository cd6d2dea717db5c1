// Which copies and reorders bring a value from where it is made to where it is read: the rule that Scheduler and the
// exact search share.
#pragma once

#include <vector>

#include "lib/planner/schedule/space.h"

namespace pt {

// A copy or reorder that some reader needs.
struct Move {
  Slot from = 0, to = 0;
  bool early = false;  // a copy from the host or what such a copy needs: starts right after what it reads
  friend bool operator==(const Move&, const Move&) = default;
};

// Appends the moves of a value from slot `primary` to all slots in `needed` (without primary), each after those that it
// reads from. False when one of them cannot be reached.
bool AppendMoves(const Space& space, ValueId value, Slot primary, SlotSet needed, std::vector<Move>& moves);

// Calls visit(unit, overhead_ns, run_ns) for every unit that can copy or reorder the value from a slot to another one
// hop away; false when there is none.
template <typename Visit>
bool ForEachWay(const Space& space, ValueId value, Slot from, Slot to, Visit visit) {
  const Routes& routes = space.routes(value);
  const auto overhead_ns = [&](UnitId unit) { return space.overhead_ns(space.platform().unit(unit).unit_class); };
  if (const DeviceId source = space.device(value, from), target = space.device(value, to); source != target) {
    const std::span<const UnitId> units = space.copy_units(space.link(source, target));
    const int64_t run_ns = routes.cost(from, to) - overhead_ns(units.front());
    for (UnitId unit : units) visit(unit, overhead_ns(unit), run_ns);
    return true;
  }
  const auto ways = routes.reorders.find({from, to});
  if (ways == routes.reorders.end()) return false;
  for (const ReorderWay& way : ways->second) {
    for (UnitId unit : space.units(way.unit_class)) visit(unit, overhead_ns(unit), way.ns);
  }
  return true;
}

}  // namespace pt
