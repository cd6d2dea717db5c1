#include "lib/planner/bound_joint.h"

#include <algorithm>
#include <cmath>

#include "lib/planner/serial_dp.h"

namespace pt {
namespace {

constexpr double kScale = 1024;  // prices are integers; rounding down keeps them valid

// One weighting. Which form and place each value is made and read in, and what moves that takes, is a minimum over all
// values at once. Its dual: potentials on where a value is made, paid by its maker, and on where each reader reads it,
// paid back to that. A value's moves take at least the mean of its readers' shortest ways, so potentials that differ by
// no more than each reader's part of its way are valid, whatever they are; the sweep in order of the data makes them
// those that are exact on trees.
class Relaxation {
 public:
  Relaxation(const Space& space, const LaneWeights& weights, const Segments* segments)
      : space_(space), weights_(weights), segments_(segments), ways_(space.graph().values().size()) {
    for (const Option& option : space.options()) cost_.push_back(weights.Of(option));
    values_.resize(space.graph().values().size());
    for (size_t v = 0; v < values_.size(); ++v) Prepare(ValueId(v));
    for (size_t v = 0; v < values_.size(); ++v) {
      if (space_.value(ValueId(v)).is_input) MadeAt(ValueId(v));
    }
    for (NodeId node : space.order()) {
      for (ValueId out : space.graph().node(node).outputs) {
        if (out.valid() && space.value(out).producer == node) MadeAt(out);
      }
    }
  }

  // The least work by node; the rest, of moves to outputs' places, goes to their makers.
  std::vector<double> Prices() const {
    std::vector<double> reduced(space_.options().size());
    for (size_t o = 0; o < reduced.size(); ++o) reduced[o] = ReducedCost(space_.options()[o], true);
    const std::vector<int64_t> prices = NodePrices(space_, [&](const Option& option) {
      const double cost = reduced[static_cast<size_t>(&option - space_.options().data())];
      return cost >= kMost ? kImpossible : static_cast<int64_t>(std::floor(cost * kScale));
    });
    std::vector<double> result(prices.size());
    for (size_t n = 0; n < prices.size(); ++n) result[n] = static_cast<double>(prices[n]) / kScale;
    for (size_t v = 0; v < values_.size(); ++v) {
      const NodeId maker = space_.value(ValueId(v)).producer;
      if (maker.valid()) result[maker.index()] += values_[v].to_caller;
    }
    return result;
  }

 private:
  static constexpr double kMost = 1e15;  // more than any sum of times; impossible

  struct ValueDual {
    std::vector<std::vector<double>> paid;  // by reader and slot: what it pays
    std::vector<std::vector<double>> back;  // by reader and slot where it is made: what the maker gets
    std::vector<double> back_of_caller;
    double to_caller = 0;
    double parts = 1;
  };

  // Whether the moves from the maker (none: the caller, before the first segment) to the reader (none: the caller,
  // after the last) take place in one segment.
  bool IsTogether(NodeId maker, NodeId reader) const {
    if (segments_ == nullptr) return true;
    const uint32_t from = maker.valid() ? segments_->of_node[maker.index()] : 0;
    const uint32_t to = reader.valid() ? segments_->of_node[reader.index()] : segments_->count - 1;
    return from == to;
  }

  void Prepare(ValueId v) {
    const ValueSlots& value = space_.value(v);
    ValueDual& dual = values_[v.index()];
    const uint32_t slots = space_.routes(v).slots;
    dual.paid.assign(value.consumers.size(), std::vector<double>(slots, 0));
    dual.back = dual.paid;
    dual.back_of_caller.assign(slots, 0);
    dual.parts = static_cast<double>(std::max<size_t>(1, value.consumers.size() + (value.is_output ? 1 : 0)));
  }

