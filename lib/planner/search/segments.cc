#include "lib/planner/search/segments.h"

#include <algorithm>
#include <map>
#include <set>

#include "lib/planner/search/frontiers.h"
#include "lib/planner/search/segment_problem.h"

namespace pt {
namespace {

constexpr uint32_t kUsualNodes = 24;    // of a stretch
constexpr size_t kMostNodes = 200;      // longer ones are not solved
constexpr size_t kMostStates = 3;       // of a frontier
constexpr uint64_t kLeastEffort = 200;  // of a stretch, for each state before and behind: less finds nothing
constexpr uint64_t kMostEffort = 3000;

// Where the values at a frontier are made, parallel to Frontier::live.
using PlacesOfLive = std::vector<Slot>;

// A stretch solved: of all that are equal.
struct Stretch {
  int64_t ns = kImpossible;
  std::vector<SegmentChoice> choices;
};

class SegmentSolver {
 public:
  SegmentSolver(const Space& space, std::span<const Solution* const> starts, uint64_t evaluations, SolveFunction solve)
      : space_(space),
        starts_(starts),
        limit_(evaluations),
        solve_(solve),
        frontiers_(FindFrontiers(space, kUsualNodes)) {
    stretches_ = Stretches(space, frontiers_);
  }

  SegmentResult Run() {
    if (frontiers_.empty() || starts_.empty()) return {};
    for (size_t states = kMostStates; states > 0; --states) {
      FindStates(states);
      if (!FindProblems()) return {};
      if (known_.size() * kLeastEffort <= limit_) break;
      if (states == 1) return {};
    }
    const uint64_t effort = std::min(kMostEffort, limit_ / std::max<size_t>(1, known_.size()));
    const bool in_time = SolveAll(effort);
    return {in_time ? Shortest() : Solution(), evaluations_};
  }

 private:
  // A way through a stretch, from a state before it to one behind it.
  struct Way {
    uint32_t from = 0, to = 0;
    GraphSegment segment;
    Stretch* solved = nullptr;  // null: as in the first start
  };

  void FindStates(size_t most) {
    states_.assign(frontiers_.size() + 2, {});
    states_.front() = states_.back() = {PlacesOfLive()};
    std::vector<Slot> made(space_.graph().values().size(), 0);
    for (const Solution* start : starts_) {
      for (const Choice& choice : *start) {
        const Option& option = space_.option(choice.option);
        const std::vector<ValueId>& out = space_.group(option.group).out;
        for (size_t i = 0; i < out.size(); ++i) made[out[i].index()] = option.out[i];
      }
      for (size_t f = 0; f < frontiers_.size(); ++f) {
        PlacesOfLive places;
        for (ValueId v : frontiers_[f].live) places.push_back(made[v.index()]);
        std::vector<PlacesOfLive>& states = states_[f + 1];
        if (states.size() < most && std::ranges::find(states, places) == states.end()) states.push_back(places);
      }
    }
  }

  std::span<const ValueId> LiveBefore(size_t stretch) const {
    return stretch == 0 ? std::span<const ValueId>() : frontiers_[stretch - 1].live;
  }
  std::span<const ValueId> LiveBehind(size_t stretch) const {
    return stretch == frontiers_.size() ? std::span<const ValueId>() : frontiers_[stretch].live;
  }

  // False when time is over.
  bool FindProblems() {
    known_.clear();
    ways_.assign(stretches_.size(), {});
    for (size_t s = 0; s < stretches_.size(); ++s) {
      if (space_.deadline().IsOver()) return false;
      for (uint32_t from = 0; from < states_[s].size(); ++from) {
        for (uint32_t to = 0; to < states_[s + 1].size(); ++to) AddWay(s, from, to);
      }
    }
    return true;
  }

