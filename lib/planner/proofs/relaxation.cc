#include "lib/planner/proofs/relaxation.h"

#include <algorithm>
#include <cmath>

#include "lib/planner/search/serial_dp.h"

namespace pt {
namespace {

constexpr double kScale = 1024;  // prices are integers; rounding down keeps them valid
constexpr double kMost = MoveWays::kMost;

bool IsInside(const Group& group, NodeId node) {
  return std::binary_search(group.nodes.begin(), group.nodes.end(), node);
}

}  // namespace

PathFlow::PathFlow(const Space& space)
    : to_caller(space.graph().values().size(), 0), begins(space.graph().nodes().size(), 0) {
  for (size_t v = 0; v < to_caller.size(); ++v) to_reader.emplace_back(space.value(ValueId(v)).consumers.size(), 0.0);
}

MoveSegments::MoveSegments(const Space& space, const Segments& segments, Borders borders)
    : segments_(segments), borders_(borders), last_(segments.count), of_group_(space.groups().size(), kNothing) {
  for (NodeId node : space.order()) {
    const uint32_t segment = segments.of_node[node.index()];
    if (segment == kNothing) continue;
    last_[segment] = node;
    for (uint32_t g : space.groups_of(node)) of_group_[g] = segment;
  }
}

uint32_t MoveSegments::Of(NodeId maker, NodeId reader) const {
  const uint32_t from = maker.valid() ? segments_.of_node[maker.index()] : 0;
  const uint32_t to = reader.valid() ? segments_.of_node[reader.index()] : segments_.count - 1;
  if (from == to || to == kNothing) return to;
  return borders_ == Borders::kCross && from != kNothing && from + 1 == to && maker == last_[from] ? to : kNothing;
}

Relaxation::Relaxation(const Space& space, const MoveSegments& segments, const Pricing& pricing, const Borders* borders,
                       const std::vector<bool>* barred)
    : space_(space), segments_(segments), pricing_(pricing), borders_(borders), values_(space.graph().values().size()) {
  for (const LaneWeights& weights : pricing.lanes) ways_.emplace_back(space, weights);
  FindCosts(barred);
  for (size_t v = 0; v < values_.size(); ++v) Prepare(ValueId(v));
  for (size_t v = 0; v < values_.size(); ++v) {
    if (space_.value(ValueId(v)).is_input) MadeAt(ValueId(v));
  }
  for (NodeId node : space.order()) {
    for (ValueId out : space.graph().node(node).outputs) {
      if (out.valid() && space.value(out).producer == node) MadeAt(out);
    }
  }
  FindPrices();
}

void Relaxation::FindCosts(const std::vector<bool>* barred) {
  cost_.assign(space_.options().size(), 0);
  for (uint32_t g = 0; g < space_.groups().size(); ++g) {
    const uint32_t segment = segments_.OfGroup(g);
    if (segment == kNothing) continue;
    const LaneWeights& weights = pricing_.lanes[std::min<size_t>(segment, pricing_.lanes.size() - 1)];
    const Group& group = space_.group(g);
    const double flow = FlowThrough(group);
    for (uint32_t o : group.options) {
      const Option& option = space_.option(o);
      cost_[o] = barred != nullptr && (*barred)[o]
                     ? kMost
                     : weights.Of(option) + flow * static_cast<double>(LeastOnPath(space_, option));
    }
  }
}

// Of the paths that enter the group or begin in it; none enters twice, for groups are convex.
double Relaxation::FlowThrough(const Group& group) const {
  if (pricing_.flow == nullptr) return 0;
  double sum = 0;
  for (NodeId node : group.nodes) sum += pricing_.flow->begins[node.index()];
  for (ValueId in : group.in) {
    const std::vector<NodeId>& readers = space_.value(in).consumers;
    for (size_t c = 0; c < readers.size(); ++c) {
      if (IsInside(group, readers[c])) sum += pricing_.flow->to_reader[in.index()][c];
    }
  }
  return sum;
}

void Relaxation::Prepare(ValueId v) {
  const ValueSlots& value = space_.value(v);
  ValueDual& dual = values_[v.index()];
  const uint32_t slots = space_.routes(v).slots;
  dual.paid.assign(value.consumers.size(), std::vector<double>(slots, 0));
  dual.back = dual.paid;
  dual.back_of_caller.assign(slots, 0);
  dual.parts = static_cast<double>(std::max<size_t>(1, value.consumers.size() + (value.is_output ? 1 : 0)));
}

double Relaxation::WayCost(ValueId v, NodeId reader, double flow, uint32_t from, uint32_t to) const {
  const uint32_t segment = segments_.Of(space_.value(v).producer, reader);
  if (segment == kNothing) return 0;
  const Routes& routes = space_.routes(v);
  const double work = ways_[std::min<size_t>(segment, ways_.size() - 1)].Of(v)[from * routes.slots + to];
  if (work >= kMost) return kMost;
  return work / values_[v.index()].parts + (flow > 0 ? flow * static_cast<double>(routes.least(from, to)) : 0);
}

// The cost with what its reads pay and, with `outs`, what its results get back.
double Relaxation::ReducedCost(const Option& option, bool outs) const {
  const Group& group = space_.group(option.group);
  double cost = cost_[IndexOf(option)];
  for (size_t i = 0; i < group.in.size(); ++i) {
    const std::vector<NodeId>& readers = space_.value(group.in[i]).consumers;
    for (size_t c = 0; c < readers.size(); ++c) {
      if (IsInside(group, readers[c])) cost += values_[group.in[i].index()].paid[c][option.in[i]];
    }
  }
  for (size_t i = 0; outs && cost < kMost && i < group.out.size(); ++i) {
    const ValueDual& dual = values_[group.out[i].index()];
    const std::vector<NodeId>& readers = space_.value(group.out[i]).consumers;
    const uint32_t to = borders_ == nullptr ? kNothing : borders_->to[group.out[i].index()];
    if (to != kNothing && to != option.out[i]) return kMost;
    for (size_t c = 0; c < readers.size(); ++c) {
      if (!IsInside(group, readers[c])) cost -= dual.back[c][option.out[i]];
    }
    cost -= dual.back_of_caller[option.out[i]];
  }
  return std::min(cost, kMost);
}

// Least cost of making the value in each slot, and from it the potentials of its readers: each pays a part of it, those
// on paths more than others.
void Relaxation::MadeAt(ValueId v) {
  const ValueSlots& value = space_.value(v);
  if (value.consumers.empty() && !value.is_output) return;
  ValueDual& dual = values_[v.index()];
  const size_t slots = space_.routes(v).slots;
  std::vector<double> made(slots, kMost);
  const uint32_t from = borders_ == nullptr ? kNothing : borders_->from[v.index()];
  if (value.is_input) made[value.external] = 0;
  if (from != kNothing) made[from] = 0;
  for (uint32_t g :
       value.producer.valid() && from == kNothing ? space_.groups_of(value.producer) : std::span<const uint32_t>()) {
    const Group& group = space_.group(g);
    const auto out = std::find(group.out.begin(), group.out.end(), v);
    if (out == group.out.end()) continue;
    for (uint32_t o : group.options) {
      const Option& option = space_.option(o);
      double& at = made[option.out[static_cast<size_t>(out - group.out.begin())]];
      at = std::min(at, ReducedCost(option, false) / static_cast<double>(group.out.size()));
    }
  }
  const std::vector<double>* flows = pricing_.flow == nullptr ? nullptr : &pricing_.flow->to_reader[v.index()];
  const double to_caller = pricing_.flow == nullptr ? 0 : pricing_.flow->to_caller[v.index()];
  double on_paths = to_caller;
  for (size_t c = 0; flows != nullptr && c < flows->size(); ++c) on_paths += (*flows)[c];
  const auto part = [&](double flow) {
    const double even = 1 / dual.parts;
    return on_paths > 0 ? (1 - std::min(1.0, on_paths)) * even + std::min(1.0, on_paths) * flow / on_paths : even;
  };
  const auto visit = [&](NodeId reader, double flow, std::vector<double>& paid, std::vector<double>& back) {
    if (segments_.Of(value.producer, reader) == kNothing) return;
    const double mine = part(flow);
    std::fill(paid.begin(), paid.end(), kMost);
    for (uint32_t t = 0; t < paid.size(); ++t) {
      for (uint32_t s = 0; s < slots; ++s) {
        const uint32_t to = reader.valid() ? t : value.external;
        if (made[s] < kMost) paid[t] = std::min(paid[t], mine * made[s] + WayCost(v, reader, flow, s, to));
      }
    }
    if (from != kNothing) return;
    for (uint32_t s = 0; s < slots; ++s) {
      back[s] = -kMost;
      for (uint32_t t = 0; t < paid.size(); ++t) {
        const double way = WayCost(v, reader, flow, s, reader.valid() ? t : value.external);
        if (way < kMost) back[s] = std::max(back[s], paid[t] - way);  // else never made here and read there
      }
    }
  };
  for (size_t c = 0; c < value.consumers.size(); ++c)
    visit(value.consumers[c], flows == nullptr ? 0 : (*flows)[c], dual.paid[c], dual.back[c]);
  if (!value.is_output || from != kNothing) return;
  std::vector<double> paid = {0};
  visit(NodeId(), to_caller, paid, dual.back_of_caller);
  dual.to_caller = paid.front();
}

void Relaxation::FindPrices() {
  std::vector<double> reduced(space_.options().size());
  for (size_t o = 0; o < reduced.size(); ++o) reduced[o] = ReducedCost(space_.options()[o], true);
  const std::vector<int64_t> prices = NodePrices(space_, [&](const Option& option) {
    const double cost = reduced[IndexOf(option)];
    return cost >= kMost ? kImpossible : static_cast<int64_t>(std::floor(cost * kScale));
  });
  for (int64_t price : prices) prices_.push_back(static_cast<double>(price) / kScale);
  for (size_t v = 0; v < values_.size(); ++v) {
    const NodeId maker = space_.value(ValueId(v)).producer;
    if (maker.valid()) prices_[maker.index()] += values_[v].to_caller;
  }
}

// The slot in which the chosen option of a reader reads the value.
Slot Relaxation::ReadIn(ValueId v, uint32_t option) const {
  const std::vector<ValueId>& in = space_.group_of(option).in;
  return space_.option(option).in[static_cast<size_t>(std::ranges::find(in, v) - in.begin())];
}

double Relaxation::CostAsChosen(const Option& option, const std::vector<uint32_t>& chosen) const {
  const Group& group = space_.group(option.group);
  double cost = ReducedCost(option, false);
  for (NodeId node : group.nodes) cost -= prices_[node.index()];
  for (size_t i = 0; i < group.out.size(); ++i) {
    const ValueId v = group.out[i];
    const std::vector<NodeId>& readers = space_.value(v).consumers;
    const std::vector<double>* flows = pricing_.flow == nullptr ? nullptr : &pricing_.flow->to_reader[v.index()];
    for (size_t c = 0; c < readers.size(); ++c) {
      const uint32_t reader = chosen[readers[c].index()];
      if (IsInside(group, readers[c]) || reader == kNothing) continue;
      const Slot slot = ReadIn(v, reader);
      cost += WayCost(v, readers[c], flows == nullptr ? 0 : (*flows)[c], option.out[i], slot);
      cost -= values_[v.index()].paid[c][slot];
    }
  }
  return cost;
}

std::vector<uint32_t> Relaxation::Choose() const {
  std::vector<uint32_t> chosen(space_.graph().nodes().size(), kNothing);
  for (size_t at = space_.order().size(); at-- > 0;) {
    const NodeId node = space_.order()[at];
    if (chosen[node.index()] != kNothing) continue;
    uint32_t best = kNothing;
    double least = INFINITY;
    for (uint32_t g : space_.groups_of(node)) {
      const Group& group = space_.group(g);
      if (std::ranges::any_of(group.nodes, [&](NodeId n) { return chosen[n.index()] != kNothing; })) continue;
      for (uint32_t o : group.options) {
        const double cost = CostAsChosen(space_.option(o), chosen);
        if (cost < least) least = cost, best = o;
      }
    }
    if (best == kNothing) continue;
    for (NodeId covered : space_.group_of(best).nodes) chosen[covered.index()] = best;
  }
  return chosen;
}

}  // namespace pt
