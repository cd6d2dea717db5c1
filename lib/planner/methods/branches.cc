#include "lib/planner/methods/branches.h"

#include <algorithm>

namespace pt {
namespace {

class BranchFinder {
 public:
  BranchFinder(const Space& space, JoinRule joins)
      : space_(space), joins_(joins), branch_of_(space.graph().nodes().size(), kNothing) {}

  std::vector<Branch> Run() {
    for (size_t i = space_.order().size(); i-- > 0;) {
      if (branch_of_[space_.order()[i].index()] == kNothing) WalkBack(space_.order()[i]);
    }
    // Found from the last to the first: what a branch reads from was found after it.
    for (size_t b = branches_.size(); b-- > 0;) branches_[b].level = LevelOf(b);
    std::reverse(branches_.begin(), branches_.end());
    std::stable_sort(branches_.begin(), branches_.end(),
                     [](const Branch& a, const Branch& b) { return a.level < b.level; });
    return std::move(branches_);
  }

 private:
  void WalkBack(NodeId node) {
    Branch branch;
    for (; node.valid(); node = Previous(node)) {
      branch.nodes.push_back(node);
      branch_of_[node.index()] = static_cast<uint32_t>(branches_.size());
    }
    std::reverse(branch.nodes.begin(), branch.nodes.end());
    branches_.push_back(std::move(branch));
  }

  // The maker with which the node's branch goes on; invalid when the branch begins here.
  NodeId Previous(NodeId node) const {
    const std::vector<NodeId> makers = MakersOf(node);
    const auto is_free = [&](NodeId maker) {
      return branch_of_[maker.index()] == kNothing && IsOnlyReader(node, maker);
    };
    if (makers.size() == 1) return is_free(makers.front()) ? makers.front() : NodeId();
    if (joins_ == JoinRule::kCut) return NodeId();
    NodeId best;
    int64_t best_ns = 0;
    for (NodeId maker : makers) {
      const int64_t saved_ns = is_free(maker) ? SavedBy(maker, node) : 0;
      if (saved_ns <= best_ns) continue;
      best_ns = saved_ns;
      best = maker;
    }
    return best;
  }

  std::vector<NodeId> MakersOf(NodeId node) const {
    std::vector<NodeId> makers;
    for (ValueId in : space_.graph().node(node).inputs) {
      const NodeId maker = in.valid() ? space_.value(in).producer : NodeId();
      if (maker.valid() && std::find(makers.begin(), makers.end(), maker) == makers.end()) makers.push_back(maker);
    }
    return makers;
  }

  bool IsOnlyReader(NodeId reader, NodeId maker) const {
    for (ValueId out : space_.graph().node(maker).outputs) {
      if (!out.valid()) continue;
      const ValueSlots& value = space_.value(out);
      if (value.is_output || std::any_of(value.consumers.begin(), value.consumers.end(),
                                         [&](NodeId consumer) { return consumer != reader; })) {
        return false;
      }
    }
    return true;
  }

  int64_t LeastNs(uint32_t group) const {
    int64_t least = kImpossible;
    for (uint32_t o : space_.group(group).options) least = std::min(least, space_.option(o).likely_ns());
    return least;
  }

  // The most that a group with both takes less than its nodes one by one.
  int64_t SavedBy(NodeId maker, NodeId node) const {
    int64_t saved = 0;
    for (uint32_t g : space_.groups_of(node)) {
      const std::vector<NodeId>& nodes = space_.group(g).nodes;
      if (!std::binary_search(nodes.begin(), nodes.end(), maker)) continue;
      int64_t alone = 0;
      for (NodeId n : nodes) {
        const uint32_t single = space_.single_group(n);
        alone = AddNs(alone, single == kNothing ? kImpossible : LeastNs(single));
      }
      saved = std::max(saved, alone - LeastNs(g));
    }
    return saved;
  }

  uint32_t LevelOf(size_t b) const {
    uint32_t level = 0;
    for (NodeId node : branches_[b].nodes) {
      for (NodeId maker : MakersOf(node)) {
        const uint32_t other = branch_of_[maker.index()];
        if (other != b) level = std::max(level, branches_[other].level + 1);
      }
    }
    return level;
  }

  const Space& space_;
  const JoinRule joins_;
  std::vector<Branch> branches_;
  std::vector<uint32_t> branch_of_;  // by node
};

}  // namespace

std::vector<Branch> FindBranches(const Space& space, JoinRule joins) { return BranchFinder(space, joins).Run(); }

}  // namespace pt
