#include "lib/planner/schedule/routing.h"

namespace pt {

// The nearest needed slot first, from whatever slot it is cheapest to come from and that holds what it needs.
bool AppendMoves(const Space& space, ValueId v, Slot primary, SlotSet open, std::vector<Move>& moves) {
  const Routes& routes = space.routes(v);
  const std::vector<Form>& forms = space.value(v).forms;
  const auto form = [&](uint32_t slot) -> const Form& { return forms[slot % forms.size()]; };
  const size_t first = moves.size();
  SlotSet have(primary);
  while (!open.empty()) {
    uint32_t from = 0;
    uint32_t to = 0;
    int64_t best = kImpossible;
    open.ForEach([&](uint32_t t) {
      have.ForEach([&](uint32_t f) {
        if (routes.cost(f, t) >= best || !LiesBetween(form(primary), form(f), form(t))) return;
        best = routes.cost(f, t);
        from = f;
        to = t;
      });
    });
    if (best >= kImpossible) return false;
    while (from != to) {
      const uint32_t hop = routes.next[from * routes.slots + to];
      if (!have.Contains(hop)) {
        Move move;
        move.from = static_cast<Slot>(from);
        move.to = static_cast<Slot>(hop);
        // What a queue makes is not there when the list comes to it: launching its copy at once would hold up the
        // driver's core until it is.
        move.early = IsHost(space.device(v, from)) && !IsHost(space.device(v, hop));
        moves.push_back(move);
        have.Insert(hop);
      }
      from = hop;
    }
    open.Remove(have);
  }
  // What an early move reads must be early itself; later moves read earlier ones.
  for (size_t m = moves.size(); m-- > first;) {
    if (!moves[m].early) continue;
    for (size_t e = first; e < m; ++e) moves[e].early |= moves[e].to == moves[m].from;
  }
  return true;
}

}  // namespace pt
