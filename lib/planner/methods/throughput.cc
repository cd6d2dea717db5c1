// throughput: several requests at once (RepeatRequests, pt-plan --rewrite requests=N), each a part of the graph that
// reads nothing of the others. Either whole requests go to units, the longest first to the one that is done soonest; or
// each request is a pipeline: consecutive groups are stages, one a unit, so that the longest stage is as short as can
// be, and requests follow each other through them. The faster of the two by the timeline.
#include <algorithm>
#include <numeric>

#include "lib/planner/disjoint_sets.h"
#include "lib/planner/methods/stages.h"

namespace pt {
namespace {

class Requests {
 public:
  Requests(const Space& space, const Streams& streams)
      : space_(space), graph_(space, streams.cover()), places_(space, streams) {
    FindParts();
  }

  size_t size() const { return parts_.size(); }
  Solution Whole() const;
  Solution Pipelined() const;

 private:
  void FindParts();
  std::vector<uint32_t> GroupsOf(const std::vector<uint32_t>& part) const {
    std::vector<uint32_t> groups;
    for (const uint32_t c : part) groups.push_back(graph_.groups[c]);
    return groups;
  }
  Choice ChoiceAt(uint32_t position, uint32_t place) const {
    const uint32_t option = places_.OptionAt(graph_.groups[position], place);
    return option == kNothing ? places_.streams.cover()[position] : Choice{option, places_.places[place].unit};
  }
  Solution Sorted(Solution solution, const std::vector<int64_t>& keys) const {
    SortLegally(space_, solution, keys);
    return solution;
  }

  const Space& space_;
  const CoverGraph graph_;
  const StagePlaces places_;
  std::vector<std::vector<uint32_t>> parts_;  // positions in the cover, in its order
};

// Positions that hang together by values that are computed.
void Requests::FindParts() {
  DisjointSets sets(graph_.size());
  for (uint32_t c = 0; c < graph_.size(); ++c) {
    for (const auto& [maker, value] : graph_.makers[c]) sets.Join(maker, c);
  }
  std::vector<uint32_t> part_of(graph_.size(), kNothing);  // by the first of each
  for (uint32_t c = 0; c < graph_.size(); ++c) {
    uint32_t& part = part_of[sets.Find(c)];
    if (part == kNothing) {
      part = static_cast<uint32_t>(parts_.size());
      parts_.emplace_back();
    }
    parts_[part].push_back(c);
  }
}

Solution Requests::Whole() const {
  std::vector<std::vector<int64_t>> times;
  for (const auto& part : parts_) times.push_back(places_.TimesOf(GroupsOf(part)));
  const auto least = [&](uint32_t part) { return *std::min_element(times[part].begin(), times[part].end()); };
  std::vector<uint32_t> order(parts_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return least(a) > least(b); });
  std::vector<int64_t> busy(places_.places.size(), 0);
  Solution solution = places_.streams.cover();
  std::vector<int64_t> keys(graph_.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    uint32_t best = 0;
    for (uint32_t place = 1; place < busy.size(); ++place) {
      if (AddNs(busy[place], times[order[i]][place]) < AddNs(busy[best], times[order[i]][best])) best = place;
    }
    busy[best] = AddNs(busy[best], times[order[i]][best]);
    for (const uint32_t c : parts_[order[i]]) {
      solution[c] = ChoiceAt(c, best);
      keys[c] = static_cast<int64_t>(i);
    }
  }
  return Sorted(std::move(solution), keys);
}

// Stages run by request plus stage: a unit takes the requests one after another.
Solution Requests::Pipelined() const {
  Solution solution = places_.streams.cover();
  std::vector<int64_t> keys(graph_.size(), 0);
  for (size_t part = 0; part < parts_.size(); ++part) {
    std::vector<std::vector<int64_t>> times;
    for (const uint32_t c : parts_[part]) times.push_back(places_.TimesOf(GroupsOf({c})));
    const std::vector<uint32_t> place = LeastLargestStage(times);
    for (size_t i = 0; i < place.size(); ++i) {
      const uint32_t c = parts_[part][i];
      solution[c] = ChoiceAt(c, place[i]);
      keys[c] = static_cast<int64_t>(part + place[i]);
    }
  }
  return Sorted(std::move(solution), keys);
}

}  // namespace

Result<Solved> SolveThroughput(const Space& space, std::string_view argument) {
  PT_ASSIGN(const Streams streams, Streams::Make(space, argument));
  const Requests requests(space, streams);
  if (requests.size() < 2) {
    return MakeError(ErrorCode::kInfeasible, "planner.one_request", "the graph answers one request at a time",
                     "pt-plan --rewrite requests=2 plans for two");
  }
  Scheduler scheduler(space);
  Solution whole = requests.Whole(), pipelined = requests.Pipelined();
  return Solved{scheduler.Run(pipelined) < scheduler.Run(whole) ? std::move(pipelined) : std::move(whole)};
}

}  // namespace pt
