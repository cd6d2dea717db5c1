// operator: the simple rule of the NTHU thesis on heterogeneous execution with TVM. Operators, fused as for one
// stream, are taken in the order in which they become ready; each goes to a unit that is free at that moment, to the
// one that ends it soonest where several are, and to the one that ends soonest of all where none is. Looks at
// no successor and ignores what moving its inputs costs: a yardstick, not a recommendation.
#include <algorithm>
#include <queue>

#include "lib/planner/serial_dp.h"
#include "lib/planner/solve.h"

namespace pt {
namespace {

class ReadyQueue {
 public:
  ReadyQueue(const Space& space, const Solution& cover)
      : space_(space),
        free_(space.simulator().lanes().count, 0),
        ready_(cover.size(), 0),
        waits_(cover.size(), 0),
        readers_(cover.size()) {
    std::vector<uint32_t> of_node(space.graph().nodes().size(), kNothing);
    for (uint32_t c = 0; c < cover.size(); ++c) {
      groups_.push_back(space.option(cover[c].option).group);
      for (NodeId node : space.group(groups_[c]).nodes) of_node[node.index()] = c;
    }
    for (uint32_t c = 0; c < groups_.size(); ++c) {
      for (ValueId in : space.group(groups_[c]).in) {
        const NodeId maker = space.value(in).producer;
        if (!maker.valid()) continue;
        readers_[of_node[maker.index()]].push_back(c);
        ++waits_[c];
      }
      if (waits_[c] == 0) queue_.emplace(0, c);
    }
  }

  Solution Run() {
    Solution solution;
    std::vector<int64_t> keys;
    while (!queue_.empty()) {
      const uint32_t c = queue_.top().second;
      queue_.pop();
      int64_t start = 0, end = 0;
      solution.push_back(Place(groups_[c], ready_[c], start, end));
      // What starts together is launched before it is run: a driver core is a core too.
      const UnitClassId unit_class = space_.option(solution.back().option).unit_class;
      keys.push_back(2 * start + (space_.platform().unit_class(unit_class).on_host() ? 1 : 0));
      for (uint32_t reader : readers_[c]) {
        ready_[reader] = std::max(ready_[reader], end);
        if (--waits_[reader] == 0) queue_.emplace(ready_[reader], reader);
      }
    }
    SortLegally(space_, solution, keys);
    return solution;
  }

 private:
  int64_t FreeAt(UnitId unit) const {
    int64_t at = 0;
    for (uint32_t lane : space_.simulator().lanes().of_unit[unit.index()]) at = std::max(at, free_[lane]);
    return at;
  }

  Choice Place(uint32_t group, int64_t now, int64_t& start, int64_t& end) {
    Choice best;
    std::pair<bool, int64_t> best_rank{true, INT64_MAX};  // is busy now, ends at
    for (uint32_t o : space_.group(group).options) {
      const Option& option = space_.option(o);
      for (UnitId unit : space_.units(option.unit_class)) {
        const int64_t free_at = FreeAt(unit);
        const std::pair<bool, int64_t> rank{free_at > now, std::max(now, free_at) + option.likely_ns()};
        if (rank >= best_rank) continue;
        best_rank = rank;
        best = {o, unit};
      }
    }
    start = std::max(now, FreeAt(best.unit));
    end = best_rank.second;
    for (uint32_t lane : space_.simulator().lanes().of_unit[best.unit.index()]) free_[lane] = end;
    return best;
  }

  const Space& space_;
  std::vector<int64_t> free_;                   // by lane
  std::vector<uint32_t> groups_;                // by position in the cover
  std::vector<int64_t> ready_;                  // likewise
  std::vector<uint32_t> waits_;                 // likewise: inputs not made yet
  std::vector<std::vector<uint32_t>> readers_;  // likewise, once an input
  std::priority_queue<std::pair<int64_t, uint32_t>, std::vector<std::pair<int64_t, uint32_t>>, std::greater<>> queue_;
};

}  // namespace

Result<Solved> SolveOperator(const Space& space, std::string_view) {
  PT_ASSIGN(const Solution cover, SolveSerial(space, {}));
  return Solved{ReadyQueue(space, cover).Run()};
}

}  // namespace pt
