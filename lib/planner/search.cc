// search: the default planner. Starts from every baseline's solution and from several of its own, combines them
// segment by segment, then improves the best by local moves on the critical chain. Effort is counted, in evaluations of
// the timeline or in choices scheduled, so the same seed and effort give the same plan on every machine.
#include "lib/planner/search.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "lib/planner/allot.h"
#include "lib/planner/assemble.h"
#include "lib/planner/exact.h"
#include "lib/planner/heft.h"
#include "lib/planner/moves.h"
#include "lib/planner/serial_dp.h"

namespace pt {
namespace {

struct Scored {
  Solution solution;
  Score score;
};

// About a second on graphs of some hundred nodes, less on large ones: in choices scheduled (WindowScheduler::spent).
double UsualSpending(size_t nodes) {
  const double size = static_cast<double>(nodes), large = std::max(1.0, size / 2000);
  return std::max(8e6 / (large * large), 250 * size);
}

// What the exact search may take on small graphs, in partial schedules, and how many of them take as long as an
// evaluation and what surrounds it.
constexpr uint64_t kUsualParts = 450'000;
constexpr uint64_t kPartsOfEvaluation = 10;

class Search {
 public:
  Search(const Space& space, const SearchRules& rules)
      : space_(space),
        rules_(rules),
        scheduler_(space),
        now_(space),
        random_(space.problem().seed),
        moves_(space, now_, random_) {
    start_ = std::chrono::steady_clock::now();
  }

  Result<Solved> Run() {
    PT_CHECK_OK(CollectStarts());
    StartExactly();
    best_ = starts_.front();
    if (!proven_) {
      now_.Reset(best_.solution);
      CombineSegments();
      Improve();
    }
    starts_.insert(starts_.begin(), best_);
    return FirstThatFits();
  }

 private:
  Score Evaluate(const Solution& solution) {
    ++evaluations_;
    Score score;
    score.makespan_ns = scheduler_.Run(solution);
    if (score.makespan_ns < kImpossible) score.work_ns = scheduler_.work_ns();
    return score;
  }

  void AddStart(Solution solution) {
    const bool known =
        std::any_of(starts_.begin(), starts_.end(), [&](const Scored& start) { return start.solution == solution; });
    if (known) return;
    const Score score = Evaluate(solution);
    if (score.makespan_ns < kImpossible) starts_.push_back({std::move(solution), score});
  }

  Status CollectStarts() {
    Error last;
    const auto add = [&](Result<Solved> solved) {
      if (solved.ok()) {
        AddStart(std::move(solved->order));
      } else {
        last = solved.error();
      }
    };
    for (const Solver& solver : Solvers()) {
      if (IsLarge() && !starts_.empty() && IsLate()) break;
      if (solver.baseline == Solver::Baseline::kNo || (IsLarge() && !solver.scales)) continue;
      if (solver.baseline == Solver::Baseline::kYes) {
        add(solver.solve(space_, ""));
        continue;
      }
      for (const Device& device : space_.platform().devices) add(solver.solve(space_, device.name));
    }
    if (!IsLarge() || starts_.empty() || !IsLate()) AddOwnStarts();
    if (starts_.empty()) return last;
    std::stable_sort(starts_.begin(), starts_.end(),
                     [](const Scored& a, const Scored& b) { return a.score < b.score; });
    return {};
  }

  // Small graphs may be solved outright; where half of the effort does not prove it, what was found is a start.
  void StartExactly() {
    if (!rules_.exactly || IsOver() || !ExactFault(space_).empty()) return;
    const uint64_t effort = space_.problem().effort;
    ExactLimits limits;
    limits.evaluations = effort != 0 ? (effort - evaluations_) / 2 * kPartsOfEvaluation : kUsualParts;
    const int64_t limit_ns = space_.problem().time_limit_ns;
    if (limit_ns > 0) limits.until = start_ + std::chrono::nanoseconds(limit_ns);
    // Under memory caps the best start may be one that does not fit, and none may be pruned by it.
    const bool capped = !space_.problem().constraints.memory_caps.empty();
    ExactResult exact = FindExact(space_, capped ? Solution() : starts_.front().solution, limits);
    evaluations_ += exact.evaluations / kPartsOfEvaluation;
    if (exact.solution.empty()) return;
    const Score score = Evaluate(exact.solution);
    const auto place = std::find_if(starts_.begin(), starts_.end(), [&](const Scored& s) { return score < s.score; });
    starts_.insert(place, {std::move(exact.solution), score});
    proven_ = exact.proven;
  }

