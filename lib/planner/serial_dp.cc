#include "lib/planner/serial_dp.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

namespace pt {
namespace {

// A value that some node still needs, and the slots it is in.
struct Live {
  ValueId value;
  uint64_t slots = 0;
  friend bool operator==(const Live&, const Live&) = default;
};

struct State {
  int64_t ns = 0;         // spent
  int64_t expected = 0;   // spent + the prices of pending nodes: what states are compared by
  uint32_t back = kNothing;  // the record it came by
  std::vector<Live> live;       // by value
  std::vector<NodeId> pending;  // passed over, to be covered by a group that ends later; ascending

  uint64_t Key() const {
    uint64_t key = 1469598103934665603u;
    const auto mix = [&](uint64_t x) { key = (key ^ x) * 1099511628211u, key ^= key >> 29; };
    for (const Live& l : live) mix(l.value.value), mix(l.slots);
    mix(UINT64_MAX);
    for (NodeId node : pending) mix(node.value);
    return key;
  }
  bool SameAs(const State& other) const { return live == other.live && pending == other.pending; }
};

// One choice of the past; states share their common past.
struct Record {
  uint32_t option = 0, back = kNothing;
};

class SerialSolver {
 public:
  SerialSolver(const Space& space, const SerialRules& rules) : space_(space), rules_(rules) {}

  Result<Solution> Run() {
    Collect();
    std::vector<State> states(1);
    for (ValueId input : space_.graph().inputs()) {
      if (!space_.value(input).consumers.empty()) states[0].live.push_back({input, uint64_t{1} << space_.value(input).external});
    }
    std::sort(states[0].live.begin(), states[0].live.end(), [](const Live& a, const Live& b) { return a.value < b.value; });
    for (uint32_t at = 0; at < space_.order().size(); ++at) {
      next_.clear();
      index_.clear();
      for (const State& state : states) Advance(state, at);
      if (next_.empty()) return NoCover(space_.order()[at]);
      KeepBest();
      std::swap(states, next_);
    }
    const auto best = std::min_element(states.begin(), states.end(), [](const State& a, const State& b) { return a.ns < b.ns; });
    Solution solution;
    for (uint32_t r = best->back; r != kNothing; r = records_[r].back) {
      const Option& option = space_.option(records_[r].option);
      solution.push_back({records_[r].option, space_.units(option.kind).front()});
    }
    std::reverse(solution.begin(), solution.end());
    return solution;
  }

 private:
  struct UsableGroup {
    uint32_t id = 0;
    uint32_t last = 0;              // position of its last node
    std::vector<NodeId> others;     // all nodes but the last; ascending
    std::vector<uint32_t> options;
  };

  void Collect() {
    const auto cost = [&](const Option& o) { return rules_.cost_ns ? rules_.cost_ns(o) : o.likely_ns(); };
    cost_.resize(space_.options().size());
    ending_at_.resize(space_.order().size());
    containing_.resize(space_.order().size());
    for (uint32_t g = 0; g < space_.groups().size(); ++g) {
      const Group& group = space_.group(g);
      UsableGroup usable;
      usable.id = g;
      for (uint32_t o : group.options) {
        cost_[o] = cost(space_.option(o));
        if (!rules_.allowed || rules_.allowed(space_.option(o))) usable.options.push_back(o);
      }
      if (usable.options.empty()) continue;
      for (NodeId node : group.nodes) usable.last = std::max(usable.last, space_.position(node));
      if (!FitsOrder(group, usable.last)) continue;
      for (NodeId node : group.nodes) {
        if (space_.position(node) != usable.last) usable.others.push_back(node);
      }
      groups_.push_back(std::move(usable));
    }
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      ending_at_[groups_[g].last].push_back(g);
      for (NodeId node : groups_[g].others) containing_[space_.position(node)].push_back(g);
    }
    prices_ = NodePrices(space_, rules_.cost_ns);
    const size_t values = space_.graph().values().size();
    last_use_.assign(values, 0);
    for (size_t v = 0; v < values; ++v) {
      for (NodeId node : space_.value(ValueId(v)).consumers) last_use_[v] = std::max(last_use_[v], space_.position(node));
    }
  }

  // The group runs when its last node's turn comes, so nobody may need its results before.
  bool FitsOrder(const Group& group, uint32_t last) const {
    for (ValueId out : group.out) {
      for (NodeId consumer : space_.value(out).consumers) {
        const bool inside = std::binary_search(group.nodes.begin(), group.nodes.end(), consumer);
        if (!inside && space_.position(consumer) < last) return false;
      }
    }
    return true;
  }

