// SerialMemo: the single streams that were solved for a space, so that planners whose rules come to the same share one
// solve: a device with one unit class has one stream and not two, and several planners start from the best of all.
#pragma once

#include <mutex>
#include <optional>

#include "lib/planner/schedule/schedule.h"

namespace pt {

// All that SerialRules say about a space. Equal problems have equal solutions.
struct SerialProblem {
  std::vector<int64_t> cost_ns;  // by option
  std::vector<bool> allowed;     // by option
  bool ignore_copies = false;
  size_t beam = 0;
  friend bool operator==(const SerialProblem&, const SerialProblem&) = default;
};

// Thread-safe.
class SerialMemo {
 public:
  std::optional<Result<Solution>> Find(const SerialProblem& problem) const;
  void Add(SerialProblem problem, Result<Solution> solution);

 private:
  struct Known {
    SerialProblem problem;
    Result<Solution> solution;
  };
  mutable std::mutex mutex_;
  std::vector<Known> known_;  // some ten at most
};

}  // namespace pt
