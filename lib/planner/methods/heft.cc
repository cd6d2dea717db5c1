#include "lib/planner/methods/heft.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <queue>

#include "lib/planner/search/serial_dp.h"
#include "lib/planner/solve.h"

namespace pt {
namespace {

// Busy times of a lane, ascending and apart: what touches is one, so that a look for an idle time passes many steps at
// once.
using Busy = std::vector<std::pair<int64_t, int64_t>>;

class HeftScheduler {
 public:
  HeftScheduler(const Space& space, const std::vector<uint32_t>& cover, const HeftRules& rules)
      : space_(space),
        cover_(cover),
        rules_(rules),
        lanes_(space.simulator().lanes().count),
        ready_(space.slot_count(), kImpossible),
        made_on_(space.graph().values().size()),
        primary_(space.graph().values().size(), kNothing) {}

  Solution Run() {
    Link();
    for (ValueId input : space_.graph().inputs()) {
      const ValueSlots& value = space_.value(input);
      primary_[input.index()] = value.external;
      ready_[value.first + value.external] = 0;
    }
    const std::vector<uint32_t> order = Order();
    Solution solution(cover_.size());
    std::vector<std::pair<int64_t, int64_t>> starts(cover_.size());
    for (size_t i = 0; i < order.size(); ++i) {
      if (space_.deadline().GivesUp()) return {};
      solution[order[i]] = Place(cover_[order[i]], starts[order[i]].first);
      starts[order[i]].second = static_cast<int64_t>(i);
    }
    std::vector<int64_t> keys(cover_.size());
    std::vector<uint32_t> by_start(cover_.size());
    std::iota(by_start.begin(), by_start.end(), 0u);
    std::sort(by_start.begin(), by_start.end(), [&](uint32_t a, uint32_t b) { return starts[a] < starts[b]; });
    for (size_t i = 0; i < by_start.size(); ++i) keys[by_start[i]] = static_cast<int64_t>(i);
    SortLegally(space_, solution, keys);
    return solution;
  }

 private:
  bool Allowed(const Option& option) const { return !rules_.allowed || rules_.allowed(option); }

  // Groups in which a value is read, in the cover's topological order.
  void Link() {
    std::vector<uint32_t> of_node(space_.graph().nodes().size(), kNothing);
    for (uint32_t c = 0; c < cover_.size(); ++c) {
      for (NodeId node : space_.group(cover_[c]).nodes) of_node[node.index()] = c;
    }
    successors_.resize(cover_.size());
    for (uint32_t c = 0; c < cover_.size(); ++c) {
      for (ValueId in : space_.group(cover_[c]).in) {
        const NodeId producer = space_.value(in).producer;
        if (producer.valid()) successors_[of_node[producer.index()]].emplace_back(c, in);
      }
    }
  }

  std::vector<uint32_t> Order() const {
    const std::vector<double> rank = rules_.rank.empty() ? Ranks() : rules_.rank;
    // The cover comes from a solution in legal order, so that equal ranks go by it.
    using Ready = std::pair<double, uint32_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    std::vector<uint32_t> open(cover_.size(), 0);
    for (const auto& successors : successors_) {
      for (const auto& [successor, value] : successors) ++open[successor];
    }
    for (uint32_t c = 0; c < cover_.size(); ++c) {
      if (open[c] == 0) ready.emplace(-rank[c], c);
    }
    std::vector<uint32_t> order;
    while (!ready.empty()) {
      order.push_back(ready.top().second);
      ready.pop();
      for (const auto& [successor, value] : successors_[order.back()]) {
        if (--open[successor] == 0) ready.emplace(-rank[successor], successor);
      }
    }
    return order;
  }

