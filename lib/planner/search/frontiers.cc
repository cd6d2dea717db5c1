#include "lib/planner/search/frontiers.h"

#include <algorithm>

namespace pt {
namespace {

// By position in the order: how many intervals [first, last) are open behind it.
class OpenCount {
 public:
  explicit OpenCount(size_t positions) : steps_(positions + 1, 0) {}
  void Add(uint32_t first, uint32_t last) { ++steps_[first], --steps_[last]; }
  std::vector<int> Sum() && {
    int open = 0;
    for (int& step : steps_) step = open += step;
    return std::move(steps_);
  }

 private:
  std::vector<int> steps_;
};

class FrontierFinder {
 public:
  explicit FrontierFinder(const Space& space) : space_(space), size_(static_cast<uint32_t>(space.order().size())) {
    OpenCount live(size_), across(size_);
    last_reader_.assign(space.graph().values().size(), 0);
    for (size_t v = 0; v < last_reader_.size(); ++v) {
      const ValueSlots& value = space.value(ValueId(v));
      if (!value.producer.valid()) continue;
      const uint32_t first = space.position(value.producer);
      uint32_t last = first;
      for (NodeId reader : value.consumers) last = std::max(last, space.position(reader));
      last_reader_[v] = last;
      live.Add(first, last);
    }
    for (const Group& group : space.groups()) {
      if (group.options.empty()) continue;
      const auto [first, last] = std::ranges::minmax(group.nodes, {}, [&](NodeId n) { return space.position(n); });
      across.Add(space.position(first), space.position(last));
    }
    live_ = std::move(live).Sum();
    across_ = std::move(across).Sum();
  }

  std::vector<Frontier> Run(uint32_t nodes) {
    std::vector<Frontier> frontiers;
    std::vector<ValueId> live;  // behind `at`
    uint32_t from = 0;
    uint32_t at = 0;
    while (size_ - from > nodes) {
      const uint32_t cut = Next(from, nodes);
      if (cut + 1 >= size_) break;
      for (; at <= cut; ++at) {
        for (ValueId out : space_.graph().node(space_.order()[at]).outputs) {
          if (out.valid() && space_.value(out).producer == space_.order()[at]) live.push_back(out);
        }
      }
      std::erase_if(live, [&](ValueId v) { return last_reader_[v.index()] <= cut; });
      std::sort(live.begin(), live.end());
      frontiers.push_back({cut, live});
      from = cut + 1;
    }
    return frontiers;
  }

 private:
  uint32_t Next(uint32_t from, uint32_t nodes) const {
    uint32_t best = size_;
    for (uint32_t at = from + 1; at + 1 < size_; ++at) {
      if (best < size_ && at >= from + nodes) break;
      if (across_[at] != 0 || live_[at] > static_cast<int>(kMostLiveValues)) continue;
      if (best == size_ || live_[at] <= live_[best]) best = at;
    }
    return best;
  }

  const Space& space_;
  const uint32_t size_;
  std::vector<uint32_t> last_reader_;  // by value: position
  std::vector<int> live_, across_;     // by position: values and groups that lead across behind it
};

}  // namespace

std::vector<Frontier> FindFrontiers(const Space& space, uint32_t nodes) { return FrontierFinder(space).Run(nodes); }

std::vector<std::span<const NodeId>> Stretches(const Space& space, std::span<const Frontier> frontiers) {
  std::vector<std::span<const NodeId>> stretches;
  uint32_t from = 0;
  for (const Frontier& frontier : frontiers) {
    stretches.push_back(space.order().subspan(from, frontier.behind + 1 - from));
    from = frontier.behind + 1;
  }
  stretches.push_back(space.order().subspan(from));
  return stretches;
}

}  // namespace pt
