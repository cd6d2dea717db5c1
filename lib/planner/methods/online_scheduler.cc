#include "lib/planner/methods/online_scheduler.h"

#include <algorithm>

namespace pt {

OnlineScheduler::OnlineScheduler(const Space& space) : Scheduler(space) {
  std::fill(writer_.begin(), writer_.end(), kNothing);
  lane_free_.assign(space_.simulator().lanes().count, 0);
  lane_last_.assign(lane_free_.size(), kNothing);
  for (ValueId v : produced_) {
    const ValueSlots& value = space_.value(v);
    if (!value.is_input) continue;
    values_[v.index()].primary = static_cast<Slot>(value.external);
    SetWriter(v, value.external, kBound);
  }
}

int64_t OnlineScheduler::Append(const Choice& choice) {
  const Option& option = space_.option(choice.option);
  const Group& group = space_.group(option.group);
  for (size_t i = 0; i < group.in.size(); ++i) {
    if (!Bring(group.in[i], option.in[i])) return kImpossible;
  }
  for (size_t i = 0; i < group.out.size(); ++i) values_[group.out[i].index()].primary = option.out[i];
  return EmitChoice(count_++, choice, option.likely_elided) ? steps_.back().end_ns : kImpossible;
}

bool OnlineScheduler::Bring(ValueId v, uint32_t slot) {
  if (writer(v, slot) != kNothing) return true;
  const Slot primary = values_[v.index()].primary;
  moves_.clear();
  if (writer(v, primary) == kNothing || !AppendMoves(space_, v, primary, SlotSet(slot), moves_)) return false;
  return std::all_of(moves_.begin(), moves_.end(),
                     [&](const Move& move) { return writer(v, move.to) != kNothing || EmitMove(v, move); });
}

int64_t OnlineScheduler::FreeAt(UnitId unit) const {
  const Lanes& lanes = space_.simulator().lanes();
  const uint32_t driver = lanes.driver[unit.index()];
  int64_t free_at = driver == Lanes::kNone ? 0 : lane_free_[driver];
  for (uint32_t lane : lanes.of_unit[unit.index()]) free_at = std::max(free_at, lane_free_[lane]);
  return free_at;
}

int64_t OnlineScheduler::FormNs(ValueId v, uint32_t slot) const {
  const Routes& routes = space_.routes(v);
  int64_t least = kImpossible;
  for (uint32_t from = 0; from < routes.slots; ++from) {
    if (writer(v, from) != kNothing) least = std::min(least, routes.form_cost(from, slot));
  }
  return least;
}

}  // namespace pt