  // The shortest ways between slots, by routes: values of the same dims and forms share them.
  const std::vector<double>& WaysOf(ValueId v) {
    const uint32_t id = space_.value(v).routes;
    if (ways_.size() <= id) ways_.resize(id + 1);
    std::vector<double>& ways = ways_[id];
    if (!ways.empty()) return ways;
    const Routes& routes = space_.routes(v);
    const size_t n = routes.slots;
    const size_t forms = space_.value(v).forms.size();
    const size_t devices = n / forms;
    ways.assign(n * n, kMost);
    for (size_t s = 0; s < n; ++s) ways[s * n + s] = 0;
    for (const auto& [hop, of_hop] : routes.reorders) {
      double& way = ways[hop.first * n + hop.second];
      for (const ReorderWay& r : of_hop) way = std::min(way, weights_.OfReorder(r.unit_class, r.ns));
    }
    for (size_t from = 0; from < devices; ++from) {
      for (size_t to = 0; to < devices; ++to) {
        const LinkId link = space_.link(DeviceId(from), DeviceId(to));
        if (from == to || !link.valid()) continue;
        for (size_t f = 0; f < forms; ++f) {
          if (routes.cost(static_cast<uint32_t>(from * forms + f), static_cast<uint32_t>(to * forms + f)) >=
              kImpossible)
            continue;
          const int64_t ns = space_.problem().costs.Copy(routes.bytes[f], link).ns;
          double& way = ways[(from * forms + f) * n + to * forms + f];
          way = std::min(way, weights_.OfCopy(link, ns));
        }
      }
    }
    for (size_t k = 0; k < n; ++k) {
      for (size_t s = 0; s < n; ++s) {
        for (size_t t = 0; t < n; ++t) ways[s * n + t] = std::min(ways[s * n + t], ways[s * n + k] + ways[k * n + t]);
      }
    }
    return ways;
  }

  // The cost with what its reads pay and, with `outs`, what its results get back.
  double ReducedCost(const Option& option, bool outs) const {
    const Group& group = space_.group(option.group);
    const auto inside = [&](NodeId node) { return std::binary_search(group.nodes.begin(), group.nodes.end(), node); };
    double cost = cost_[static_cast<size_t>(&option - space_.options().data())];
    for (size_t i = 0; i < group.in.size(); ++i) {
      const std::vector<NodeId>& readers = space_.value(group.in[i]).consumers;
      for (size_t c = 0; c < readers.size(); ++c) {
        if (inside(readers[c])) cost += values_[group.in[i].index()].paid[c][option.in[i]];
      }
    }
    for (size_t i = 0; outs && cost < kMost && i < group.out.size(); ++i) {
      const ValueDual& dual = values_[group.out[i].index()];
      const std::vector<NodeId>& readers = space_.value(group.out[i]).consumers;
      for (size_t c = 0; c < readers.size(); ++c) {
        if (!inside(readers[c])) cost -= dual.back[c][option.out[i]];
      }
      cost -= dual.back_of_caller[option.out[i]];
    }
    return std::min(cost, kMost);
  }

  // Least cost of making the value in each slot, and from it the potentials of its readers.
  void MadeAt(ValueId v) {
    const ValueSlots& value = space_.value(v);
    if (value.consumers.empty() && !value.is_output) return;
    ValueDual& dual = values_[v.index()];
    const std::vector<double>& ways = WaysOf(v);
    const size_t slots = space_.routes(v).slots;
    std::vector<double> made(slots, kMost);
    if (value.is_input) made[value.external] = 0;
    for (uint32_t g : value.producer.valid() ? space_.groups_of(value.producer) : std::span<const uint32_t>()) {
      const Group& group = space_.group(g);
      const auto out = std::find(group.out.begin(), group.out.end(), v);
      if (out == group.out.end()) continue;
      for (uint32_t o : group.options) {
        const Option& option = space_.option(o);
        double& at = made[option.out[static_cast<size_t>(out - group.out.begin())]];
        at = std::min(at, ReducedCost(option, false) / static_cast<double>(group.out.size()));
      }
    }
    const auto pay = [&](size_t t) {
      double least = kMost;
      for (size_t s = 0; s < slots; ++s) least = std::min(least, (made[s] + ways[s * slots + t]) / dual.parts);
      return least;
    };
    for (size_t c = 0; c < value.consumers.size(); ++c) {
      if (!IsTogether(value.producer, value.consumers[c])) continue;
      for (size_t t = 0; t < slots; ++t) dual.paid[c][t] = pay(t);
      for (size_t s = 0; s < slots; ++s) {
        double back = -kMost;
        for (size_t t = 0; t < slots; ++t) {
          if (ways[s * slots + t] >= kMost) continue;  // never made here and read there
          back = std::max(back, dual.paid[c][t] - ways[s * slots + t] / dual.parts);
        }
        dual.back[c][s] = back;
      }
    }
    if (!value.is_output || !IsTogether(value.producer, NodeId())) return;
    dual.to_caller = pay(value.external);
    for (size_t s = 0; s < slots; ++s)
      dual.back_of_caller[s] = dual.to_caller - ways[s * slots + value.external] / dual.parts;
  }

