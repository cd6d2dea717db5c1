#include "lib/planner/proofs/series_cuts.h"

#include <algorithm>

namespace pt {
namespace {

// By position in the depth-first order, of nodes that are not left out.
class CutFinder {
 public:
  CutFinder(const Space& space, const std::vector<bool>& left_out) : space_(space) {
    place_.assign(left_out.size(), kNothing);
    for (NodeId node : space.order()) {
      if (left_out[node.index()]) continue;
      place_[node.index()] = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back(node);
    }
  }

  Segments Run() {
    const std::vector<int> ends = OpenEnds();
    const std::vector<int> starts = OpenStarts();
    const std::vector<int> across = GroupsAcross();
    Segments segments;
    segments.of_node.assign(place_.size(), kNothing);
    uint32_t segment = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      segments.of_node[nodes_[i].index()] = segment;
      if (ends[i] == 1 && starts[i] == 1 && across[i] == 0 && i + 1 < nodes_.size()) ++segment;
    }
    segments.count = segment + 1;
    return segments;
  }

 private:
  using Places = std::vector<int>;

  // Sums of steps up and down.
  static Places Summed(Places steps) {
    int open = 0;
    for (int& step : steps) step = open += step;
    return steps;
  }

  // How many of the nodes up to each one nothing up to there reads: when it alone is one, all others lead to it.
  Places OpenEnds() const {
    Places steps(nodes_.size() + 1, 0);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      auto first = static_cast<uint32_t>(nodes_.size());
      for (ValueId out : space_.graph().node(nodes_[i]).outputs) {
        if (!out.valid()) continue;
        for (NodeId reader : space_.value(out).consumers) first = std::min(first, place_[reader.index()]);
      }
      ++steps[i];
      --steps[first];
    }
    return Summed(std::move(steps));
  }

  // How many of the nodes from each one on read nothing from there on: when it alone does not, it leads to all others.
  Places OpenStarts() const {
    Places steps(nodes_.size() + 1, 0);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      size_t from = 0;  // behind the last node that it reads
      for (ValueId in : space_.graph().node(nodes_[i]).inputs) {
        const NodeId maker = in.valid() ? space_.value(in).producer : NodeId();
        if (maker.valid() && place_[maker.index()] != kNothing)
          from = std::max<size_t>(from, place_[maker.index()] + 1);
      }
      ++steps[from];
      --steps[i + 1];
    }
    return Summed(std::move(steps));
  }

  Places GroupsAcross() const {
    Places steps(nodes_.size() + 1, 0);
    for (const Group& group : space_.groups()) {
      if (group.options.empty()) continue;
      uint32_t first = kNothing;
      uint32_t last = 0;
      for (NodeId node : group.nodes) {
        if (place_[node.index()] == kNothing) continue;
        first = std::min(first, place_[node.index()]);
        last = std::max(last, place_[node.index()]);
      }
      if (first != kNothing) ++steps[first], --steps[last];
    }
    return Summed(std::move(steps));
  }

  const Space& space_;
  std::vector<NodeId> nodes_;
  std::vector<uint32_t> place_;  // by node
};

}  // namespace

Segments FindSegments(const Space& space, const std::vector<bool>& left_out) {
  return CutFinder(space, left_out).Run();
}

Segments OneSegment(const Space& space) { return {std::vector<uint32_t>(space.graph().nodes().size(), 0), 1}; }

}  // namespace pt
