#include "lib/planner/methods/branch_solver.h"

#include <algorithm>

namespace pt {

BranchSolver::BranchSolver(const Space& space, const BranchRules& rules)
    : space_(space), rules_(rules), slots_(space.graph().values().size()) {
  for (size_t v = 0; v < slots_.size(); ++v) {
    if (space_.value(ValueId(v)).is_input) slots_[v] = SlotSet(space_.value(ValueId(v)).external);
  }
}

Result<Solution> BranchSolver::Solve(const Branch& branch) {
  entries_.clear();
  ending_.assign(branch.nodes.size() + 1, {});
  for (size_t end = 1; end <= branch.nodes.size(); ++end) {
    for (uint32_t g : space_.groups_of(branch.nodes[end - 1])) {
      const Group& group = space_.group(g);
      if (!Fits(group, branch, end)) continue;
      for (uint32_t o : group.options) {
        if (Allowed(space_.option(o))) Extend(o, end - group.nodes.size(), end);
      }
    }
  }
  const std::vector<size_t>& whole = ending_.back();
  if (whole.empty()) {
    // The only groups of some node reach beyond the branch: the method has no answer to that.
    return MakeError(ErrorCode::kInfeasible, "planner.no_cover",
                     "partitiontuner: no candidates cover the branch that ends with " +
                         NodeLabel(space_.graph(), branch.nodes.back()));
  }
  return Trace(*std::min_element(whole.begin(), whole.end(),
                                 [&](size_t a, size_t b) { return entries_[a].ns < entries_[b].ns; }));
}

// The group is what stands before `end` in the branch.
bool BranchSolver::Fits(const Group& group, const Branch& branch, size_t end) const {
  const size_t count = group.nodes.size();
  if (count > end || count > rules_.most_in_group) return false;
  const auto last = branch.nodes.begin() + static_cast<std::ptrdiff_t>(end);
  std::vector<NodeId> nodes(last - static_cast<std::ptrdiff_t>(count), last);
  std::sort(nodes.begin(), nodes.end());
  return nodes == group.nodes;
}

bool BranchSolver::Allowed(const Option& option) const {
  const auto is_widest = [&](const Option& of) { return of.unit_class == space_.widest_class(of.device); };
  if (is_widest(option)) return true;
  // What runs on no widest unit at all may run anywhere.
  for (NodeId node : space_.group(option.group).nodes) {
    for (uint32_t g : space_.groups_of(node)) {
      const std::vector<uint32_t>& options = space_.group(g).options;
      if (std::any_of(options.begin(), options.end(), [&](uint32_t o) { return is_widest(space_.option(o)); })) {
        return false;
      }
    }
  }
  return true;
}

void BranchSolver::Extend(uint32_t o, size_t start, size_t end) {
  Entry best{o, kImpossible, SIZE_MAX};
  const auto consider = [&](size_t back) {
    const int64_t before = back == SIZE_MAX ? 0 : entries_[back].ns;
    const int64_t ns = AddNs(AddNs(before, space_.option(o).likely_ns()), MovesNs(o, back));
    if (ns < best.ns) best = {o, ns, back};
  };
  if (start == 0) consider(SIZE_MAX);
  for (size_t back : ending_[start]) consider(back);
  if (best.ns >= kImpossible) return;
  ending_[end].push_back(entries_.size());
  entries_.push_back(best);
}

// What bringing the option's inputs to it takes when `back` comes before it, and the graph's outputs to the caller.
int64_t BranchSolver::MovesNs(uint32_t o, size_t back) const {
  const Option& option = space_.option(o);
  const Group& group = space_.group(option.group);
  int64_t ns = 0;
  for (size_t i = 0; i < group.in.size(); ++i) {
    const uint32_t made = SlotMadeBy(back, group.in[i]);
    if (rules_.pays_within_branch_only) {
      if (made != kNothing) ns = AddNs(ns, ThroughHost(group.in[i], made, option.in[i]));
      continue;
    }
    const Routes& routes = space_.routes(group.in[i]);
    int64_t least = made == kNothing ? kImpossible : routes.cost(made, option.in[i]);
    slots_[group.in[i].index()].ForEach(
        [&](uint32_t from) { least = std::min(least, routes.cost(from, option.in[i])); });
    ns = AddNs(ns, least);
  }
  for (size_t i = 0; i < group.out.size() && !rules_.pays_within_branch_only; ++i) {
    const ValueSlots& value = space_.value(group.out[i]);
    if (value.is_output) ns = AddNs(ns, space_.routes(group.out[i]).cost(option.out[i], value.external));
  }
  return ns;
}

int64_t BranchSolver::ThroughHost(ValueId value, uint32_t from, uint32_t to) const {
  const Routes& routes = space_.routes(value);
  if (space_.device(value, from) == space_.device(value, to)) return routes.cost(from, to);
  int64_t least = kImpossible;
  for (uint32_t host = 0; host < routes.slots; ++host) {
    if (!IsHost(space_.device(value, host))) continue;
    least = std::min(least, AddNs(routes.cost(from, host), routes.cost(host, to)));
  }
  return least;
}

uint32_t BranchSolver::SlotMadeBy(size_t entry, ValueId value) const {
  if (entry == SIZE_MAX) return kNothing;
  const Option& option = space_.option(entries_[entry].option);
  const std::vector<ValueId>& made = space_.group(option.group).out;
  const auto found = std::find(made.begin(), made.end(), value);
  return found == made.end() ? kNothing : option.out[static_cast<size_t>(found - made.begin())];
}

Solution BranchSolver::Trace(size_t last) {
  Solution solution;
  for (size_t at = last; at != SIZE_MAX; at = entries_[at].back) {
    const Option& option = space_.option(entries_[at].option);
    solution.push_back({entries_[at].option, space_.units(option.unit_class).front()});
    const Group& group = space_.group(option.group);
    for (size_t i = 0; i < group.in.size(); ++i) slots_[group.in[i].index()].Insert(option.in[i]);
    for (size_t i = 0; i < group.out.size(); ++i) slots_[group.out[i].index()].Insert(option.out[i]);
  }
  std::reverse(solution.begin(), solution.end());
  return solution;
}

}  // namespace pt
