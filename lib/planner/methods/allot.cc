// The trade-off between critical path and area (Radulescu and van Gemund, "A low-cost approach towards mixed task and
// data parallel scheduling", 2001): every group begins with the fewest cores it can have; then, again and again, the
// group on the critical path that saves most for the core time it costs gets more. The authors stop where path and area
// are equal. Which point is best depends on how the rest of the graph fills the machine, and differs from segment to
// segment; so points on the way are scheduled, and whoever asks compares.
#include "lib/planner/methods/allot.h"

#include <algorithm>
#include <cmath>

#include "lib/planner/methods/heft.h"
#include "lib/planner/schedule/cover_graph.h"

namespace pt {
namespace {

// Prices of all cores' time, in time of the whole.
constexpr double kPrices[] = {0.5, 1, 2, 4, 8, 16};

// The critical path falls by this factor from one schedule to the next.
constexpr double kFall = 0.9;

// A class that a group could run on: each has more cores than the one before, and is faster.
struct Level {
  UnitClassId unit_class;
  int64_t cores = 0, ns = 0;
  int64_t area() const { return cores * ns; }
};

class Allotment {
 public:
  Allotment(const Space& space, const Solution& cover) : space_(space), graph_(space, cover), level_(cover.size(), 0) {
    for (uint32_t group : graph_.groups) levels_.push_back(LevelsOf(group));
  }

  bool HasChoice() const {
    return std::any_of(levels_.begin(), levels_.end(), [](const auto& levels) { return levels.size() > 1; });
  }

  // The longest path; what is on it can be asked for then.
  int64_t FindPath() {
    head_.assign(graph_.size(), 0);
    tail_.assign(graph_.size(), 0);
    for (size_t c = 0; c < graph_.size(); ++c) {
      for (const auto& [maker, value] : graph_.makers[c]) head_[c] = std::max(head_[c], head_[maker] + Ns(maker));
    }
    path_ns_ = 0;
    for (size_t c = graph_.size(); c-- > 0;) {
      for (const auto& [maker, value] : graph_.makers[c]) tail_[maker] = std::max(tail_[maker], tail_[c] + Ns(c));
      path_ns_ = std::max(path_ns_, head_[c] + Ns(c) + tail_[c]);
    }
    return path_ns_;
  }

  // Gives one group of the path more cores. False when none of them can have more.
  bool Widen() {
    size_t best = graph_.size();
    double best_rate = -1;
    for (size_t c = 0; c < graph_.size(); ++c) {
      if (head_[c] + Ns(c) + tail_[c] < path_ns_ || level_[c] + 1 >= levels_[c].size()) continue;
      const Level &now = levels_[c][level_[c]], &next = levels_[c][level_[c] + 1];
      const auto saved = static_cast<double>(now.ns - next.ns);
      const double rate = saved / static_cast<double>(std::max<int64_t>(1, next.area() - now.area()));
      if (rate > best_rate) best_rate = rate, best = c;
    }
    if (best == graph_.size()) return false;
    ++level_[best];
    return true;
  }

  Solution Schedule(const Solution& cover) const {
    std::vector<UnitClassId> class_of(space_.groups().size());
    for (size_t c = 0; c < graph_.size(); ++c) {
      if (!levels_[c].empty()) class_of[graph_.groups[c]] = levels_[c][level_[c]].unit_class;
    }
    HeftRules rules;
    rules.allowed = [&](const Option& option) {
      const bool on_host = space_.platform().unit_class(option.unit_class).on_host();
      return !on_host || option.unit_class == class_of[option.group];
    };
    return ScheduleByHeft(space_, cover, rules);
  }

 private:
  std::vector<Level> LevelsOf(uint32_t group) const {
    std::vector<Level> all;
    for (uint32_t o : space_.group(group).options) {
      const Option& option = space_.option(o);
      const UnitClass& unit_class = space_.platform().unit_class(option.unit_class);
      if (unit_class.on_host()) all.push_back({option.unit_class, unit_class.cores, option.likely_ns()});
    }
    std::sort(all.begin(), all.end(),
              [](const Level& a, const Level& b) { return a.cores != b.cores ? a.cores < b.cores : a.ns < b.ns; });
    std::vector<Level> levels;
    for (const Level& level : all) {
      if (levels.empty() || level.ns < levels.back().ns) levels.push_back(level);
    }
    return levels;
  }

  // Groups that the host cannot run take what they take elsewhere.
  int64_t Ns(size_t c) const {
    if (!levels_[c].empty()) return levels_[c][level_[c]].ns;
    return space_.option(space_.group(graph_.groups[c]).options.front()).likely_ns();
  }

  const Space& space_;
  CoverGraph graph_;
  std::vector<std::vector<Level>> levels_;  // by position in the cover, as all below
  std::vector<size_t> level_;
  std::vector<int64_t> head_, tail_;  // the longest path to its start, and from its end
  int64_t path_ns_ = 0;
};

}  // namespace

std::vector<Solution> ScheduleByAllotment(const Space& space, const Solution& cover) {
  std::vector<Solution> schedules;
  Allotment allotment(space, cover);
  if (!allotment.HasChoice()) return schedules;
  double wanted = static_cast<double>(kImpossible);
  for (;;) {
    const auto path = static_cast<double>(allotment.FindPath());
    const bool due = path <= wanted;
    if (due) {
      schedules.push_back(allotment.Schedule(cover));
      wanted = path * kFall;
    }
    if (allotment.Widen()) continue;
    if (!due) schedules.push_back(allotment.Schedule(cover));
    return schedules;
  }
}

std::vector<Solution> ScheduleByCorePrice(const Space& space, const Solution& cover) {
  std::vector<Solution> schedules;
  if (!Allotment(space, cover).HasChoice()) return schedules;
  const auto cores = [&](const Option& option) { return space.platform().unit_class(option.unit_class).cores; };
  uint32_t all = 1;
  for (const Option& option : space.options()) all = std::max(all, cores(option));
  for (const double price : kPrices) {
    HeftRules rules;
    rules.price_ns = [&](const Option& option) {
      return std::llround(price * static_cast<double>(option.likely_ns()) * cores(option) / all);
    };
    schedules.push_back(ScheduleByHeft(space, cover, rules));
  }
  return schedules;
}

}  // namespace pt