  double MeanTime(uint32_t group) const {
    // The mean over units, each with its best option.
    double sum = 0;
    double units = 0;
    for (size_t c = 0; c < space_.platform().unit_classes.size(); ++c) {
      int64_t best = kImpossible;
      for (uint32_t o : space_.group(group).options) {
        const Option& option = space_.option(o);
        if (option.unit_class == UnitClassId(c) && Allowed(option)) best = std::min(best, option.likely_ns());
      }
      if (best >= kImpossible) continue;
      const auto count = static_cast<double>(space_.units(UnitClassId(c)).size());
      sum += count * static_cast<double>(best);
      units += count;
    }
    return units > 0 ? sum / units : 0;
  }

  double MeanMoveOf(ValueId value) const {
    const auto [found, is_new] = mean_move_.try_emplace(space_.value(value).routes, 0);
    if (is_new) found->second = MeanMove(space_, value);
    return found->second;
  }

  std::vector<double> Ranks() const {
    std::vector<double> rank(cover_.size(), 0);
    for (uint32_t c = static_cast<uint32_t>(cover_.size()); c-- > 0;) {
      double tail = 0;
      for (const auto& [successor, value] : successors_[c]) tail = std::max(tail, MeanMoveOf(value) + rank[successor]);
      rank[c] = MeanTime(cover_[c]) + tail;
    }
    return rank;
  }

  // When the value can be in the slot for a reader on the unit.
  int64_t Arrival(ValueId v, uint32_t slot, UnitId reader) const {
    const ValueSlots& value = space_.value(v);
    const Routes& routes = space_.routes(v);
    int64_t best = kImpossible;
    for (uint32_t from = 0; from < routes.slots; ++from) {
      const int64_t ready = ready_[value.first + from];
      if (ready < kImpossible) best = std::min(best, ready + routes.cost(from, slot));
    }
    const UnitId maker = made_on_[v.index()];
    return best + (maker.valid() ? space_.simulator().wait_ns(maker, reader) : 0);
  }

  // The earliest time from `ready` on when all lanes are free that long.
  int64_t Insert(std::span<const uint32_t> lanes, int64_t ready, int64_t ns) const {
    int64_t start = ready;
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t lane : lanes) {
        const Busy& busy = lanes_[lane];
        auto next = std::partition_point(busy.begin(), busy.end(), [&](const auto& b) { return b.second <= start; });
        while (next != busy.end() && next->first < start + ns) {
          start = (next++)->second;
          moved = true;
        }
      }
    }
    return start;
  }

  // When a step would launch (the same as start without a driver), start and end on a unit.
  struct Slot {
    int64_t launch_ns = 0, start_ns = 0, end_ns = INT64_MAX;
  };

  Slot SlotOn(UnitId unit, const Option& option, int64_t ready) const {
    const Lanes& lanes = space_.simulator().lanes();
    const uint32_t driver = lanes.driver[unit.index()];
    Slot slot;
    if (driver == Lanes::kNone) {
      slot.launch_ns = slot.start_ns = Insert(lanes.of_unit[unit.index()], ready, option.likely_ns());
      slot.end_ns = slot.start_ns + option.likely_ns();
      return slot;
    }
    const int64_t run_ns = option.likely_ns() - option.likely_overhead_ns();
    slot.launch_ns = Insert(std::span(&driver, 1), ready, LaunchNs(option));
    slot.start_ns = Insert(lanes.of_unit[unit.index()], slot.launch_ns + option.likely_overhead_ns(), run_ns);
    slot.end_ns = slot.start_ns + run_ns;
    return slot;
  }

  // A launch that takes no time still needs its driver to be free.
  static int64_t LaunchNs(const Option& option) { return std::max<int64_t>(1, option.likely_overhead_ns()); }

  void Occupy(uint32_t lane, int64_t from, int64_t to) {
    if (to <= from) return;
    Busy& busy = lanes_[lane];
    const auto next = std::upper_bound(busy.begin(), busy.end(), std::pair(from, to));
    const bool follows = next != busy.begin() && std::prev(next)->second == from;
    const bool precedes = next != busy.end() && next->first == to;
    if (follows && precedes) {
      std::prev(next)->second = next->second;
      busy.erase(next);
    } else if (follows) {
      std::prev(next)->second = to;
    } else if (precedes) {
      next->first = from;
    } else {
      busy.insert(next, {from, to});
    }
  }

