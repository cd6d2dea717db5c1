// partitiontuner: the published method of that name. Singles and groups were profiled per device; branches are found
// by walking back from the outputs and cutting at forks and joins; in each branch a dynamic programme over (node,
// device) takes a group's time instead of the sum of its nodes' and pays the measured moves; branches of one level
// that end up on different devices run side by side. A device means its widest units here.
#include <algorithm>

#include "lib/planner/solve.h"

namespace pt {
namespace {

using Branch = std::vector<NodeId>;  // a chain, first to last

class PartitionTuner {
 public:
  explicit PartitionTuner(const Space& space)
      : space_(space),
        slots_(space.graph().values().size()),
        level_of_(space.graph().nodes().size(), 0),
        branch_of_(space.graph().nodes().size(), 0) {}

  Result<Solution> Run() {
    for (ValueId input : space_.graph().inputs()) slots_[input.index()] = SlotSet(space_.value(input).external);
    for (size_t v = 0; v < slots_.size(); ++v) {
      if (space_.value(ValueId(v)).is_input) slots_[v] = SlotSet(space_.value(ValueId(v)).external);
    }
    std::vector<Branch> branches = FindBranches();
    std::vector<std::pair<uint32_t, size_t>> by_level;
    for (size_t b = 0; b < branches.size(); ++b) {
      for (NodeId node : branches[b]) branch_of_[node.index()] = static_cast<uint32_t>(b);
    }
    for (size_t b = 0; b < branches.size(); ++b) by_level.emplace_back(LevelOf(branches[b]), b);
    std::sort(by_level.begin(), by_level.end());
    // Branches of a level do not need each other. Those of queues are launched first: whoever launches is also one
    // of the cores that the others run on.
    Solution solution;
    for (size_t first = 0; first < by_level.size();) {
      Solution queued, direct;
      size_t i = first;
      for (; i < by_level.size() && by_level[i].first == by_level[first].first; ++i) {
        Solution branch;
        PT_CHECK_OK(SolveBranch(branches[by_level[i].second], branch));
        const bool launched = space_.platform().unit(branch.front().unit).driver.has_value();
        Solution& to = launched ? queued : direct;
        to.insert(to.end(), branch.begin(), branch.end());
      }
      solution.insert(solution.end(), queued.begin(), queued.end());
      solution.insert(solution.end(), direct.begin(), direct.end());
      first = i;
    }
    return solution;
  }

 private:
  // The only node that reads or makes what this one makes or reads; invalid when there are several or none.
  NodeId OnlyReader(NodeId node) const {
    NodeId only;
    for (ValueId out : space_.graph().node(node).outputs) {
      if (!out.valid()) continue;
      if (space_.value(out).is_output) return NodeId();
      for (NodeId reader : space_.value(out).consumers) {
        if (only.valid() && only != reader) return NodeId();
        only = reader;
      }
    }
    return only;
  }
  NodeId OnlyMaker(NodeId node) const {
    NodeId only;
    for (ValueId in : space_.graph().node(node).inputs) {
      const NodeId maker = in.valid() ? space_.value(in).producer : NodeId();
      if (!maker.valid()) continue;
      if (only.valid() && only != maker) return NodeId();
      only = maker;
    }
    return only;
  }

  std::vector<Branch> FindBranches() const {
    std::vector<Branch> branches;
    std::vector<bool> taken(space_.graph().nodes().size(), false);
    for (size_t i = space_.order().size(); i-- > 0;) {
      NodeId node = space_.order()[i];
      if (taken[node.index()]) continue;
      Branch branch = {node};
      taken[node.index()] = true;
      for (NodeId maker = OnlyMaker(node); maker.valid() && OnlyReader(maker) == node && !taken[maker.index()];
           maker = OnlyMaker(node)) {
        branch.push_back(maker);
        taken[maker.index()] = true;
        node = maker;
      }
      std::reverse(branch.begin(), branch.end());
      branches.push_back(std::move(branch));
    }
    std::reverse(branches.begin(), branches.end());  // makers first
    return branches;
  }

  // One more than the highest level of the branches it reads from; they come earlier in the order.
  uint32_t LevelOf(const Branch& branch) {
    uint32_t level = 0;
    for (NodeId node : branch) {
      for (ValueId in : space_.graph().node(node).inputs) {
        const NodeId maker = in.valid() ? space_.value(in).producer : NodeId();
        // Of the branch's own makers the level is not known yet.
        if (maker.valid() && branch_of_[maker.index()] != branch_of_[node.index()]) {
          level = std::max(level, level_of_[maker.index()] + 1);
        }
      }
    }
    for (NodeId node : branch) level_of_[node.index()] = level;
    return level;
  }

  bool Allowed(const Option& option) const {
    if (option.unit_class == space_.widest_class(option.device)) return true;
    // What runs on no widest unit at all may run anywhere.
    for (NodeId node : space_.group(option.group).nodes) {
      for (uint32_t g : space_.groups_of(node)) {
        for (uint32_t o : space_.group(g).options) {
          if (space_.option(o).unit_class == space_.widest_class(space_.option(o).device)) return false;
        }
      }
    }
    return true;
  }

