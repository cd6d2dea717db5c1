// path: the other rule of the NTHU thesis: not operators but paths are handed out: all between a fork or join and the
// next goes to one unit together, of those that are ready the longest first. Moves within a path cost nothing so;
// between paths they are ignored as by `operator`.
#include "lib/planner/methods/dispatch.h"
#include "lib/planner/search/serial_dp.h"

namespace pt {

Result<Solved> SolvePath(const Space& space, std::string_view) {
  PT_ASSIGN(const Solution cover, SolveSerial(space, {}));
  return Solved{Dispatch(space, cover, PathsOf(CoverGraph(space, cover)), true)};
}

}  // namespace pt
