#include "lib/planner/methods/dispatch.h"

#include <algorithm>
#include <compare>
#include <queue>

#include "lib/planner/methods/online_scheduler.h"

namespace pt {
namespace {

// Events in the order of their times: a run becomes ready and gets its unit; it starts there, which is what happens on
// the clock. At equal times units are given first; then queues start before cores, for whoever launches is a core too.
class Dispatcher {
 public:
  Dispatcher(const Space& space, const Solution& cover, const std::vector<DispatchRun>& runs, bool longest_first)
      : space_(space),
        graph_(space, cover),
        runs_(runs),
        clock_(space),
        promised_(space.simulator().lanes().count, 0),
        ready_(runs.size(), 0),
        length_(runs.size(), 0),
        waits_(runs.size(), 0),
        run_of_(cover.size()),
        placed_(runs.size()) {
    for (uint32_t r = 0; r < runs_.size(); ++r) {
      for (uint32_t c : runs_[r]) run_of_[c] = r;
    }
    for (uint32_t r = 0; r < runs_.size(); ++r) {
      waits_[r] = graph_.makers[runs_[r].front()].size();
      for (uint32_t c : runs_[r]) length_[r] += longest_first ? LeastNs(graph_.groups[c]) : 0;
      if (waits_[r] == 0) Announce(r, 0);
    }
  }

  Solution Run() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      const uint32_t r = run_of_[event.position];
      if (event.kind == Kind::kReady) {
        Place(r);
      } else {
        Start(r);
      }
    }
    return std::move(solution_);
  }

 private:
  enum class Kind : uint8_t { kReady, kStartsOnQueue, kStartsOnCores };
  struct Event {
    int64_t at = 0;
    Kind kind = Kind::kReady;
    int64_t rank = 0;       // smaller first: minus its length
    uint32_t position = 0;  // the run's first
    friend auto operator<=>(const Event&, const Event&) = default;
  };

  // A run with its options, should it go to units of a class.
  struct Way {
    std::vector<uint32_t> options;
    int64_t ns = 0;
  };

  struct Placed {
    UnitId unit;
    int64_t end_ns = 0;             // as promised
    std::vector<uint32_t> options;  // of its groups
  };

  int64_t LeastNs(uint32_t group) const { return space_.option(space_.group(group).options.front()).likely_ns(); }

  void Announce(uint32_t r, int64_t at) { events_.push({at, Kind::kReady, -length_[r], runs_[r].front()}); }

  // Of the options on the class, else of all, the one that takes least time with the changes of form that its inputs
  // need. `before`: what the run does until then.
  uint32_t OptionOn(uint32_t group_id, UnitClassId unit_class, const Way& before, int64_t& ns) const {
    const Group& group = space_.group(group_id);
    const bool any_there = std::any_of(group.options.begin(), group.options.end(),
                                       [&](uint32_t o) { return space_.option(o).unit_class == unit_class; });
    uint32_t best = group.options.front();
    ns = kImpossible;
    for (uint32_t o : group.options) {
      const Option& option = space_.option(o);
      if (any_there && option.unit_class != unit_class) continue;
      int64_t with_forms = option.likely_ns();
      for (size_t i = 0; i < group.in.size(); ++i) {
        with_forms = AddNs(with_forms, FormNs(group.in[i], option.in[i], before));
      }
      if (with_forms >= ns) continue;
      ns = with_forms;
      best = o;
    }
    return best;
  }

  int64_t FormNs(ValueId value, uint32_t slot, const Way& before) const {
    for (uint32_t o : before.options) {
      const std::vector<ValueId>& made = space_.group_of(o).out;
      const auto found = std::find(made.begin(), made.end(), value);
      if (found == made.end()) continue;
      return space_.routes(value).form_cost(space_.option(o).out[static_cast<size_t>(found - made.begin())], slot);
    }
    return clock_.FormNs(value, slot);
  }

  Way WayOn(uint32_t r, UnitClassId unit_class) const {
    Way way;
    for (uint32_t c : runs_[r]) {
      int64_t ns = 0;
      const uint32_t option = OptionOn(graph_.groups[c], unit_class, way, ns);
      way.options.push_back(option);
      way.ns = AddNs(way.ns, ns);
    }
    return way;
  }

