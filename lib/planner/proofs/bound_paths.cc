#include "lib/planner/proofs/bound_paths.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

namespace pt {
namespace {

// What a choice keeps busy and how long its longest path is, by segment: against these the weights play.
class Game {
 public:
  Game(const Space& space, const Segments& segments, const MoveSegments& moves, const std::vector<bool>* barred)
      : space_(space),
        segments_(segments),
        moves_(moves),
        barred_(barred),
        groups_(WeightGroups(space)),
        launches_(segments.count > 1 ? LaneWeights::Launches::kLeaveOut : LaneWeights::Launches::kCount),
        flow_(space) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      std::vector<double> alone(groups_.size(), 0);
      alone[g] = 1;
      of_group_.emplace_back(space, groups_, alone, launches_);
    }
    for (const LaneWeights& weights : of_group_) ways_.emplace_back(space, weights);
    actions_ = groups_.size() + 1;
    weights_.assign(segments.count, std::vector<double>(actions_, 1.0 / static_cast<double>(actions_)));
    mean_.assign(segments.count, std::vector<double>(actions_, 0));
  }

  PathsBound Run() {
    const int rounds = space_.graph().nodes().size() > 2000 ? 4 : 60;
    const int shown = rounds / 2;  // some of the weights are shown to the chain
    PathsBound result{0, ChainBound(space_, segments_, moves_, barred_)};
    for (int round = 0; round < rounds; ++round) {
      const PathFlow flow = WeightedFlow();
      const Pricing pricing{LanesNow(), &flow};
      const Relaxation relaxation(space_, moves_, pricing, nullptr, barred_);
      const std::vector<double>& prices = relaxation.prices();
      const double bound = std::accumulate(prices.begin(), prices.end(), 0.0);
      result.whole_ns = std::max(result.whole_ns, bound);
      if (round % shown == shown - 1) result.chain.Add(pricing);
      const double part = static_cast<double>(round) / rounds;
      Learn(relaxation.Choose(), round, kFirstSharpness * std::pow(kLastSharpness / kFirstSharpness, part));
    }
    return result;
  }

 private:
  std::vector<LaneWeights> LanesNow() const {
    std::vector<LaneWeights> lanes;
    for (const std::vector<double>& weights : weights_) {
      lanes.emplace_back(space_, groups_, std::vector<double>(weights.begin(), weights.end() - 1), launches_);
    }
    return lanes;
  }

  PathFlow WeightedFlow() const {
    PathFlow flow = flow_;
    for (size_t v = 0; v < flow.to_reader.size(); ++v) {
      const ValueSlots& value = space_.value(ValueId(v));
      for (size_t c = 0; c < flow.to_reader[v].size(); ++c) {
        flow.to_reader[v][c] *= PathWeight(moves_.Of(value.producer, value.consumers[c]));
      }
      flow.to_caller[v] *= PathWeight(moves_.Of(value.producer, NodeId()));
    }
    for (size_t n = 0; n < flow.begins.size(); ++n) flow.begins[n] *= PathWeight(segments_.of_node[n]);
    return flow;
  }

  double PathWeight(uint32_t segment) const { return segment == kNothing ? 0 : weights_[segment].back(); }

  // Mixes the choice into the mean, and gives the weight to what is longest in that.
  void Learn(const std::vector<uint32_t>& chosen, int round, double sharpness) {
    const double rate = std::max(kLeastRate, 1.0 / (round + 1));
    const std::vector<std::vector<double>> loads = LoadsOf(chosen);
    Scale(1 - rate);
    std::vector<double> longest = AddLongestPaths(chosen, rate);
    for (size_t s = 0; s < mean_.size(); ++s) {
      for (size_t a = 0; a < actions_; ++a) {
        const double load = a + 1 == actions_ ? longest[s] : loads[s][a];
        mean_[s][a] += rate * (load - mean_[s][a]);
      }
      const double most = *std::max_element(mean_[s].begin(), mean_[s].end());
      double sum = 0;
      for (size_t a = 0; a < actions_; ++a) {
        weights_[s][a] = most > 0 ? std::exp(sharpness * (mean_[s][a] / most - 1)) : 1;
        sum += weights_[s][a];
      }
      for (double& weight : weights_[s]) weight /= sum;
    }
  }

