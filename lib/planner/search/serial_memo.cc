#include "lib/planner/search/serial_memo.h"

#include <algorithm>

namespace pt {

std::optional<Result<Solution>> SerialMemo::Find(const SerialProblem& problem) const {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(known_.begin(), known_.end(), [&](const Known& known) { return known.problem == problem; });
  if (found == known_.end()) return std::nullopt;
  return found->solution;
}

void SerialMemo::Add(SerialProblem problem, Result<Solution> solution) {
  const std::lock_guard lock(mutex_);
  known_.push_back({std::move(problem), std::move(solution)});
}

}  // namespace pt
