// BranchSolver: the dynamic programme of partitiontuner along a branch. Its state is what covers the last nodes: an
// option, with its device and forms. A group's time takes the place of the sum of its nodes'.
#pragma once

#include <vector>

#include "lib/planner/methods/branches.h"
#include "lib/planner/schedule/schedule.h"
#include "lib/planner/schedule/slot_set.h"

namespace pt {

struct BranchRules {
  size_t most_in_group = SIZE_MAX;  // nodes
  // As published: only what one step of a branch hands to the next is paid for, and a change of device pays the copy to
  // the host and the one from there. Else all inputs are, from wherever they are nearest, and the graph's outputs.
  bool pays_within_branch_only = false;
};

// One thread at a time. A device means its widest units here.
class BranchSolver {
 public:
  BranchSolver(const Space& space, const BranchRules& rules);

  // The choices of a branch, in order. Branches must be solved makers first: it is remembered where they leave their
  // results. Errors: kInfeasible (no groups cover it within the branch).
  Result<Solution> Solve(const Branch& branch);

 private:
  // The cheapest way to have computed the first nodes of the branch when this option covers the last of them.
  struct Entry {
    uint32_t option = 0;
    int64_t ns = 0;
    size_t back = SIZE_MAX;  // index of the entry before
  };

  bool Fits(const Group& group, const Branch& branch, size_t end) const;
  bool Allowed(const Option& option) const;
  void Extend(uint32_t o, size_t start, size_t end);
  int64_t MovesNs(uint32_t o, size_t back) const;
  int64_t ThroughHost(ValueId value, uint32_t from, uint32_t to) const;
  // Where the entry's option makes the value; kNothing: it does not.
  uint32_t SlotMadeBy(size_t entry, ValueId value) const;
  Solution Trace(size_t last);

  const Space& space_;
  const BranchRules rules_;
  std::vector<SlotSet> slots_;  // by value: where inputs are and finished branches left the others
  std::vector<Entry> entries_;
  std::vector<std::vector<size_t>> ending_;  // entries by how many nodes are covered
};

}  // namespace pt
