// partitiontuner: Yu, Kwon, Lee, Park, Park and Kim, "PartitionTuner: an operator scheduler for deep-learning compilers
// supporting multiple heterogeneous processing units", ETRI Journal 45(2), 2023, doi:10.4218/etrij.2021-0446. Singles
// and groups were profiled per device; branches are found by walking back from the outputs; in each a dynamic programme
// over (node, device) takes a group's time instead of the sum of its nodes' and pays for changes of device; neighbours
// on one device are a partition; branches of one level that lie on different devices run side by side.
//
// partitiontuner:paper is the method as published: branches are cut at all joins, groups are pairs of neighbours in a
// branch, entering a branch is free, a level waits for the one before, and siblings run side by side only where no two
// share a device. partitiontuner mends what that costs: groups reach over joins and have any size, whatever is read is
// paid for from where it is, and a step waits for its own inputs only.
#include <algorithm>
#include <set>

#include "lib/planner/methods/branch_solver.h"
#include "lib/planner/solve.h"

namespace pt {
namespace {

struct Rules {
  JoinRule joins = JoinRule::kFuse;
  BranchRules branch;
  bool levels_are_barriers = false;
};

constexpr Rules kMended = {};
constexpr Rules kPublished = {JoinRule::kCut, {.most_in_group = 2, .pays_within_branch_only = true}, true};

bool AreApart(const Space& space, const std::vector<Solution>& siblings) {
  std::set<DeviceId> taken;
  for (const Solution& sibling : siblings) {
    std::set<DeviceId> devices;
    for (const Choice& choice : sibling) devices.insert(space.option(choice.option).device);
    for (DeviceId device : devices) {
      if (!taken.insert(device).second) return false;
    }
  }
  return true;
}

// Branches that begin on a queue first: whoever launches them is also one of the cores that the others run on.
void SortQueuedFirst(const Space& space, std::vector<Solution>& siblings) {
  std::stable_partition(siblings.begin(), siblings.end(), [&](const Solution& branch) {
    return space.platform().unit(branch.front().unit).driver.has_value();
  });
}

Result<Solved> SolveBy(const Space& space, const Rules& rules) {
  const std::vector<Branch> branches = FindBranches(space, rules.joins);
  BranchSolver solver(space, rules.branch);
  Solved solved;
  const auto raise_barrier = [&] {
    if (rules.levels_are_barriers) solved.barriers.push_back(static_cast<uint32_t>(solved.order.size()));
  };
  for (size_t b = 0; b < branches.size();) {
    const uint32_t level = branches[b].level;
    std::vector<Solution> siblings;
    for (; b < branches.size() && branches[b].level == level; ++b) {
      PT_ASSIGN(Solution branch, solver.Solve(branches[b]));
      siblings.push_back(std::move(branch));
    }
    SortQueuedFirst(space, siblings);
    const bool side_by_side = AreApart(space, siblings);
    for (const Solution& branch : siblings) {
      solved.order.insert(solved.order.end(), branch.begin(), branch.end());
      if (!side_by_side) raise_barrier();
    }
    if (side_by_side) raise_barrier();
  }
  return solved;
}

}  // namespace

Result<Solved> SolvePartitionTuner(const Space& space, std::string_view argument) {
  if (argument.empty()) return SolveBy(space, kMended);
  if (argument == "paper") return SolveBy(space, kPublished);
  return MakeError(ErrorCode::kUsage, "planner.argument", "unknown rules '" + std::string(argument) + "'",
                   "partitiontuner takes none, or partitiontuner:paper");
}

}  // namespace pt