  void Advance(const State& state, uint32_t at) {
    for (uint32_t g : ending_at_[at]) Cover(state, groups_[g], at);
    for (uint32_t g : containing_[at]) {
      if (!CanStillEnd(state, groups_[g], at)) continue;
      State waiting = state;
      const NodeId node = space_.order()[at];
      waiting.pending.insert(std::upper_bound(waiting.pending.begin(), waiting.pending.end(), node), node);
      waiting.expected += prices_[node.index()];
      Offer(std::move(waiting), kNothing);
      break;
    }
  }

  // Every earlier node of the group is pending, so covering it later is possible.
  bool CanStillEnd(const State& state, const UsableGroup& group, uint32_t at) const {
    return group.last > at && std::all_of(group.others.begin(), group.others.end(), [&](NodeId node) {
             return space_.position(node) >= at || std::binary_search(state.pending.begin(), state.pending.end(), node);
           });
  }

  void Cover(const State& state, const UsableGroup& usable, uint32_t at) {
    if (!std::includes(state.pending.begin(), state.pending.end(), usable.others.begin(), usable.others.end())) return;
    const Group& group = space_.group(usable.id);
    inputs_.clear();
    for (ValueId in : group.in) {
      const auto found = std::lower_bound(state.live.begin(), state.live.end(), in,
                                          [](const Live& l, ValueId v) { return l.value < v; });
      if (found == state.live.end() || found->value != in) return;  // its maker is pending
      inputs_.push_back(static_cast<size_t>(found - state.live.begin()));
    }
    std::vector<NodeId> pending;
    std::set_difference(state.pending.begin(), state.pending.end(), usable.others.begin(), usable.others.end(),
                        std::back_inserter(pending));
    // What waits must have a group left that ends later and finds all its nodes waiting.
    for (NodeId node : pending) {
      const std::vector<uint32_t>& with = containing_[space_.position(node)];
      const bool possible = std::any_of(with.begin(), with.end(), [&](uint32_t g) {
        return groups_[g].last > at && std::all_of(groups_[g].others.begin(), groups_[g].others.end(), [&](NodeId n) {
                 return space_.position(n) > at || std::binary_search(pending.begin(), pending.end(), n);
               });
      });
      if (!possible) return;
    }
    int64_t freed = 0;
    for (NodeId node : usable.others) freed += prices_[node.index()];
    for (uint32_t o : usable.options) Choose(state, group, o, at, pending, freed);
  }

  void Choose(const State& state, const Group& group, uint32_t o, uint32_t at, const std::vector<NodeId>& pending,
              int64_t freed) {
    const Option& option = space_.option(o);
    State chosen;
    chosen.ns = state.ns + cost_[o];
    chosen.live = state.live;
    chosen.back = state.back;
    for (size_t i = 0; i < group.in.size(); ++i) {
      Live& live = chosen.live[inputs_[i]];
      const int64_t ns = MoveCost(live, option.in[i]);
      if (ns >= kImpossible) return;
      chosen.ns += ns;
      live.slots |= uint64_t{1} << option.in[i];
    }
    for (size_t i = 0; i < group.out.size(); ++i) {
      const ValueSlots& value = space_.value(group.out[i]);
      Live live{group.out[i], uint64_t{1} << option.out[i]};
      if (value.is_output) {
        const int64_t ns = MoveCost(live, value.external);
        if (ns >= kImpossible) return;
        chosen.ns += ns;
        live.slots |= uint64_t{1} << value.external;
      }
      const auto place = std::lower_bound(chosen.live.begin(), chosen.live.end(), live.value,
                                          [](const Live& l, ValueId v) { return l.value < v; });
      chosen.live.insert(place, live);
    }
    std::erase_if(chosen.live, [&](const Live& l) { return IsDead(l.value, at, pending); });
    chosen.pending = pending;
    chosen.expected = chosen.ns + (state.expected - state.ns) - freed;
    Offer(std::move(chosen), o);
  }

  int64_t MoveCost(const Live& live, uint32_t slot) const {
    if ((live.slots >> slot & 1) != 0) return 0;
    const Routes& routes = space_.routes(live.value);
    int64_t best = kImpossible;
    for (uint64_t have = live.slots; have != 0; have &= have - 1) {
      best = std::min(best, routes.cost(static_cast<uint32_t>(std::countr_zero(have)), slot));
    }
    return best < kImpossible && rules_.ignore_transfers ? 0 : best;
  }

