#include "lib/planner/proofs/bound_chain.h"

#include <algorithm>
#include <cmath>

namespace pt {
namespace {

constexpr size_t kMostSlots = 8;  // of a border whose states are told apart

}  // namespace

ChainBound::ChainBound(const Space& space, const Segments& segments, const MoveSegments& moves,
                       const std::vector<bool>* barred)
    : space_(space), segments_(segments), moves_(moves), barred_(barred), borders_(1), nodes_(segments.count) {
  for (NodeId node : space.order()) {
    const uint32_t segment = segments.of_node[node.index()];
    if (segment != kNothing) nodes_[segment].push_back(node);
  }
  for (uint32_t s = 0; s + 1 < segments.count; ++s) borders_.push_back(BorderBehind(s));
  borders_.emplace_back();
  for (uint32_t s = 0; s < segments.count; ++s) bound_ns_.emplace_back(Pairs(s), 0.0);
  AddPaths();
}

// The only result of what ends the segment, in every slot in which some group makes it.
ChainBound::Border ChainBound::BorderBehind(uint32_t segment) const {
  const NodeId last = moves_.last(segment);
  Border border;
  for (ValueId out : space_.graph().node(last).outputs) {
    if (!out.valid() || space_.value(out).consumers.empty()) continue;
    if (border.value.valid()) return {};
    border.value = out;
  }
  if (!border.value.valid()) return {};
  border.slots.clear();
  for (uint32_t g : space_.groups_of(last)) {
    const Group& group = space_.group(g);
    const auto out = std::ranges::find(group.out, border.value);
    if (out == group.out.end()) continue;
    for (uint32_t o : group.options) {
      const uint32_t slot = space_.option(o).out[static_cast<size_t>(out - group.out.begin())];
      if (std::ranges::find(border.slots, slot) == border.slots.end()) border.slots.push_back(slot);
    }
  }
  return border.slots.empty() || border.slots.size() > kMostSlots ? Border() : border;
}

// One relaxation for the first pair of all segments, one for the second, and so on.
void ChainBound::Add(const Pricing& pricing) {
  size_t most = 0;
  for (uint32_t s = 0; s < segments_.count; ++s) most = std::max(most, Pairs(s));
  for (size_t pair = 0; pair < most; ++pair) {
    Borders fixed;
    fixed.from.assign(space_.graph().values().size(), kNothing);
    fixed.to = fixed.from;
    for (uint32_t s = 0; s < segments_.count; ++s) {
      const Border &before = borders_[s], &behind = borders_[s + 1];
      const size_t mine = std::min(pair, Pairs(s) - 1);
      if (before.value.valid()) fixed.from[before.value.index()] = before.slots[mine / behind.slots.size()];
      if (behind.value.valid()) fixed.to[behind.value.index()] = behind.slots[mine % behind.slots.size()];
    }
    const Relaxation relaxation(space_, moves_, pricing, &fixed, barred_);
    std::vector<double> sums(segments_.count, 0);
    for (uint32_t s = 0; s < segments_.count; ++s) {
      for (NodeId node : nodes_[s]) sums[s] += relaxation.prices()[node.index()];
      double& bound = bound_ns_[s][std::min(pair, Pairs(s) - 1)];
      bound = std::max(bound, sums[s]);
    }
  }
}

void ChainBound::AddPaths() {
  for (uint32_t s = 0; s < segments_.count; ++s) {
    const size_t behind = borders_[s + 1].slots.size();
    for (size_t from = 0; from < borders_[s].slots.size(); ++from) {
      const std::vector<int64_t> ns = PathsFrom(s, borders_[s].slots[from]);
      for (size_t to = 0; to < behind; ++to) {
        double& bound = bound_ns_[s][from * behind + to];
        bound = std::max(bound, ns[to] >= kImpossible ? INFINITY : static_cast<double>(ns[to]));
      }
    }
  }
}

// When the value can be in the slot at first, counted from the begin of the segment.
int64_t ChainBound::Arrival(ValueId v, uint32_t slot, uint32_t segment, uint32_t from,
                            const std::vector<int64_t>& made) const {
  const ValueSlots& value = space_.value(v);
  if (from != kNothing && v == borders_[segment].value) return space_.routes(v).least(from, slot);
  if (value.is_input) return segment == 0 ? space_.routes(v).least(value.external, slot) : 0;
  const bool here = value.producer.valid() && segments_.of_node[value.producer.index()] == segment;
  return here ? made[value.first + slot] : 0;
}

// By state behind the segment: how long its longest path takes at least, moves paid; kImpossible: it does not lead
// there.
std::vector<int64_t> ChainBound::PathsFrom(uint32_t segment, uint32_t from) const {
  std::vector<int64_t> made(space_.slot_count(), 0);
  const Border& behind = borders_[segment + 1];
  std::vector<int64_t> result(behind.slots.size(), 0);
  for (NodeId node : nodes_[segment]) {
    for (ValueId out : space_.graph().node(node).outputs) {
      if (!out.valid() || space_.value(out).producer != node) continue;
      const ValueSlots& value = space_.value(out);
      const Routes& routes = space_.routes(out);
      std::vector<int64_t> at(routes.slots, kImpossible);
      const bool needed = !value.consumers.empty() || value.is_output;
      for (uint32_t g : space_.groups_of(node)) {
        const Group& group = space_.group(g);
        const auto place = std::ranges::find(group.out, out);
        if (place == group.out.end()) continue;
        for (uint32_t o : group.options) {
          if (barred_ != nullptr && (*barred_)[o]) continue;
          const Option& option = space_.option(o);
          int64_t start = 0;
          for (size_t i = 0; i < group.in.size(); ++i)
            start = std::max(start, Arrival(group.in[i], option.in[i], segment, from, made));
          int64_t& end = at[option.out[static_cast<size_t>(place - group.out.begin())]];
          end = std::min(end, AddNs(start, LeastOnPath(space_, option)));
        }
      }
      if (!needed) continue;
      for (uint32_t slot = 0; slot < routes.slots; ++slot) {
        int64_t first = kImpossible;
        for (uint32_t made_in = 0; made_in < routes.slots; ++made_in)
          first = std::min(first, AddNs(at[made_in], routes.least(made_in, slot)));
        made[value.first + slot] = first < kImpossible ? first : 0;
      }
      if (out == behind.value) {
        for (size_t to = 0; to < behind.slots.size(); ++to) result[to] = std::max(result[to], at[behind.slots[to]]);
      } else if (value.is_output && segment + 1 == segments_.count) {
        const int64_t end = made[value.first + value.external];
        for (int64_t& ns : result) ns = std::max(ns, end);
      }
    }
  }
  return result;
}

void ChainBound::OrElse(const ChainBound& other) {
  for (size_t s = 0; s < bound_ns_.size(); ++s) {
    for (size_t pair = 0; pair < bound_ns_[s].size(); ++pair) {
      bound_ns_[s][pair] = std::min(bound_ns_[s][pair], other.bound_ns_[s][pair]);
    }
  }
}

double ChainBound::Shortest() const {
  std::vector<double> ns = {0};
  for (uint32_t s = 0; s < segments_.count; ++s) {
    const size_t behind = borders_[s + 1].slots.size();
    std::vector<double> next(behind, INFINITY);
    for (size_t from = 0; from < ns.size(); ++from) {
      for (size_t to = 0; to < behind; ++to) next[to] = std::min(next[to], ns[from] + bound_ns_[s][from * behind + to]);
    }
    ns = std::move(next);
  }
  const double least = *std::min_element(ns.begin(), ns.end());
  return std::isfinite(least) ? least : 0;  // else there is no plan at all
}

}  // namespace pt
