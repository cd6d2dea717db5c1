// operator: the simple rule of the NTHU thesis on heterogeneous execution with TVM. Operators, fused as for one
// stream, are taken in the order in which they become ready; each goes to a unit that is free at that moment, to the
// one that ends it soonest where several are, and to the one that ends soonest of all where none is. Looks at
// no successor, and where it chooses a unit it ignores what copying the inputs there costs; when units are free and
// inputs are there it knows. A yardstick, not a recommendation.
#include "lib/planner/methods/dispatch.h"
#include "lib/planner/search/serial_dp.h"

namespace pt {

Result<Solved> SolveOperator(const Space& space, std::string_view) {
  PT_ASSIGN(const Solution cover, SolveSerial(space, {}));
  std::vector<DispatchRun> runs;
  for (uint32_t c = 0; c < cover.size(); ++c) runs.push_back({c});
  return Solved{Dispatch(space, cover, runs, false)};
}

}  // namespace pt
