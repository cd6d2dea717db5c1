#include "lib/planner/search/serial_dp.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "lib/planner/search/serial_memo.h"
#include "partitiontuner/support/random.h"

namespace pt {
namespace {

// A value that some node still needs, and the slots it is in.
struct Live {
  ValueId value;
  SlotSet slots;
};

// The key of a state is the exclusive or of its parts' keys, so that a change costs what it touches.
uint64_t KeyOf(const Live& live) { return SplitMix(SplitMix(live.value.value + 1) + live.slots.key()); }
uint64_t KeyOf(NodeId pending) { return SplitMix(~uint64_t{pending.value}); }

struct State {
  int64_t ns = 0;        // spent
  int64_t expected = 0;  // spent + the prices of pending nodes: what states are compared by
  uint64_t key = 0;
  uint32_t back = kNothing;     // the record it came by
  std::vector<Live> live;       // by value
  std::vector<NodeId> pending;  // passed over, to be covered by a group that ends later; ascending
};

// What could follow a state; becomes one only if it is among the best.
struct Proposal {
  uint32_t parent = 0, option = kNothing;  // kNothing: the node is left pending
  int64_t ns = 0, expected = 0;
  uint64_t key = 0;
  size_t pending = 0;
};

// One choice of the past; states share their common past.
struct Record {
  uint32_t option = 0, back = kNothing;
};

std::vector<int64_t> CostsOf(const Space& space, const std::function<int64_t(const Option&)>& cost_ns) {
  std::vector<int64_t> costs;
  costs.reserve(space.options().size());
  for (const Option& option : space.options()) costs.push_back(cost_ns ? cost_ns(option) : option.likely_ns());
  return costs;
}

// NodePrices by the costs of all options.
std::vector<int64_t> PricesOf(const Space& space, const std::vector<int64_t>& cost_ns) {
  std::vector<int64_t> slack(space.groups().size(), kImpossible);
  for (uint32_t g = 0; g < slack.size(); ++g) {
    for (uint32_t o : space.group(g).options) slack[g] = std::min(slack[g], cost_ns[o]);
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

class SerialSolver {
 public:
  SerialSolver(const Space& space, const SerialProblem& problem) : space_(space), problem_(problem) {}

  Result<Solution> Run() {
    Collect();
    std::vector<State> states(1);
    for (ValueId input : space_.graph().inputs()) {
      if (!space_.value(input).consumers.empty())
        states[0].live.push_back({input, SlotSet(space_.value(input).external)});
    }
    std::sort(states[0].live.begin(), states[0].live.end(),
              [](const Live& a, const Live& b) { return a.value < b.value; });
    for (const Live& live : states[0].live) states[0].key ^= KeyOf(live);
    for (uint32_t at = 0; at < space_.order().size(); ++at) {
      if (space_.deadline().GivesUp()) return OutOfTime();
      proposals_.clear();
      index_.clear();
      size_t size = 0;
      for (uint32_t s = 0; s < states.size(); ++s) {
        size = std::max(size, states[s].live.size() + states[s].pending.size());
        Advance(states[s], s, at);
      }
      if (proposals_.empty()) return NoCover(space_.order()[at]);
      KeepBest(size);
      states = Follow(std::move(states), at);
    }
    const auto best =
        std::min_element(states.begin(), states.end(), [](const State& a, const State& b) { return a.ns < b.ns; });
    Solution solution;
    for (uint32_t r = best->back; r != kNothing; r = records_[r].back) {
      const Option& option = space_.option(records_[r].option);
      solution.push_back({records_[r].option, space_.units(option.unit_class).front()});
    }
    std::reverse(solution.begin(), solution.end());
    return solution;
  }

 private:
  struct UsableGroup {
    uint32_t id = 0;
    uint32_t last = 0;           // position of its last node
    std::vector<NodeId> others;  // all nodes but the last; ascending
    std::vector<uint32_t> options;
  };

  void Collect() {
    ending_at_.resize(space_.order().size());
    containing_.resize(space_.order().size());
    for (uint32_t g = 0; g < space_.groups().size(); ++g) {
      const Group& group = space_.group(g);
      UsableGroup usable;
      usable.id = g;
      for (uint32_t o : group.options) {
        if (problem_.allowed[o]) usable.options.push_back(o);
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
    prices_ = PricesOf(space_, problem_.cost_ns);
    const size_t values = space_.graph().values().size();
    last_use_.assign(values, 0);
    for (size_t v = 0; v < values; ++v) {
      for (NodeId node : space_.value(ValueId(v)).consumers)
        last_use_[v] = std::max(last_use_[v], space_.position(node));
    }
  }

  // The group runs when its last node's turn comes, so no group may need its results before.
  bool FitsOrder(const Group& group, uint32_t last) const {
    for (ValueId out : group.out) {
      for (NodeId consumer : space_.value(out).consumers) {
        const bool inside = std::binary_search(group.nodes.begin(), group.nodes.end(), consumer);
        if (!inside && space_.position(consumer) < last) return false;
      }
    }
    return true;
  }

  void Advance(const State& state, uint32_t parent, uint32_t at) {
    for (uint32_t g : ending_at_[at]) Cover(state, parent, groups_[g], at);
    for (uint32_t g : containing_[at]) {
      if (!CanStillEnd(state, groups_[g], at)) continue;
      const NodeId node = space_.order()[at];
      Offer({parent, kNothing, state.ns, state.expected + prices_[node.index()], state.key ^ KeyOf(node),
             state.pending.size() + 1});
      break;
    }
  }

  // Every earlier node of the group is pending, so covering it later is possible.
  bool CanStillEnd(const State& state, const UsableGroup& group, uint32_t at) const {
    return group.last > at && std::all_of(group.others.begin(), group.others.end(), [&](NodeId node) {
             return space_.position(node) >= at || std::binary_search(state.pending.begin(), state.pending.end(), node);
           });
  }

  static std::vector<Live>::const_iterator Find(const std::vector<Live>& live, ValueId value) {
    const auto found =
        std::lower_bound(live.begin(), live.end(), value, [](const Live& l, ValueId v) { return l.value < v; });
    return found != live.end() && found->value == value ? found : live.end();
  }

  void Cover(const State& state, uint32_t parent, const UsableGroup& usable, uint32_t at) {
    if (!std::includes(state.pending.begin(), state.pending.end(), usable.others.begin(), usable.others.end())) return;
    const Group& group = space_.group(usable.id);
    inputs_.clear();
    for (ValueId in : group.in) {
      const auto found = Find(state.live, in);
      if (found == state.live.end()) return;  // its maker is pending
      inputs_.push_back(*found);
    }
    pending_.clear();
    std::set_difference(state.pending.begin(), state.pending.end(), usable.others.begin(), usable.others.end(),
                        std::back_inserter(pending_));
    // What waits must have a group left that ends later and finds all its nodes waiting.
    for (NodeId node : pending_) {
      const std::vector<uint32_t>& with = containing_[space_.position(node)];
      const bool possible = std::any_of(with.begin(), with.end(), [&](uint32_t g) {
        return groups_[g].last > at && std::all_of(groups_[g].others.begin(), groups_[g].others.end(), [&](NodeId n) {
                 return space_.position(n) > at || std::binary_search(pending_.begin(), pending_.end(), n);
               });
      });
      if (!possible) return;
    }
    Proposal proposal{parent, 0, state.ns, state.expected, state.key, pending_.size()};
    for (NodeId node : usable.others) {
      proposal.expected -= prices_[node.index()];
      proposal.key ^= KeyOf(node);
    }
    for (uint32_t o : usable.options) Choose(proposal, group, o, at);
  }

  // `proposal` with its group covered by option o.
  void Choose(Proposal proposal, const Group& group, uint32_t o, uint32_t at) {
    const Option& option = space_.option(o);
    int64_t ns = problem_.cost_ns[o];
    for (size_t i = 0; i < group.in.size(); ++i) {
      const Live& was = inputs_[i];
      const int64_t move = MoveCost(was, option.in[i]);
      if (move >= kImpossible) return;
      ns += move;
      proposal.key ^= KeyOf(was);
      if (IsDead(was.value, at, pending_)) continue;
      Live is = was;
      is.slots.Insert(option.in[i]);
      proposal.key ^= KeyOf(is);
    }
    for (size_t i = 0; i < group.out.size(); ++i) {
      const ValueSlots& value = space_.value(group.out[i]);
      const Live made{group.out[i], SlotSet(option.out[i])};
      if (value.is_output) {
        const int64_t move = MoveCost(made, value.external);
        if (move >= kImpossible) return;
        ns += move;
      }
      if (!IsDead(made.value, at, pending_)) proposal.key ^= KeyOf(Made(group, option, i));
    }
    proposal.option = o;
    proposal.ns += ns;
    proposal.expected += ns;
    Offer(proposal);
  }

  Live Made(const Group& group, const Option& option, size_t i) const {
    const ValueSlots& value = space_.value(group.out[i]);
    Live made{group.out[i], SlotSet(option.out[i])};
    if (value.is_output) made.slots.Insert(value.external);
    return made;
  }

  int64_t MoveCost(const Live& live, uint32_t slot) const {
    if (live.slots.Contains(slot)) return 0;
    const Routes& routes = space_.routes(live.value);
    int64_t best = kImpossible;
    live.slots.ForEach([&](uint32_t have) {
      best = std::min(best, problem_.ignore_copies ? routes.form_cost(have, slot) : routes.cost(have, slot));
    });
    return best;
  }

  bool IsDead(ValueId value, uint32_t at, const std::vector<NodeId>& pending) const {
    if (last_use_[value.index()] > at) return false;
    const std::vector<NodeId>& consumers = space_.value(value).consumers;
    return std::none_of(pending.begin(), pending.end(),
                        [&](NodeId node) { return std::binary_search(consumers.begin(), consumers.end(), node); });
  }

  // Of proposals to one state (equal keys of 64 bits) only the fastest counts.
  void Offer(const Proposal& proposal) {
    const auto [found, fresh] = index_.try_emplace(proposal.key, proposals_.size());
    if (fresh) {
      proposals_.push_back(proposal);
    } else if (proposal.ns < proposals_[found->second].ns) {
      proposals_[found->second] = proposal;
    }
  }

  void KeepBest(size_t size) {
    // Copying states costs as much as their live values; graphs with thousands of them get few states.
    late_ = late_ || space_.deadline().IsOver();
    const size_t beam = late_ ? 1 : std::clamp<size_t>(4000 / (size + 1), 1, problem_.beam);
    if (proposals_.size() <= beam) return;
    std::stable_sort(proposals_.begin(), proposals_.end(),
                     [](const Proposal& a, const Proposal& b) { return a.expected < b.expected; });
    // A beam of states with pending nodes alone could end without a cover: the best with the fewest stays.
    const auto settled =
        std::min_element(proposals_.begin(), proposals_.end(), [](const Proposal& a, const Proposal& b) {
          return std::pair(a.pending, a.expected) < std::pair(b.pending, b.expected);
        });
    if (settled >= proposals_.begin() + static_cast<std::ptrdiff_t>(beam)) std::swap(proposals_[beam - 1], *settled);
    proposals_.resize(beam);
  }

  std::vector<State> Follow(std::vector<State> states, uint32_t at) {
    std::vector<uint32_t> followers(states.size(), 0);
    for (const Proposal& proposal : proposals_) ++followers[proposal.parent];
    std::vector<State> next;
    next.reserve(proposals_.size());
    for (const Proposal& proposal : proposals_) {
      State& parent = states[proposal.parent];
      const bool last = --followers[proposal.parent] == 0;
      next.push_back(last ? std::move(parent) : parent);
      Apply(proposal, at, next.back());
    }
    return next;
  }

  void Apply(const Proposal& proposal, uint32_t at, State& state) {
    state.ns = proposal.ns;
    state.expected = proposal.expected;
    state.key = proposal.key;
    if (proposal.option == kNothing) {
      const NodeId node = space_.order()[at];
      state.pending.insert(std::upper_bound(state.pending.begin(), state.pending.end(), node), node);
      return;
    }
    records_.push_back({proposal.option, state.back});
    state.back = static_cast<uint32_t>(records_.size() - 1);
    const Option& option = space_.option(proposal.option);
    const Group& group = space_.group(option.group);
    std::erase_if(state.pending,
                  [&](NodeId node) { return std::binary_search(group.nodes.begin(), group.nodes.end(), node); });
    for (size_t i = 0; i < group.in.size(); ++i) {
      const auto found = state.live.begin() + (Find(state.live, group.in[i]) - state.live.cbegin());
      if (IsDead(group.in[i], at, state.pending)) {
        state.live.erase(found);
      } else {
        found->slots.Insert(option.in[i]);
      }
    }
    for (size_t i = 0; i < group.out.size(); ++i) {
      if (IsDead(group.out[i], at, state.pending)) continue;
      const auto place = std::lower_bound(state.live.begin(), state.live.end(), group.out[i],
                                          [](const Live& l, ValueId v) { return l.value < v; });
      state.live.insert(place, Made(group, option, i));
    }
  }

  static Error OutOfTime() {
    return MakeError(ErrorCode::kInfeasible, "planner.time",
                     "the time limit was over before a single stream was found");
  }

  Error NoCover(NodeId node) const {
    Error error = MakeError(ErrorCode::kInfeasible, "planner.no_cover",
                            "no candidates cover " + NodeLabel(space_.graph(), node) + " under this planner's rules");
    error.node = NodeLabel(space_.graph(), node);
    return error;
  }

  const Space& space_;
  const SerialProblem& problem_;
  bool late_ = false;
  std::vector<UsableGroup> groups_;
  std::vector<std::vector<uint32_t>> ending_at_, containing_;  // by position: indices into groups_
  std::vector<int64_t> prices_;
  std::vector<uint32_t> last_use_;
  std::vector<Live> inputs_;     // of the group at hand, in the state at hand
  std::vector<NodeId> pending_;  // what it leaves pending
  std::vector<Record> records_;
  std::vector<Proposal> proposals_;
  std::unordered_map<uint64_t, size_t> index_;  // by key
};

// On large graphs, where time counts more than what a rare state gains, fewer states.
size_t BeamFor(const Space& space, const SerialRules& rules) {
  return space.graph().nodes().size() > 2000 ? std::min<size_t>(rules.beam, 12) : rules.beam;
}

}  // namespace

Result<Solution> SolveSerial(const Space& space, const SerialRules& rules) {
  SerialProblem problem{CostsOf(space, rules.cost_ns), {}, rules.ignore_copies, BeamFor(space, rules)};
  for (const Option& option : space.options()) problem.allowed.push_back(!rules.allowed || rules.allowed(option));
  if (std::optional<Result<Solution>> known = space.serial_memo().Find(problem)) return std::move(*known);
  Result<Solution> solution = SerialSolver(space, problem).Run();
  // What time cut short does not answer the problem.
  if (!space.deadline().IsOver()) space.serial_memo().Add(std::move(problem), solution);
  return solution;
}

std::vector<int64_t> NodePrices(const Space& space, const std::function<int64_t(const Option&)>& cost_ns) {
  return PricesOf(space, CostsOf(space, cost_ns));
}

}  // namespace pt