  // Graphs on which only those planners are starts that follow from few single streams.
  bool IsLarge() const { return space_.graph().nodes().size() > 2000; }

  uint32_t Width(const Option& option) const { return space_.platform().unit_class(option.unit_class).cores; }

  void AddOwnStarts() {
    // Devices mixed in one stream, then spread over all units in its cover.
    const Result<Solution> mixed = SolveSerial(space_, {});
    if (mixed.ok()) AddStart(*mixed);
    // Narrow units side by side: the cover that takes the least core time, spread over single cores.
    if (!HasNarrowAlternative()) return;
    SerialRules narrow;
    narrow.allowed = [&](const Option& option) { return Width(option) <= 1 || OnlyWide(option); };
    const Result<Solution> cover = SolveSerial(space_, narrow);
    if (!cover.ok()) return;
    HeftRules rules;
    rules.allowed = narrow.allowed;
    AddStart(ScheduleByHeft(space_, *cover, rules));
    AddStart(ScheduleByHeft(space_, *cover, {}));
    if (IsLarge()) return;
    // Or each step on as many cores as it is worth.
    for (Solution& allotted : ScheduleByAllotment(space_, *cover)) AddStart(std::move(allotted));
    for (Solution& priced : ScheduleByCorePrice(space_, *cover)) AddStart(std::move(priced));
    // Wide steps count as much as the cores they keep busy.
    SerialRules area;
    area.cost_ns = [&](const Option& option) { return option.likely_ns() * std::max(1u, Width(option)); };
    const Result<Solution> thrifty = SolveSerial(space_, area);
    if (thrifty.ok()) AddStart(ScheduleByHeft(space_, *thrifty, {}));
  }

  bool HasNarrowAlternative() const {
    const bool wide =
        std::any_of(space_.options().begin(), space_.options().end(), [&](const Option& o) { return Width(o) > 1; });
    const bool narrow =
        std::any_of(space_.options().begin(), space_.options().end(), [&](const Option& o) { return Width(o) == 1; });
    return wide && narrow;
  }

  bool OnlyWide(const Option& option) const {
    const std::vector<uint32_t>& options = space_.group(option.group).options;
    return std::all_of(options.begin(), options.end(), [&](uint32_t o) { return Width(space_.option(o)) > 1; });
  }

  // The part of the effort that is spent.
  double Spent() const {
    const uint64_t effort = space_.problem().effort;
    if (effort != 0) return static_cast<double>(evaluations_) / static_cast<double>(effort);
    return static_cast<double>(now_.spent()) / UsualSpending(space_.graph().nodes().size());
  }

  bool IsOver() const { return Spent() >= 1 || IsLate(); }

  bool IsLate() const {
    const int64_t limit_ns = space_.problem().time_limit_ns;
    if (limit_ns <= 0) return false;
    const auto spent = std::chrono::steady_clock::now() - start_;
    if (std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count() < limit_ns) return false;
    out_of_time_ = true;
    return true;
  }

  // True when the change is better; it stays unless it is worse.
  bool Try(std::optional<Window> change) {
    ++evaluations_;  // moves that come to nothing count too, so that the search ends
    if (!change) return false;
    const Score before = now_.score();
    const Score score = now_.Try(std::move(*change));
    if (before < score) return false;
    now_.Commit();
    critical_.clear();
    return score < before;
  }

  // Between series cuts every start may be the best one; a segment of each is tried in the best so far.
  void CombineSegments() {
    const std::vector<std::pair<uint32_t, uint32_t>> segments = Segments();
    if (segments.size() < 2) return;
    // At most half of the effort, so that large graphs still see local moves.
    const double until = 0.5 * (1 + Spent());
    const size_t candidates = std::min<size_t>(starts_.size(), 16);
    std::vector<uint32_t> position(space_.graph().nodes().size());
    for (size_t i = 1; i < candidates; ++i) {
      const Solution& other = starts_[i].solution;
      for (uint32_t c = 0; c < other.size(); ++c) {
        for (NodeId node : space_.group_of(other[c].option).nodes) position[node.index()] = c;
      }
      for (const auto& [from, to] : segments) {
        if (Spent() >= until || IsOver()) return;
        Try(moves_.Graft(other, position, space_.order().subspan(from, to + 1 - from)));
      }
    }
  }