  // When the unit is free as far as is known: by the clock, and of runs that are to start there.
  int64_t FreeAt(UnitId unit) const {
    int64_t at = clock_.FreeAt(unit);
    for (uint32_t lane : space_.simulator().lanes().of_unit[unit.index()]) at = std::max(at, promised_[lane]);
    return at;
  }

  void Place(uint32_t r) {
    const int64_t now = ready_[r];
    std::vector<UnitClassId> seen;
    std::pair<bool, int64_t> best_rank{true, INT64_MAX};  // is busy now, ends at
    UnitId best;
    for (uint32_t o : space_.group(graph_.groups[runs_[r].front()]).options) {
      const UnitClassId unit_class = space_.option(o).unit_class;
      if (std::find(seen.begin(), seen.end(), unit_class) != seen.end()) continue;
      seen.push_back(unit_class);
      Way way = WayOn(r, unit_class);
      bool is_best = false;
      for (UnitId unit : space_.units(unit_class)) {
        const int64_t free_at = FreeAt(unit);
        const std::pair<bool, int64_t> rank{free_at > now, AddNs(std::max(now, free_at), way.ns)};
        if (rank >= best_rank) continue;
        best_rank = rank;
        best = unit;
        is_best = true;
      }
      if (is_best) placed_[r] = {best, best_rank.second, std::move(way.options)};
    }
    const int64_t start = std::max(now, FreeAt(best));
    for (uint32_t lane : space_.simulator().lanes().of_unit[best.index()]) promised_[lane] = best_rank.second;
    const bool on_cores = space_.platform().unit_class(space_.platform().unit(best).unit_class).on_host();
    events_.push({start, on_cores ? Kind::kStartsOnCores : Kind::kStartsOnQueue, -length_[r], runs_[r].front()});
  }

  // From now on the clock says when the unit is free again; the run's readers are ready when its last group ends.
  void Start(uint32_t r) {
    const Placed& placed = placed_[r];
    for (uint32_t lane : space_.simulator().lanes().of_unit[placed.unit.index()]) {
      if (promised_[lane] == placed.end_ns) promised_[lane] = 0;
    }
    int64_t end = ready_[r];
    for (uint32_t option : placed.options) {
      const UnitClassId unit_class = space_.option(option).unit_class;
      const bool is_there = unit_class == space_.platform().unit(placed.unit).unit_class;
      solution_.push_back({option, is_there ? placed.unit : space_.units(unit_class).front()});
      end = std::max(end, clock_.Append(solution_.back()));
    }
    for (const auto& [reader, value] : graph_.readers[runs_[r].back()]) {
      const uint32_t next = run_of_[reader];
      ready_[next] = std::max(ready_[next], end);
      if (--waits_[next] == 0) Announce(next, ready_[next]);
    }
  }

  const Space& space_;
  const CoverGraph graph_;
  const std::vector<DispatchRun>& runs_;
  OnlineScheduler clock_;
  std::vector<int64_t> promised_;        // by lane: when the runs are over that are still to start there
  std::vector<int64_t> ready_, length_;  // by run
  std::vector<size_t> waits_;            // by run: inputs not made yet
  std::vector<uint32_t> run_of_;         // by position in the cover
  std::vector<Placed> placed_;           // by run
  Solution solution_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

// The one position at the other ends of all edges; kNothing when there are several or none.
uint32_t Only(const std::vector<CoverGraph::Edge>& edges) {
  uint32_t only = kNothing;
  for (const CoverGraph::Edge& edge : edges) {
    if (only != kNothing && only != edge.other) return kNothing;
    only = edge.other;
  }
  return only;
}

}  // namespace

std::vector<DispatchRun> PathsOf(const CoverGraph& graph) {
  std::vector<DispatchRun> paths;
  std::vector<bool> taken(graph.size(), false);
  for (uint32_t first = 0; first < graph.size(); ++first) {
    if (taken[first]) continue;
    DispatchRun path = {first};
    for (uint32_t next = Only(graph.readers[first]); next != kNothing && Only(graph.makers[next]) == path.back();
         next = Only(graph.readers[next])) {
      path.push_back(next);
    }
    for (uint32_t c : path) taken[c] = true;
    paths.push_back(std::move(path));
  }
  return paths;
}

Solution Dispatch(const Space& space, const Solution& cover, const std::vector<DispatchRun>& runs, bool longest_first) {
  return Dispatcher(space, cover, runs, longest_first).Run();
}

}  // namespace pt