  void Scale(double by) {
    for (std::vector<double>& readers : flow_.to_reader) {
      for (double& flow : readers) flow *= by;
    }
    for (double& flow : flow_.to_caller) flow *= by;
    for (double& flow : flow_.begins) flow *= by;
  }

  std::vector<std::vector<double>> LoadsOf(const std::vector<uint32_t>& chosen) {
    std::vector<std::vector<double>> loads(segments_.count, std::vector<double>(groups_.size(), 0));
    for (size_t n = 0; n < chosen.size(); ++n) {
      const uint32_t segment = segments_.of_node[n];
      if (segment == kNothing || chosen[n] == kNothing) continue;
      if (space_.group_of(chosen[n]).nodes.front() == NodeId(n)) {
        for (size_t g = 0; g < groups_.size(); ++g) loads[segment][g] += of_group_[g].Of(space_.option(chosen[n]));
      }
    }
    for (size_t v = 0; v < space_.graph().values().size(); ++v) AddMoves(ValueId(v), chosen, loads);
    return loads;
  }

  void AddMoves(ValueId v, const std::vector<uint32_t>& chosen, std::vector<std::vector<double>>& loads) {
    const ValueSlots& value = space_.value(v);
    const uint32_t made = MadeIn(v, chosen);
    if (made == kNothing) return;
    std::vector<uint32_t> served = {made};
    const auto serve = [&](NodeId reader, uint32_t slot) {
      const uint32_t segment = moves_.Of(value.producer, reader);
      if (segment == kNothing || std::ranges::find(served, slot) != served.end()) return;
      served.push_back(slot);
      for (size_t g = 0; g < groups_.size(); ++g) {
        const double work = ways_[g].Of(v)[made * space_.routes(v).slots + slot];
        if (work < MoveWays::kMost) loads[segment][g] += work;
      }
    };
    for (NodeId reader : value.consumers) {
      const uint32_t slot = ReadIn(v, reader, chosen);
      if (slot != kNothing) serve(reader, slot);
    }
    if (value.is_output) serve(NodeId(), value.external);
  }

  uint32_t MadeIn(ValueId v, const std::vector<uint32_t>& chosen) const {
    const ValueSlots& value = space_.value(v);
    if (value.is_input) return value.external;
    const uint32_t option = value.producer.valid() ? chosen[value.producer.index()] : kNothing;
    if (option == kNothing) return kNothing;
    const std::vector<ValueId>& out = space_.group_of(option).out;
    const auto place = std::ranges::find(out, v);
    return place == out.end() ? kNothing : space_.option(option).out[static_cast<size_t>(place - out.begin())];
  }

  // kNothing when the reader is in the group that makes it.
  uint32_t ReadIn(ValueId v, NodeId reader, const std::vector<uint32_t>& chosen) const {
    const uint32_t option = chosen[reader.index()];
    if (option == kNothing) return kNothing;
    const std::vector<ValueId>& in = space_.group_of(option).in;
    const auto place = std::ranges::find(in, v);
    return place == in.end() ? kNothing : space_.option(option).in[static_cast<size_t>(place - in.begin())];
  }

  // The way to the end of a node by the longest path of its segment.
  struct Reached {
    int64_t ns = 0;
    ValueId by;  // the value by which the path comes to the node; none: it begins there
  };

  int64_t MoveNs(ValueId v, uint32_t made, uint32_t slot) const {
    const int64_t ns = space_.routes(v).least(made, slot);
    return ns >= kImpossible ? 0 : ns;
  }