  // Runs of positions between values that everything passes through; short ones joined.
  std::vector<std::pair<uint32_t, uint32_t>> Segments() const {
    const auto count = static_cast<uint32_t>(space_.order().size());
    std::vector<int> crossing(count + 1, 0);
    for (size_t v = 0; v < space_.graph().values().size(); ++v) {
      const ValueSlots& value = space_.value(ValueId(v));
      if (!value.producer.valid() || value.consumers.empty()) continue;
      const uint32_t first = space_.position(value.producer);
      uint32_t last = first;
      for (NodeId reader : value.consumers) last = std::max(last, space_.position(reader));
      if (last > first + 1) ++crossing[first + 1], --crossing[last];
    }
    std::vector<std::pair<uint32_t, uint32_t>> segments;
    uint32_t from = 0;
    int open = 0;
    for (uint32_t i = 0; i < count; ++i) {
      open += crossing[i];
      if (open != 0 && i + 1 < count) continue;
      if (i + 1 < count && i + 1 - from < 3) continue;
      segments.emplace_back(from, i);
      from = i + 1;
    }
    return segments;
  }

  // Downhill from the best; where that ends, from near the best.
  void Improve() {
    // So many moves without a gain end the way down.
    const uint64_t size = now_.solution().size(), patience = std::min<uint64_t>(2000, 10 * size) + 5 * size;
    uint64_t since = 0;
    while (!IsOver()) {
      if (critical_.empty()) critical_ = now_.CriticalChoices();
      if (critical_.empty()) break;
      const bool better = Try(moves_.Draw(critical_[random_.Below(critical_.size())]));
      since = better ? 0 : since + 1;
      if (since < patience) continue;
      since = 0;
      KeepBest();
      Disturb();
    }
    KeepBest();
  }

  void KeepBest() {
    if (now_.score() < best_.score) best_ = {now_.solution(), now_.score()};
  }

  // Some changes of the best, or of another start now and then, whatever they cost.
  void Disturb() {
    critical_.clear();
    const Solution& base = random_.Below(8) > 0 ? best_.solution : starts_[random_.Below(starts_.size())].solution;
    if (!(now_.solution() == base)) now_.Reset(base);
    const size_t changes = 2 + random_.Below(4);
    for (size_t i = 0; i < changes; ++i) {
      ++evaluations_;
      const std::optional<Window> change = moves_.Draw(static_cast<uint32_t>(random_.Below(now_.solution().size())));
      if (!change) continue;
      Solution before = now_.solution();
      Solution disturbed = before;
      const auto from = disturbed.erase(disturbed.begin() + change->from, disturbed.begin() + change->to);
      disturbed.insert(from, change->choices.begin(), change->choices.end());
      if (!now_.Reset(std::move(disturbed))) now_.Reset(std::move(before));
    }
  }

  // The best plan, or under memory caps the best that keeps them.
  Result<Solved> FirstThatFits() {
    const auto solved = [&](Scored& scored) {
      return Solved{std::move(scored.solution), out_of_time_ ? "time" : proven_ ? "done" : "effort"};
    };
    if (space_.problem().constraints.memory_caps.empty()) return solved(starts_.front());
    std::optional<Error> first_error;
    for (Scored& scored : starts_) {
      const Result<Plan> plan = Assemble(space_, scored.solution, "search");
      if (plan.ok()) return solved(scored);
      if (!first_error) first_error = plan.error();
    }
    return *first_error;
  }

  const Space& space_;
  const SearchRules rules_;
  Scheduler scheduler_;  // of the starts
  WindowScheduler now_;  // what is being changed
  Random random_;
  Moves moves_;
  std::vector<Scored> starts_;
  Scored best_;
  std::vector<uint32_t> critical_;  // choices of now_, empty = not known
  uint64_t evaluations_ = 0;
  bool proven_ = false;  // no solution is faster than the best start
  std::chrono::steady_clock::time_point start_;
  mutable bool out_of_time_ = false;
};

}  // namespace

Result<Solved> SearchBy(const Space& space, const SearchRules& rules) {
  if (space.graph().nodes().empty()) return Solved{};
  return Search(space, rules).Run();
}

Result<Solved> SolveSearch(const Space& space, std::string_view) { return SearchBy(space, {}); }

}  // namespace pt