  const Space& space_;
  const LaneWeights& weights_;
  const Segments* segments_;
  std::vector<double> cost_;  // by option
  std::vector<ValueDual> values_;
  std::vector<std::vector<double>> ways_;  // by routes
};

class Joint {
 public:
  Joint(const Space& space, const Segments& segments)
      : space_(space), segments_(segments), groups_(WeightGroups(space)) {
    result_.segments_ns.assign(segments.count, 0);
  }

  JointBounds Run() {
    std::vector<double> shares(groups_.size(), 0);
    double hosts = 0;
    for (size_t g = 0; g < groups_.size(); ++g) hosts += groups_[g].resource.valid() ? 0 : 1;
    for (size_t g = 0; g < groups_.size(); ++g) shares[g] = groups_[g].resource.valid() ? 0 : 1 / hosts;
    Try(shares);
    if (groups_.size() == 1) return result_;
    // One group against the rest, its share narrowed towards the better side: the bound is concave in the weights. On
    // large graphs fewer weightings.
    const int rounds = space_.graph().nodes().size() > 2000 ? 1 : 7;
    for (size_t g = 0; g < groups_.size(); ++g) {
      double low = 0, high = 1;
      for (int round = 0; round < rounds; ++round) {
        const double third = (high - low) / 3;
        const double left = Try(With(shares, g, low + third));
        const double right = Try(With(shares, g, high - third));
        (left < right ? low : high) = left < right ? low + third : high - third;
      }
      shares = With(shares, g, (low + high) / 2);
    }
    Try(shares);
    return result_;
  }

 private:
  static std::vector<double> With(std::vector<double> shares, size_t group, double share) {
    const double rest = 1 - shares[group];
    for (size_t g = 0; g < shares.size(); ++g) {
      if (g == group) continue;
      shares[g] = rest > 1e-9 ? shares[g] / rest * (1 - share) : (1 - share) / static_cast<double>(shares.size() - 1);
    }
    shares[group] = share;
    return shares;
  }

  double Try(const std::vector<double>& shares) {
    const LaneWeights weights(space_, groups_, shares);
    double whole = 0;
    for (double price : Relaxation(space_, weights, nullptr).Prices()) whole += price;
    result_.whole_ns = std::max(result_.whole_ns, whole);
    std::vector<double> sums(result_.segments_ns.size(), 0);
    const std::vector<double> prices = Relaxation(space_, weights, &segments_).Prices();
    for (size_t n = 0; n < prices.size(); ++n) {
      if (segments_.of_node[n] != kNothing) sums[segments_.of_node[n]] += prices[n];
    }
    for (size_t s = 0; s < sums.size(); ++s) result_.segments_ns[s] = std::max(result_.segments_ns[s], sums[s]);
    return whole;
  }

  const Space& space_;
  const Segments& segments_;
  std::vector<WeightGroup> groups_;
  JointBounds result_;
};

}  // namespace

JointBounds BoundJointly(const Space& space, const Segments& segments) { return Joint(space, segments).Run(); }

}  // namespace pt