  // By segment: the length of the longest path, which gets `share` more of the flow.
  std::vector<double> AddLongestPaths(const std::vector<uint32_t>& chosen, double share) {
    std::vector<Reached> reached(chosen.size());
    std::vector<int64_t> longest(segments_.count, -1);
    std::vector<std::pair<NodeId, ValueId>> ends(segments_.count);  // with the value that goes to the caller, if any
    for (NodeId node : space_.order()) {
      const uint32_t segment = segments_.of_node[node.index()];
      if (segment == kNothing || chosen[node.index()] == kNothing) continue;
      reached[node.index()] = Reach(node, chosen, reached);
      const int64_t ns = reached[node.index()].ns;
      if (ns > longest[segment]) longest[segment] = ns, ends[segment] = {node, ValueId()};
      for (ValueId out : space_.graph().node(node).outputs) {
        if (!out.valid() || !space_.value(out).is_output || moves_.Of(node, NodeId()) != segment) continue;
        const uint32_t made = MadeIn(out, chosen);
        if (made == kNothing) continue;
        const int64_t with_move = ns + MoveNs(out, made, space_.value(out).external);
        if (with_move > longest[segment]) longest[segment] = with_move, ends[segment] = {node, out};
      }
    }
    for (const auto& [node, out] : ends) {
      if (out.valid()) flow_.to_caller[out.index()] += share;
      if (node.valid()) AddPath(node, reached, share);
    }
    std::vector<double> result;
    for (int64_t ns : longest) result.push_back(static_cast<double>(std::max<int64_t>(0, ns)));
    return result;
  }

  Reached Reach(NodeId node, const std::vector<uint32_t>& chosen, const std::vector<Reached>& reached) const {
    const uint32_t segment = segments_.of_node[node.index()];
    const int64_t own_ns = LeastOnPath(space_, space_.option(chosen[node.index()]));
    Reached best = {own_ns, ValueId()};
    for (ValueId in : space_.graph().node(node).inputs) {
      if (!in.valid() || space_.graph().value(in).is_constant()) continue;
      const NodeId maker = space_.value(in).producer;
      if (moves_.Of(maker, node) != segment) continue;
      const uint32_t made = MadeIn(in, chosen), slot = ReadIn(in, node, chosen);
      const bool same = maker.valid() && segments_.of_node[maker.index()] == segment;
      int64_t ns = same ? reached[maker.index()].ns : 0;
      if (slot != kNothing) ns += own_ns + (made == kNothing ? 0 : MoveNs(in, made, slot));
      if (ns > best.ns) best = {ns, in};
    }
    return best;
  }

  void AddPath(NodeId node, const std::vector<Reached>& reached, double share) {
    const uint32_t segment = segments_.of_node[node.index()];
    while (true) {
      const ValueId by = reached[node.index()].by;
      if (!by.valid()) {
        flow_.begins[node.index()] += share;
        return;
      }
      const std::vector<NodeId>& readers = space_.value(by).consumers;
      flow_.to_reader[by.index()][static_cast<size_t>(std::ranges::find(readers, node) - readers.begin())] += share;
      node = space_.value(by).producer;
      if (!node.valid() || segments_.of_node[node.index()] != segment) return;  // it begins with the move
    }
  }

  static constexpr double kLeastRate = 0.05;  // of a choice in the mean
  // How much more weight goes to what is longest: little at first, so that all have their say.
  static constexpr double kFirstSharpness = 8, kLastSharpness = 60;

  const Space& space_;
  const Segments& segments_;
  const MoveSegments& moves_;
  const std::vector<bool>* const barred_;
  const std::vector<WeightGroup> groups_;
  const LaneWeights::Launches launches_;
  std::deque<LaneWeights> of_group_;                 // all weight on one group
  std::deque<MoveWays> ways_;                        // parallel
  size_t actions_ = 0;                               // groups, and paths
  std::vector<std::vector<double>> weights_, mean_;  // by segment and action
  PathFlow flow_;                                    // by segment it adds up to one
};

}  // namespace

PathsBound BoundByPaths(const Space& space, const Segments& segments, const MoveSegments& moves,
                        const std::vector<bool>* barred) {
  return Game(space, segments, moves, barred).Run();
}

}  // namespace pt
