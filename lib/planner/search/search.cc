// search: the default planner. Starts from every baseline's solution and from several of its own, combines them
// segment by segment, then improves the best by local moves on the critical chain. Effort is counted, in evaluations of
// the timeline or in choices scheduled, so the same seed and effort give the same plan on every machine.
#include "lib/planner/search/search.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "lib/planner/methods/allot.h"
#include "lib/planner/methods/heft.h"
#include "lib/planner/proofs/exact.h"
#include "lib/planner/schedule/assemble.h"
#include "lib/planner/schedule/memory_judge.h"
#include "lib/planner/schedule/mend_devices.h"
#include "lib/planner/search/frontiers.h"
#include "lib/planner/search/moves.h"
#include "lib/planner/search/segments.h"
#include "lib/planner/search/serial_dp.h"

namespace pt {
namespace {

struct Scored {
  Solution solution;
  Overrun over;  // nothing without limits of whole plans
  Score score;

  bool operator<(const Scored& other) const { return std::tie(over, score) < std::tie(other.over, other.score); }
};

// About a second on graphs of some hundred nodes, less on large ones: in choices scheduled (WindowScheduler::spent).
double UsualSpending(size_t nodes) {
  const double size = static_cast<double>(nodes), large = std::max(1.0, size / 2000);
  return std::max(10e6 / (large * large), 25 * size);
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
  Search(const Space& space, const SearchRules& rules)
      : space_(space),
        rules_(rules),
        scheduler_(space),
        judge_(space),
        now_(space),
        random_(space.problem().seed),
        moves_(space, now_, random_) {}

  Result<Solved> Run() {
    PT_CHECK_OK(CollectStarts());
    best_ = starts_.front();
    StartExactly();
    best_ = starts_.front();
    if (!IsOver()) {
      now_.Reset(best_.solution);
      if (!best_.over.fits()) Repair();
      if (best_.over.fits()) {
        CombineSegments();
        if (rules_.by_stretches) {
          Improve(kBeforeSegments);
          StartBySegments();
        }
        Improve(1);
      }
    }
    // Whoever made the plan says what it lacks.
    if (!best_.over.fits()) {
      if (const Result<Plan> plan = Assemble(space_, best_.solution, "search"); !plan.ok()) return plan.error();
    }
    return Solved{std::move(best_.solution), out_of_time_ ? "time" : IsProven() ? "done" : "effort"};
  }

 private:
  Scored Evaluate(Solution solution) {
    ++evaluations_;
    Scored scored;
    scored.score.makespan_ns = scheduler_.Run(solution);
    if (scored.score.makespan_ns < kImpossible) {
      scored.score.work_ns = scheduler_.work_ns();
      scored.over = OverrunOf(solution);
    }
    scored.solution = std::move(solution);
    return scored;
  }

  Overrun OverrunOf(const Solution& solution) {
    if (!judge_.has_limits()) return {};
    judged_ += judge_.is_capped() ? 500 + 32 * solution.size() : solution.size() / 16;
    return judge_.Judge(solution);
  }

  void AddStart(Solution solution) {
    if (solution.empty()) return;  // given up
    const bool known =
        std::any_of(starts_.begin(), starts_.end(), [&](const Scored& start) { return start.solution == solution; });
    if (known) return;
    if (judge_.rules().BreachOf(solution).any()) {
      Result<Solution> mended = MendDevices(space_, judge_.rules(), solution);
      if (mended.ok()) return AddStart(*std::move(mended));
    }
    Scored scored = Evaluate(std::move(solution));
    if (scored.score.makespan_ns >= kImpossible) return;
    Tell(scored.over, scored.score);
    starts_.push_back(std::move(scored));
    space_.deadline().AllowGivingUp();
  }

  // Any plan, at once, for when time is over before a start is found: the best single stream, one state aside.
  void AddFallback() {
    SerialRules rules;
    rules.beam = 1;
    Result<Solution> stream = SolveSerial(space_, rules);
    if (stream.ok()) fallback_ = std::move(*stream);
    if (fallback_.empty() || scheduler_.Run(fallback_) >= kImpossible) return;
    space_.deadline().AllowGivingUp();
    KeepTimeForWriting();
  }

  // As much as writing the fallback takes and a half more. Where less time is left than what was spent until now, which
  // is more than writing takes, it is not tried out.
  void KeepTimeForWriting() {
    Deadline& deadline = space_.deadline();
    const int64_t before_ns = deadline.spent_ns();
    if (deadline.left_ns() <= before_ns) return deadline.Keep(deadline.left_ns());
    if (Assemble(space_, fallback_, "search").ok()) deadline.Keep((deadline.spent_ns() - before_ns) * 3 / 2);
  }

  Status CollectStarts() {
    Error last;
    if (space_.deadline().is_limited()) AddFallback();
    const auto add = [&](Result<Solved> solved) {
      if (solved.ok()) {
        AddStart(std::move(solved->order));
      } else {
        last = solved.error();
      }
    };
    for (const Solver& solver : Solvers()) {
      if (IsLate() && NeedsNoMoreStarts()) break;
      if (IsLarge() && !solver.scales) continue;
      for (std::string_view argument : BaselineArguments(solver, space_.platform())) {
        add(solver.solve(space_, argument));
      }
    }
    if (!IsLate() || !NeedsNoMoreStarts()) AddOwnStarts();
    if (judge_.is_capped()) AddThriftyStarts();
    if (starts_.empty()) AddStart(std::move(fallback_));
    if (starts_.empty()) return last;
    std::stable_sort(starts_.begin(), starts_.end());
    return {};
  }

  // When time is over: there is a plan, or none is waited for.
  bool NeedsNoMoreStarts() const { return !starts_.empty() || !fallback_.empty() || space_.deadline().IsInterrupted(); }

  // Who watches the whole search hears of its best, not of what stretches take.
  void Tell(const Overrun& over, const Score& score) const {
    PlanningWatch* const watch = space_.problem().watch;
    if (watch != nullptr && rules_.by_stretches && over.fits()) watch->Offer(score.makespan_ns);
  }

  // Small graphs may be solved outright; where half of the effort does not prove it, what was found is a start.
  void StartExactly() {
    if (!rules_.exactly || IsOver() || !ExactFault(space_).empty()) return;
    const uint64_t effort = space_.problem().effort;
    ExactLimits limits;
    limits.evaluations = effort != 0 ? (effort - evaluations_) / 2 * kPartsOfEvaluation : kUsualParts;
    // Nothing may be pruned by a start that does not fit.
    const Scored& start = starts_.front();
    ExactResult exact = FindExact(space_, start.over.fits() ? start.solution : Solution(), limits);
    evaluations_ += exact.evaluations / kPartsOfEvaluation;
    if (exact.solution.empty()) return;
    Scored scored = Evaluate(std::move(exact.solution));
    const auto place = std::upper_bound(starts_.begin(), starts_.end(), scored);
    starts_.insert(place, std::move(scored));
    proven_ = exact.proven;
  }

  // Stretches of the graph solved one by one, for the places and forms of values that starts and the best so far have;
  // what they come to together is improved by itself, for what is better in the end may begin worse.
  void StartBySegments() {
    if (IsOver() || space_.simulator().needs_whole_plans()) return;
    starts_.insert(starts_.begin(), best_);
    const uint64_t effort = space_.problem().effort;
    const uint64_t limit = effort != 0 ? (effort - evaluations_) / 4
                           : IsLarge() ? kUsualOfSegments / 10
                                       : kUsualOfSegments;
    std::vector<const Solution*> starts;
    for (const Scored& start : starts_) starts.push_back(&start.solution);
    SegmentResult found = SolveBySegments(space_, starts, limit, SolveWhole);
    evaluations_ += found.evaluations;
    of_segments_ += found.evaluations;
    if (found.solution.empty()) return;
    const size_t known = starts_.size();
    AddStart(std::move(found.solution));
    if (starts_.size() == known) return;
    const Scored& chain = starts_.back();
    const bool is_near = chain.over.fits() && static_cast<double>(chain.score.makespan_ns) <=
                                                  kNear * static_cast<double>(best_.score.makespan_ns);
    if (is_near) now_.Reset(chain.solution);
    std::stable_sort(starts_.begin(), starts_.end());
    critical_.clear();
    CombineSegments();
    if (is_near) Improve(Spent() + (1 - Spent()) / 2);
    KeepBest();
    if (!(now_.solution() == best_.solution)) now_.Reset(best_.solution);
    critical_.clear();
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

  // What keeps little alive at once: streams that make few bytes on each device and over all, and the best starts, in
  // thrifty orders.
  void AddThriftyStarts() {
    std::stable_sort(starts_.begin(), starts_.end());
    const size_t best = std::min<size_t>(starts_.size(), 8);
    for (size_t i = 0; i < best && !IsLate(); ++i) AddStart(OrderForMemory(space_, starts_[i].solution));
    SerialRules thrifty;
    thrifty.cost_ns = [&](const Option& option) { return BytesMade(option); };
    const auto add = [&] {
      if (IsLate()) return;
      const Result<Solution> stream = SolveSerial(space_, thrifty);
      if (!stream.ok()) return;
      AddStart(*stream);
      AddStart(OrderForMemory(space_, *stream));
    };
    add();
    for (size_t d = 0; d < space_.platform().devices.size(); ++d) {
      thrifty.allowed = [d](const Option& option) { return option.device == DeviceId(d); };
      add();
    }
  }

  int64_t BytesMade(const Option& option) const {
    const Group& group = space_.group(option.group);
    uint64_t bytes = space_.problem().candidates[option.candidate].scratch_bytes;
    for (size_t i = 0; i < group.out.size(); ++i) {
      const ValueSlots& value = space_.value(group.out[i]);
      if (!option.likely_elided) bytes += space_.routes(group.out[i]).bytes[option.out[i] % value.forms.size()];
    }
    return static_cast<int64_t>(std::min<uint64_t>(bytes, uint64_t{1} << 40));
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
    // A move that comes to nothing takes time too.
    const uint64_t spent = now_.spent() + judged_ + evaluations_ - of_segments_;
    return static_cast<double>(spent) / UsualSpending(space_.graph().nodes().size()) +
           kPartOfSegments * static_cast<double>(of_segments_) / static_cast<double>(kUsualOfSegments);
  }

  bool IsOver() const { return IsProven() || Spent() >= 1 || IsLate(); }

  bool IsAtBound(const Score& score) const {
    return score.makespan_ns <= space_.problem().bound_ns && score.makespan_ns > 0;
  }

  // Nothing is faster than the best.
  bool IsProven() const { return proven_ || (best_.over.fits() && IsAtBound(best_.score)); }

  bool IsLate() const {
    out_of_time_ = out_of_time_ || space_.deadline().IsOver();
    return out_of_time_;
  }

  // True when the change is better; it stays unless it is worse or breaks a limit.
  bool Try(std::optional<Window> change) {
    ++evaluations_;  // moves that come to nothing count too, so that the search ends
    if (!change) return false;
    const Score before = now_.score();
    // On large graphs a change that gains nothing is not worth indexing the schedule anew.
    const auto wanted = IsLarge() ? WindowScheduler::Wanted::kBetter : WindowScheduler::Wanted::kNotWorse;
    const Score score = now_.Try(std::move(*change), wanted);
    if (before < score || (IsLarge() && !(score < before))) {
      now_.Drop();
      return false;
    }
    if (judge_.has_limits() && !OverrunOf(now_.Changed()).fits()) {
      now_.Drop();
      return false;
    }
    now_.Commit();
    Tell({}, score);
    critical_.clear();
    if (IsAtBound(score)) KeepBest();
    return score < before;
  }

  // Between frontiers every start may be the best one; a stretch of each is tried in the best so far.
  void CombineSegments() {
    const std::vector<std::span<const NodeId>> stretches = Stretches(space_, FindFrontiers(space_, kCombinedNodes));
    if (stretches.size() < 2) return;
    // At most half of the effort, so that large graphs still see local moves.
    const double until = 0.5 * (1 + Spent());
    const size_t candidates = std::min<size_t>(starts_.size(), 16);
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
    // This many moves without a gain end the way down.
    const uint64_t size = now_.solution().size(), patience = std::min<uint64_t>(2000, 10 * size) + 5 * size;
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
    if (now_.score() < best_.score) best_ = {now_.solution(), {}, now_.score()};
  }

  // Where no start keeps the limits: changes around what lies above them, whatever time they cost, until the plan
  // fits. Many in a row without a gain allow one that is not nearer.
  void Repair() {
    constexpr uint64_t kPatience = 64;
    (void)OverrunOf(best_.solution);
    std::vector<uint32_t> pressing(judge_.pressing().begin(), judge_.pressing().end());
    Scored now = best_;
    for (uint64_t since = 0; !best_.over.fits() && !IsOver(); ++since) {
      const bool anywhere = pressing.empty() || random_.Below(4) == 0;
      const size_t at = anywhere ? random_.Below(now.solution.size()) : pressing[random_.Below(pressing.size())];
      const std::optional<Window> change = moves_.Draw(static_cast<uint32_t>(at));
      ++evaluations_;
      if (!change) continue;
      Scored changed = Evaluate(With(now.solution, *change));
      if (changed.score.makespan_ns >= kImpossible) continue;
      const bool sideways =
          since > kPatience && changed.over.breach <= now.over.breach && changed.over.bytes <= now.over.bytes;
      if (!(changed < now) && !sideways) continue;
      since = 0;
      pressing.assign(judge_.pressing().begin(), judge_.pressing().end());
      now = std::move(changed);
      now_.Reset(now.solution);
      if (now < best_) best_ = now;
    }
    if (best_.over.fits()) now_.Reset(best_.solution);
  }

  static Solution With(Solution solution, const Window& change) {
    const auto from = solution.erase(solution.begin() + change.from, solution.begin() + change.to);
    solution.insert(from, change.choices.begin(), change.choices.end());
    return solution;
  }

  // Some changes of the best, or of another start now and then, whatever they cost.
  void Disturb() {
    critical_.clear();
    const Scored& other = starts_[random_.Below(starts_.size())];
    const Solution& base = random_.Below(8) == 0 && other.over.fits() ? other.solution : best_.solution;
    if (!(now_.solution() == base)) now_.Reset(base);
    const size_t changes = 2 + random_.Below(4);
    for (size_t i = 0; i < changes; ++i) {
      ++evaluations_;
      const std::optional<Window> change = moves_.Draw(static_cast<uint32_t>(random_.Below(now_.solution().size())));
      if (!change) continue;
      Solution before = now_.solution();
      const bool stays = now_.Reset(With(before, *change)) && OverrunOf(now_.solution()).fits();
      if (!stays) now_.Reset(std::move(before));
    }
  }

  const Space& space_;
  const SearchRules rules_;
  Scheduler scheduler_;  // of the starts
  MemoryJudge judge_;
  WindowScheduler now_;  // what is being changed
  Random random_;
  Moves moves_;
  Solution fallback_;  // empty: none
  std::vector<Scored> starts_;
  Scored best_;
  std::vector<uint32_t> critical_;  // choices of now_, empty = not known
  uint64_t evaluations_ = 0;
  uint64_t of_segments_ = 0;  // of those
  uint64_t judged_ = 0;       // what looking at limits took, in choices scheduled
  bool proven_ = false;       // no solution is faster than the best start
  mutable bool out_of_time_ = false;
};

// Of a stretch: without taking it apart again.
Result<Solved> SolveWhole(const Space& space, std::string_view) { return SearchBy(space, {.by_stretches = false}); }

}  // namespace

Result<Solved> SearchBy(const Space& space, const SearchRules& rules) {
  if (space.graph().nodes().empty()) return Solved{};
  return Search(space, rules).Run();
}

Result<Solved> SolveSearch(const Space& space, std::string_view) { return SearchBy(space, {}); }

}  // namespace pt