  int64_t MoveFrom(ValueId value, const SlotSet& slots, uint32_t to) const {
    int64_t best = kImpossible;
    slots.ForEach([&](uint32_t from) { best = std::min(best, space_.routes(value).cost(from, to)); });
    return best;
  }

  // The cheapest way to have computed a prefix of the branch that ends with this option.
  struct Entry {
    uint32_t option = 0;
    int64_t ns = 0;
    size_t length = 0;       // nodes of the prefix
    size_t back = SIZE_MAX;  // index of the entry before
  };

  Status SolveBranch(const Branch& branch, Solution& solution) {
    std::vector<Entry> entries;
    std::vector<std::vector<size_t>> ending(branch.size() + 1);  // by length
    for (size_t length = 1; length <= branch.size(); ++length) {
      for (uint32_t g : space_.groups_of(branch[length - 1])) {
        const Group& group = space_.group(g);
        if (group.nodes.size() > length) continue;
        const size_t start = length - group.nodes.size();
        std::vector<NodeId> nodes(branch.begin() + static_cast<std::ptrdiff_t>(start),
                                  branch.begin() + static_cast<std::ptrdiff_t>(length));
        std::sort(nodes.begin(), nodes.end());
        if (nodes != group.nodes) continue;
        for (uint32_t o : group.options) {
          if (Allowed(space_.option(o))) Extend(o, start, length, entries, ending);
        }
      }
    }
    const std::vector<size_t>& whole = ending[branch.size()];
    if (whole.empty()) {
      // The only groups of some node reach beyond the branch: the method has no answer to that.
      return MakeError(
          ErrorCode::kInfeasible, "planner.no_cover",
          "partitiontuner: no candidates cover the branch that ends with " + NodeLabel(space_.graph(), branch.back()));
    }
    size_t at = *std::min_element(whole.begin(), whole.end(),
                                  [&](size_t a, size_t b) { return entries[a].ns < entries[b].ns; });
    const size_t first = solution.size();
    for (; at != SIZE_MAX; at = entries[at].back) {
      const Option& option = space_.option(entries[at].option);
      solution.push_back({entries[at].option, space_.units(option.unit_class).front()});
      const Group& group = space_.group(option.group);
      for (size_t i = 0; i < group.in.size(); ++i) slots_[group.in[i].index()].Insert(option.in[i]);
      for (size_t i = 0; i < group.out.size(); ++i) slots_[group.out[i].index()].Insert(option.out[i]);
    }
    std::reverse(solution.begin() + static_cast<std::ptrdiff_t>(first), solution.end());
    return {};
  }

  void Extend(uint32_t o, size_t start, size_t length, std::vector<Entry>& entries,
              std::vector<std::vector<size_t>>& ending) const {
    const Option& option = space_.option(o);
    const Group& group = space_.group(option.group);
    Entry best;
    best.option = o;
    best.length = length;
    best.ns = kImpossible;
    const auto consider = [&](size_t back) {
      int64_t ns = option.likely_ns() + (back == SIZE_MAX ? 0 : entries[back].ns);
      for (size_t i = 0; i < group.in.size() && ns < kImpossible; ++i) {
        SlotSet slots = slots_[group.in[i].index()];
        if (back != SIZE_MAX) slots.Insert(SlotsMadeBy(entries[back].option, group.in[i]));
        const int64_t move = MoveFrom(group.in[i], slots, option.in[i]);
        ns = move >= kImpossible ? kImpossible : ns + move;
      }
      for (size_t i = 0; i < group.out.size() && ns < kImpossible; ++i) {
        const ValueSlots& value = space_.value(group.out[i]);
        if (value.is_output) ns = AddNs(ns, MoveFrom(group.out[i], SlotSet(option.out[i]), value.external));
      }
      if (ns >= best.ns) return;
      best.ns = ns;
      best.back = back;
    };
    if (start == 0) consider(SIZE_MAX);
    for (size_t back : ending[start]) consider(back);
    if (best.ns >= kImpossible) return;
    ending[length].push_back(entries.size());
    entries.push_back(best);
  }

  SlotSet SlotsMadeBy(uint32_t o, ValueId value) const {
    const Group& group = space_.group_of(o);
    for (size_t i = 0; i < group.out.size(); ++i) {
      if (group.out[i] == value) return SlotSet(space_.option(o).out[i]);
    }
    return {};
  }

  const Space& space_;
  std::vector<SlotSet> slots_;                  // by value: where finished branches left it
  std::vector<uint32_t> level_of_, branch_of_;  // by node
};

}  // namespace

Result<Solved> SolvePartitionTuner(const Space& space, std::string_view) {
  Result<Solution> solution = PartitionTuner(space).Run();
  if (!solution.ok()) return solution.error();
  return Solved{std::move(*solution)};
}

}  // namespace pt