  void AddWay(size_t s, uint32_t from, uint32_t to) {
    const std::span<const ValueId> before = LiveBefore(s), behind = LiveBehind(s);
    std::vector<Crossing> in, out;
    for (size_t i = 0; i < before.size(); ++i) in.push_back({before[i], states_[s][from][i]});
    for (size_t i = 0; i < behind.size(); ++i) out.push_back({behind[i], states_[s + 1][to][i]});
    // What passes by stays where it was made.
    for (const Crossing& crossing : in) {
      const auto same = std::ranges::find(out, crossing.value, &Crossing::value);
      if (same != out.end() && same->slot != crossing.slot) return;
    }
    const bool as_it_is = stretches_[s].size() > kMostNodes;
    if (as_it_is && (from != 0 || to != 0)) return;
    const auto is_read = [&](ValueId v) {
      const std::vector<NodeId>& readers = space_.value(v).consumers;
      return std::ranges::any_of(readers, [&](NodeId n) { return IsIn(s, n); });
    };
    std::erase_if(in, [&](const Crossing& c) { return !is_read(c.value); });
    std::erase_if(out,
                  [&](const Crossing& c) { return !IsIn(s, space_.value(c.value).producer) && !is_read(c.value); });
    Way& way = ways_[s].emplace_back();
    way.from = from, way.to = to;
    if (as_it_is) return;
    way.segment = MakeSegment(space_, stretches_[s], std::move(in), std::move(out));
    way.solved = &known_[KeyOf(space_, way.segment)];
  }

  bool IsIn(size_t s, NodeId node) const {
    const uint32_t first = space_.position(stretches_[s].front());
    return space_.position(node) >= first && space_.position(node) < first + stretches_[s].size();
  }

  bool SolveAll(uint64_t effort) {
    for (std::vector<Way>& ways : ways_) {
      for (Way& way : ways) {
        if (way.solved == nullptr || !tried_.insert(way.solved).second) continue;
        if (space_.deadline().IsOver()) return false;
        SolveOne(way.segment, effort, *way.solved);
      }
    }
    return true;
  }

  void SolveOne(const GraphSegment& segment, uint64_t effort, Stretch& solved) {
    SegmentProblem inner(space_, segment);
    inner.problem().effort = effort;
    inner.problem().time_limit_ns = space_.deadline().left_ns();
    inner.problem().now_ns = space_.problem().now_ns;
    inner.problem().watch = space_.problem().watch;
    evaluations_ += effort;
    const Result<Space> space = Space::Make(inner.problem());
    if (!space.ok()) return;
    const Result<Solved> found = solve_(*space, "");
    if (!found.ok()) return;
    solved.ns = Scheduler(*space).Run(found->order);
    solved.choices = inner.ChoicesOf(*space, found->order);
  }

  // Stretches one after another: what overlaps at their borders is left to those who improve the whole.
  Solution Shortest() const {
    std::vector<std::vector<std::pair<int64_t, const Way*>>> best(states_.size());  // by border and state
    for (size_t b = 0; b < states_.size(); ++b) best[b].assign(states_[b].size(), {b == 0 ? 0 : kImpossible, nullptr});
    for (size_t s = 0; s < ways_.size(); ++s) {
      for (const Way& way : ways_[s]) {
        const int64_t ns = AddNs(best[s][way.from].first, way.solved == nullptr ? 0 : way.solved->ns);
        if (ns < best[s + 1][way.to].first) best[s + 1][way.to] = {ns, &way};
      }
    }
    if (best.back().front().first >= kImpossible) return {};
    std::vector<const Way*> chain(ways_.size());
    uint32_t state = 0;
    for (size_t s = ways_.size(); s-- > 0; state = chain[s]->from) chain[s] = best[s + 1][state].second;
    Solution solution;
    for (size_t s = 0; s < chain.size(); ++s) Append(s, *chain[s], solution);
    return solution;
  }

  void Append(size_t s, const Way& way, Solution& solution) const {
    if (way.solved == nullptr) {
      for (const Choice& choice : *starts_.front()) {
        if (IsIn(s, space_.group_of(choice.option).nodes.front())) solution.push_back(choice);
      }
      return;
    }
    for (const SegmentChoice& choice : way.solved->choices) {
      const Group& group = space_.group(way.segment.groups[choice.group]);
      solution.push_back({group.options[choice.option], choice.unit});
    }
  }

  const Space& space_;
  const std::span<const Solution* const> starts_;
  const uint64_t limit_;  // of evaluations
  const SolveFunction solve_;
  const std::vector<Frontier> frontiers_;
  std::vector<std::span<const NodeId>> stretches_;
  std::vector<std::vector<PlacesOfLive>> states_;   // by border: before the first stretch, frontiers, behind the last
  std::vector<std::vector<Way>> ways_;              // by stretch
  std::map<std::vector<uint64_t>, Stretch> known_;  // by key
  std::set<const Stretch*> tried_;
  uint64_t evaluations_ = 0;
};

}  // namespace

SegmentResult SolveBySegments(const Space& space, std::span<const Solution* const> starts, uint64_t evaluations,
                              SolveFunction solve) {
  return SegmentSolver(space, starts, evaluations, solve).Run();
}

}  // namespace pt
