// What a planner's file gives to the table in planners.cc: a function from the space of choices to a solution. The
// table wraps it into Planner::make_plan; the search starts from the solutions of all rows marked as baselines.
#pragma once

#include <string>
#include <string_view>

#include "lib/planner/schedule/schedule.h"
#include "partitiontuner/support/random.h"

namespace pt {

struct Solved {
  Solution order;
  std::string stopped_by = "done";
  // Positions in `order`, ascending: from there on nothing starts before all that comes before is over. Of published
  // methods that run in stages; what starts from a solution takes its order alone.
  std::vector<uint32_t> barriers = {};
};

// argument: what followed ':' in the planner's name.
using SolveFunction = Result<Solved> (*)(const Space& space, std::string_view argument);

struct Solver {
  Planner planner;
  SolveFunction solve = nullptr;
  // Whether the search starts from it: as it is and by its variant, or once per device with the device's name.
  enum class Baseline : uint8_t { kNo, kYes, kPerDevice } baseline = Baseline::kNo;
  bool scales = false;  // a start of the search on graphs of any size
};

std::span<const Solver> Solvers();

// The arguments with which the search starts from the planner; none when it does not.
std::vector<std::string_view> BaselineArguments(const Solver& solver, const Platform& platform);

// The device that a planner's argument names. Errors: kUsage (there is none of that name).
Result<DeviceId> DeviceNamed(const Platform& platform, std::string_view name);

// Sorts choices so that makers come before readers, else by key (smaller first). Reused for many sorts.
class LegalSorter {
 public:
  explicit LegalSorter(const Space& space) : space_(space), choice_of_(space.graph().nodes().size(), kNothing) {}

  // `choices`: a solution or a part of one. False when its groups depend on each other in a cycle.
  bool Sort(Solution& choices, const std::vector<int64_t>& keys);

 private:
  const Space& space_;
  std::vector<uint32_t> choice_of_;  // by node; kNothing between sorts
};

inline bool SortLegally(const Space& space, Solution& solution, const std::vector<int64_t>& keys) {
  return LegalSorter(space).Sort(solution, keys);
}

}  // namespace pt
