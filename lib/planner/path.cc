// path: the other rule of the NTHU thesis: not operators but paths are handed out: all between a fork or join and the
// next goes to one unit together, of those that are ready the longest first. Moves within a path cost nothing so;
// between paths they are ignored as by `operator`.
#include "lib/planner/cover_graph.h"
#include "lib/planner/dispatch.h"
#include "lib/planner/serial_dp.h"

namespace pt {
namespace {

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

Result<Solved> SolvePath(const Space& space, std::string_view) {
  PT_ASSIGN(const Solution cover, SolveSerial(space, {}));
  const CoverGraph graph(space, cover);
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
  return Solved{Dispatch(space, cover, paths, true)};
}

}  // namespace pt
