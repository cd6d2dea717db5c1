// search: the default planner. Starts from every baseline's solution and from several of its own, combines them
// segment by segment, then improves the best by local moves on the critical chain. Effort is counted, in evaluations of
// the timeline or in choices scheduled, so the same seed and effort give the same plan on every machine.
#include <algorithm>
#include <chrono>
#include <optional>

#include "lib/planner/assemble.h"
#include "lib/planner/exact.h"
#include "lib/planner/frontiers.h"
#include "lib/planner/heft.h"
#include "lib/planner/moves.h"
#include "lib/planner/segments.h"
#include "lib/planner/serial_dp.h"
#include "lib/planner/solve.h"

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

constexpr uint32_t kCombinedNodes = 6;  // of the stretches of starts that are combined

// What stretches of the graph may take that are solved one by one, in evaluations of their timelines.
constexpr uint64_t kUsualOfSegments = 100'000;
constexpr double kPartOfSegments = 0.2;  // of the effort: about the time that they take
constexpr double kBeforeSegments = 0.3;  // of the effort, spent on the best start before
constexpr double kNear = 1.05;           // times the best makespan: what comes of stretches is worth to be improved

Result<Solved> SolveWhole(const Space& space, std::string_view);

class Search {
 public:
  Search(const Space& space, bool with_segments)
      : space_(space),
        with_segments_(with_segments),
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
      if (with_segments_) {
        Improve(kBeforeSegments);
        StartBySegments();
      }
      Improve(1);
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
    SortStarts();
    return {};
  }

  // Small graphs may be solved outright; where half of the effort does not prove it, what was found is a start.
  void StartExactly() {
    if (IsOver() || !ExactFault(space_).empty()) return;
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

  // Stretches of the graph solved one by one, for the places and forms of values that starts and the best so far have;
  // what they come to together is improved by itself, for what is better in the end may begin worse.
  void StartBySegments() {
    if (IsOver() || space_.simulator().has_contention()) return;
    starts_.insert(starts_.begin(), best_);
    const uint64_t effort = space_.problem().effort;
    SegmentLimits limits;
    limits.evaluations = effort != 0 ? (effort - evaluations_) / 4
                         : IsLarge() ? kUsualOfSegments / 10
                                     : kUsualOfSegments;
    const int64_t limit_ns = space_.problem().time_limit_ns;
    if (limit_ns > 0) limits.until = start_ + std::chrono::nanoseconds(limit_ns);
    std::vector<const Solution*> starts;
    for (const Scored& start : starts_) starts.push_back(&start.solution);
    SegmentResult found = SolveBySegments(space_, starts, limits, SolveWhole);
    evaluations_ += found.evaluations;
    of_segments_ += found.evaluations;
    if (found.solution.empty()) return;
    const size_t known = starts_.size();
    AddStart(std::move(found.solution));
    if (starts_.size() == known) return;
    const Scored& chain = starts_.back();
    const bool is_near =
        static_cast<double>(chain.score.makespan_ns) <= kNear * static_cast<double>(best_.score.makespan_ns);
    if (is_near) now_.Reset(chain.solution);
    SortStarts();
    critical_.clear();
    CombineSegments();
    if (is_near) Improve(Spent() + (1 - Spent()) / 2);
    KeepBest();
    if (!(now_.solution() == best_.solution)) now_.Reset(best_.solution);
    critical_.clear();
  }

  void SortStarts() {
    std::stable_sort(starts_.begin(), starts_.end(),
                     [](const Scored& a, const Scored& b) { return a.score < b.score; });
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
    return static_cast<double>(now_.spent()) / UsualSpending(space_.graph().nodes().size()) +
           kPartOfSegments * static_cast<double>(of_segments_) / static_cast<double>(kUsualOfSegments);
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

  // Between frontiers every start may be the best one; a stretch of each is tried in the best so far.
  void CombineSegments() {
    const std::vector<std::span<const NodeId>> stretches = Stretches(space_, FindFrontiers(space_, kCombinedNodes));
    if (stretches.size() < 2) return;
    // At most half of the effort, so that large graphs still see local moves.
    const double until = 0.5 * (1 + Spent());
    const size_t candidates = std::min<size_t>(starts_.size(), 8);
    std::vector<uint32_t> position(space_.graph().nodes().size());
    for (size_t i = 0; i < candidates; ++i) {
      const Solution& other = starts_[i].solution;
      if (other == now_.solution()) continue;
      for (uint32_t c = 0; c < other.size(); ++c) {
        for (NodeId node : space_.group_of(other[c].option).nodes) position[node.index()] = c;
      }
      for (const std::span<const NodeId> stretch : stretches) {
        if (Spent() >= until || IsOver()) return;
        Try(moves_.Graft(other, position, stretch));
      }
    }
  }

  // Downhill; where that ends, from near the best. Until so much of the effort is spent.
  void Improve(double until) {
    // So many moves without a gain end the way down.
    const uint64_t patience = 2000 + 5 * now_.solution().size();
    uint64_t since = 0;
    while (Spent() < until && !IsOver()) {
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

  // Some changes of the best whatever they cost.
  void Disturb() {
    critical_.clear();
    if (!(now_.solution() == best_.solution)) now_.Reset(best_.solution);
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
  const bool with_segments_;
  Scheduler scheduler_;  // of the starts
  WindowScheduler now_;  // what is being changed
  Random random_;
  Moves moves_;
  std::vector<Scored> starts_;
  Scored best_;
  std::vector<uint32_t> critical_;  // choices of now_, empty = not known
  uint64_t evaluations_ = 0;
  uint64_t of_segments_ = 0;  // of those
  bool proven_ = false;       // no solution is faster than the best start
  std::chrono::steady_clock::time_point start_;
  mutable bool out_of_time_ = false;
};

// Of a stretch: without taking it apart again.
Result<Solved> SolveWhole(const Space& space, std::string_view) { return Search(space, false).Run(); }

}  // namespace

Result<Solved> SolveSearch(const Space& space, std::string_view) {
  if (space.graph().nodes().empty()) return Solved{};
  return Search(space, true).Run();
}

}  // namespace pt
