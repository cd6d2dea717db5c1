// Which copies and reorders bring a value from where it is made to where it is read: the rule that Scheduler and the
// exact search share.
#pragma once

#include <vector>

#include "lib/planner/space.h"

namespace pt {

// A copy or reorder that some reader needs.
struct Move {
  Slot from = 0, to = 0;
  bool early = false;  // a copy from the host or what such a copy needs: starts right after what it reads
  bool done = false;
};

// Appends the moves of a value from slot `primary` to all slots in `needed` (without primary), each after those that it
// reads from. False when one of them cannot be reached.
bool AppendMoves(const Space& space, ValueId value, Slot primary, SlotSet needed, std::vector<Move>& moves);

// Calls visit(unit, overhead_ns, run_ns) for every unit that can copy or reorder the value from a slot to another one
// hop away.
template <typename Visit>
void ForEachWay(const Space& space, ValueId value, const Move& move, Visit visit) {
  const Routes& routes = space.routes(value);
  const auto visit_unit = [&](UnitId unit, int64_t run_ns) {
    visit(unit, space.overhead_ns(space.platform().unit(unit).unit_class), run_ns);
  };
  const DeviceId from = space.device(value, move.from);
  const DeviceId to = space.device(value, move.to);
  if (from != to) {
    const std::span<const UnitId> units = space.copy_units(space.link(from, to));
    const int64_t overhead_ns = space.overhead_ns(space.platform().unit(units.front()).unit_class);
    for (UnitId unit : units) visit_unit(unit, routes.cost(move.from, move.to) - overhead_ns);
    return;
  }
  const auto ways = routes.reorders.find({move.from, move.to});
  if (ways == routes.reorders.end()) return;
  for (const ReorderWay& way : ways->second) {
    for (UnitId unit : space.units(way.unit_class)) visit_unit(unit, way.ns);
  }
}

}  // namespace pt
