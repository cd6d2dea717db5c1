#include "lib/planner/dispatch.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace pt {
namespace {

class ReadyQueue {
 public:
  ReadyQueue(const Space& space, const Solution& cover, const std::vector<DispatchRun>& runs, bool longest_first)
      : space_(space),
        graph_(space, cover),
        runs_(runs),
        free_(space.simulator().lanes().count, 0),
        ready_(runs.size(), 0),
        length_(runs.size(), 0),
        waits_(runs.size(), 0),
        run_of_(cover.size()) {
    for (uint32_t r = 0; r < runs_.size(); ++r) {
      for (uint32_t c : runs_[r]) run_of_[c] = r;
    }
    for (uint32_t r = 0; r < runs_.size(); ++r) {
      waits_[r] = graph_.makers[runs_[r].front()].size();
      for (uint32_t c : runs_[r]) length_[r] += longest_first ? LeastNs(graph_.groups[c]) : 0;
      if (waits_[r] == 0) queue_.emplace(0, -length_[r], runs_[r].front());
    }
  }

  Solution Run() {
    while (!queue_.empty()) {
      const uint32_t r = run_of_[std::get<2>(queue_.top())];
      queue_.pop();
      const int64_t end = Place(r);
      for (const auto& [reader, value] : graph_.readers[runs_[r].back()]) {
        const uint32_t next = run_of_[reader];
        ready_[next] = std::max(ready_[next], end);
        if (--waits_[next] == 0) queue_.emplace(ready_[next], -length_[next], runs_[next].front());
      }
    }
    SortLegally(space_, solution_, keys_);
    return std::move(solution_);
  }

 private:
  int64_t FreeAt(UnitId unit) const {
    int64_t at = 0;
    for (uint32_t lane : space_.simulator().lanes().of_unit[unit.index()]) at = std::max(at, free_[lane]);
    return at;
  }

  int64_t LeastNs(uint32_t group) const { return space_.option(space_.group(group).options.front()).likely_ns(); }

  // The cheapest option on the class, else the cheapest of all.
  uint32_t OptionOn(uint32_t group, UnitClassId unit_class) const {
    const std::vector<uint32_t>& options = space_.group(group).options;
    uint32_t best = kNothing;
    for (uint32_t o : options) {
      if (space_.option(o).unit_class != unit_class) continue;
      if (best == kNothing || space_.option(o).likely_ns() < space_.option(best).likely_ns()) best = o;
    }
    return best != kNothing ? best : options.front();
  }

  // Ends when its last group does.
  int64_t Place(uint32_t r) {
    const int64_t now = ready_[r];
    UnitId best;
    std::pair<bool, int64_t> best_rank{true, INT64_MAX};  // is busy now, ends at
    for (uint32_t o : space_.group(graph_.groups[runs_[r].front()]).options) {
      const UnitClassId unit_class = space_.option(o).unit_class;
      int64_t ns = 0;
      for (uint32_t c : runs_[r]) ns += space_.option(OptionOn(graph_.groups[c], unit_class)).likely_ns();
      for (UnitId unit : space_.units(unit_class)) {
        const int64_t free_at = FreeAt(unit);
        const std::pair<bool, int64_t> rank{free_at > now, std::max(now, free_at) + ns};
        if (rank >= best_rank) continue;
        best_rank = rank;
        best = unit;
      }
    }
    int64_t start = std::max(now, FreeAt(best));
    for (uint32_t c : runs_[r]) {
      const uint32_t option = OptionOn(graph_.groups[c], space_.platform().unit(best).unit_class);
      const UnitClassId unit_class = space_.option(option).unit_class;
      const bool is_there = unit_class == space_.platform().unit(best).unit_class;
      solution_.push_back({option, is_there ? best : space_.units(unit_class).front()});
      // What starts together is launched before it is run: a driver core is a core too.
      keys_.push_back(2 * start + (space_.platform().unit_class(unit_class).on_host() ? 1 : 0));
      start += space_.option(option).likely_ns();
      for (uint32_t lane : space_.simulator().lanes().of_unit[solution_.back().unit.index()]) free_[lane] = start;
    }
    return start;
  }

  const Space& space_;
  const CoverGraph graph_;
  const std::vector<DispatchRun>& runs_;
  std::vector<int64_t> free_;            // by lane
  std::vector<int64_t> ready_, length_;  // by run
  std::vector<size_t> waits_;            // by run: inputs not made yet
  std::vector<uint32_t> run_of_;         // by position in the cover
  Solution solution_;
  std::vector<int64_t> keys_;
  using Ready = std::tuple<int64_t, int64_t, uint32_t>;  // when, minus its length, its first position
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> queue_;
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
  return ReadyQueue(space, cover, runs, longest_first).Run();
}

}  // namespace pt