  Choice Place(uint32_t group_id, int64_t& start_ns) {
    const Group& group = space_.group(group_id);
    Choice best;
    Slot best_slot;
    int64_t best_priced = INT64_MAX;
    for (uint32_t o : group.options) {
      const Option& option = space_.option(o);
      if (!Allowed(option)) continue;
      const int64_t price_ns = rules_.price_ns ? rules_.price_ns(option) : 0;
      for (UnitId unit : space_.units(option.unit_class)) {
        int64_t ready = 0;
        for (size_t i = 0; i < group.in.size(); ++i) ready = std::max(ready, Arrival(group.in[i], option.in[i], unit));
        if (ready >= kImpossible) continue;
        const Slot slot = SlotOn(unit, option, ready);
        if (slot.end_ns + price_ns >= best_priced) continue;
        best_priced = slot.end_ns + price_ns;
        best_slot = slot;
        best = {o, unit};
      }
    }
    if (best_slot.end_ns == INT64_MAX) {
      // Nothing reachable: any option; the scheduler tells that the whole is not possible.
      best = {group.options.front(), space_.units(space_.option(group.options.front()).unit_class).front()};
      best_slot.end_ns = 0;
    }
    start_ns = best_slot.launch_ns;
    const Option& option = space_.option(best.option);
    for (size_t i = 0; i < group.in.size(); ++i) {
      int64_t& ready = ready_[space_.value(group.in[i]).first + option.in[i]];
      ready = std::min(ready, Arrival(group.in[i], option.in[i], best.unit));
    }
    for (size_t i = 0; i < group.out.size(); ++i) {
      ready_[space_.value(group.out[i]).first + option.out[i]] = best_slot.end_ns;
      made_on_[group.out[i].index()] = best.unit;
    }
    const Lanes& lanes = space_.simulator().lanes();
    for (uint32_t lane : lanes.of_unit[best.unit.index()]) Occupy(lane, best_slot.start_ns, best_slot.end_ns);
    const uint32_t driver = lanes.driver[best.unit.index()];
    if (driver != Lanes::kNone) Occupy(driver, best_slot.launch_ns, best_slot.launch_ns + LaunchNs(option));
    return best;
  }

  const Space& space_;
  const std::vector<uint32_t>& cover_;
  const HeftRules& rules_;
  std::vector<Busy> lanes_;
  std::vector<int64_t> ready_;     // by slot of a value
  std::vector<UnitId> made_on_;    // by value
  std::vector<uint32_t> primary_;  // by value
  std::vector<std::vector<std::pair<uint32_t, ValueId>>> successors_;
  mutable std::map<uint32_t, double> mean_move_;  // by routes
};

}  // namespace

double MeanMove(const Space& space, ValueId value) {
  const Routes& routes = space.routes(value);
  const auto forms = static_cast<uint32_t>(space.value(value).forms.size());
  double sum = 0;
  int pairs = 0;
  for (uint32_t from = 0; from < routes.slots; from += forms) {
    for (uint32_t to = 0; to < routes.slots; to += forms) {
      if (from == to || routes.cost(from, to) >= kImpossible) continue;
      sum += static_cast<double>(routes.cost(from, to));
      ++pairs;
    }
  }
  return pairs > 0 ? sum / pairs : 0;
}

Solution ScheduleByHeft(const Space& space, const Solution& cover, const HeftRules& rules) {
  std::vector<uint32_t> groups;
  for (const Choice& choice : cover) groups.push_back(space.option(choice.option).group);
  return HeftScheduler(space, groups, rules).Run();
}

Result<Solved> SolveHeft(const Space& space, std::string_view) {
  PT_ASSIGN(const Solution cover, SolveSerial(space, {}));
  Solution placed = ScheduleByHeft(space, cover, {});
  return Solved{placed.empty() ? cover : std::move(placed)};
}

}  // namespace pt