  bool IsDead(ValueId value, uint32_t at, const std::vector<NodeId>& pending) const {
    if (last_use_[value.index()] > at) return false;
    const std::vector<NodeId>& consumers = space_.value(value).consumers;
    return std::none_of(pending.begin(), pending.end(), [&](NodeId node) {
      return std::binary_search(consumers.begin(), consumers.end(), node);
    });
  }

  // Of states alike but for the time only the fastest lives on.
  void Offer(State state, uint32_t option) {
    const uint64_t key = state.Key();
    const auto [first, last] = index_.equal_range(key);
    for (auto it = first; it != last; ++it) {
      State& known = next_[it->second];
      if (!known.SameAs(state)) continue;
      if (state.ns < known.ns) {
        Remember(state, option);
        known = std::move(state);
      }
      return;
    }
    Remember(state, option);
    index_.emplace(key, next_.size());
    next_.push_back(std::move(state));
  }

  void Remember(State& state, uint32_t option) {
    if (option == kNothing) return;
    records_.push_back({option, state.back});
    state.back = static_cast<uint32_t>(records_.size() - 1);
  }

  void KeepBest() {
    // Copying states costs as much as their live values; graphs with thousands of them get few states.
    size_t size = 0;
    for (const State& state : next_) size = std::max(size, state.live.size() + state.pending.size());
    const size_t beam = std::clamp<size_t>(4000 / (size + 1), 1, rules_.beam);
    if (next_.size() <= beam) return;
    const auto better = [](const State& a, const State& b) { return a.expected < b.expected; };
    std::stable_sort(next_.begin(), next_.end(), better);
    // A beam of pending states alone could end without a cover: the best without any stays.
    const auto settled = std::min_element(next_.begin(), next_.end(), [](const State& a, const State& b) {
      return std::pair(a.pending.size(), a.expected) < std::pair(b.pending.size(), b.expected);
    });
    if (settled >= next_.begin() + static_cast<std::ptrdiff_t>(beam)) std::swap(next_[beam - 1], *settled);
    next_.resize(beam);
  }

  Error NoCover(NodeId node) const {
    Error error = MakeError(ErrorCode::kInfeasible, "planner.no_cover",
                            "no candidates cover " + NodeLabel(space_.graph(), node) + " under this planner's rules");
    error.node = NodeLabel(space_.graph(), node);
    return error;
  }

  const Space& space_;
  const SerialRules& rules_;
  std::vector<UsableGroup> groups_;
  std::vector<std::vector<uint32_t>> ending_at_, containing_;  // by position: indices into groups_
  std::vector<int64_t> cost_, prices_;
  std::vector<uint32_t> last_use_;
  std::vector<size_t> inputs_;  // of the group at hand: where its inputs stand in the state's live values
  std::vector<Record> records_;
  std::vector<State> next_;
  std::unordered_multimap<uint64_t, size_t> index_;
};

}  // namespace

Result<Solution> SolveSerial(const Space& space, const SerialRules& rules) { return SerialSolver(space, rules).Run(); }

std::vector<int64_t> NodePrices(const Space& space, const std::function<int64_t(const Option&)>& cost_ns) {
  std::vector<int64_t> slack(space.groups().size(), kImpossible);
  for (uint32_t g = 0; g < slack.size(); ++g) {
    for (uint32_t o : space.group(g).options) {
      const Option& option = space.option(o);
      slack[g] = std::min(slack[g], cost_ns ? cost_ns(option) : option.likely_ns());
    }
  }
  // Dual ascent, the nodes with the dearest cheapest group first: heavy nodes take what the group costs, and what is
  // fused to them for little gets little.
  const size_t nodes = space.graph().nodes().size();
  std::vector<int64_t> cheapest(nodes, kImpossible);
  for (size_t n = 0; n < nodes; ++n) {
    for (uint32_t g : space.groups_of(NodeId(n))) cheapest[n] = std::min(cheapest[n], slack[g]);
  }
  std::vector<uint32_t> order(nodes);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return cheapest[a] > cheapest[b]; });
  std::vector<int64_t> prices(nodes, 0);
  for (uint32_t n : order) {
    int64_t price = kImpossible;
    for (uint32_t g : space.groups_of(NodeId(n))) price = std::min(price, slack[g]);
    if (price >= kImpossible) price = 0;
    prices[n] = price;
    for (uint32_t g : space.groups_of(NodeId(n))) slack[g] -= price;
  }
  return prices;
}

}  // namespace pt
