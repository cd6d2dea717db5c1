// search: the default planner. Starts from every baseline's solution and from several of its own, combines them
// segment by segment, then improves the best by local moves on the critical chain. Effort is counted in evaluations
// of the timeline, so the same seed and effort give the same plan on every machine.
#include <algorithm>
#include <chrono>
#include <optional>

#include "lib/planner/assemble.h"
#include "lib/planner/exact.h"
#include "lib/planner/heft.h"
#include "lib/planner/serial_dp.h"
#include "lib/planner/solve.h"

namespace pt {
namespace {

struct Score {
  int64_t makespan_ns = kImpossible;
  int64_t work_ns = kImpossible;  // decides between equal makespans
  friend auto operator<=>(const Score&, const Score&) = default;
};

struct Scored {
  Solution solution;
  Score score;
};

// About a second on graphs of some hundred nodes; more on those small enough for a proof. On large graphs all that
// surrounds an evaluation grows too.
uint64_t UsualEffort(size_t nodes) {
  const double size = static_cast<double>(std::max<size_t>(1, nodes)), large = std::max(1.0, size / 2000);
  return static_cast<uint64_t>(
      std::clamp(20e6 / size / (large * large), 100.0, nodes <= kMostExactNodes ? 90'000.0 : 30'000.0));
}

// So many partial schedules of the exact search take as long as an evaluation and what surrounds it.
constexpr uint64_t kPartsOfEvaluation = 10;

class Search {
 public:
  explicit Search(const Space& space)
      : space_(space), scheduler_(space), random_(space.problem().seed), choice_of_(space.graph().nodes().size()) {
    effort_ = space.problem().effort != 0 ? space.problem().effort : UsualEffort(space.graph().nodes().size());
    start_ = std::chrono::steady_clock::now();
  }

  Result<Solved> Run() {
    PT_CHECK_OK(CollectStarts());
    StartExactly();
    best_ = starts_.front();
    CombineSegments();
    Improve();
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
      if (solver.baseline == Solver::Baseline::kYes) add(solver.solve(space_, ""));
      if (solver.baseline != Solver::Baseline::kPerDevice) continue;
      for (const Device& device : space_.platform().devices) add(solver.solve(space_, device.name));
    }
    AddOwnStarts();
    if (starts_.empty()) return last;
    std::stable_sort(starts_.begin(), starts_.end(),
                     [](const Scored& a, const Scored& b) { return a.score < b.score; });
    return {};
  }

  // Small graphs may be solved outright; where half of the effort does not prove it, what was found is a start.
  void StartExactly() {
    const uint64_t share = (effort_ - std::min(effort_, evaluations_)) / 2;
    if (share == 0 || !ExactFault(space_).empty()) return;
    ExactLimits limits;
    limits.evaluations = share * kPartsOfEvaluation;
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

  bool IsOver() const {
    if (evaluations_ >= effort_) return true;
    const int64_t limit_ns = space_.problem().time_limit_ns;
    if (limit_ns <= 0) return false;
    const auto spent = std::chrono::steady_clock::now() - start_;
    if (std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count() < limit_ns) return false;
    out_of_time_ = true;
    return true;
  }

  void Accept(Solution solution, const Score& score) {
    best_.solution = std::move(solution);
    best_.score = score;
    critical_.clear();
  }

  bool Try(Solution& solution) {
    const Score score = Evaluate(solution);
    if (score.makespan_ns >= kImpossible || best_.score < score) return false;
    const bool better = score < best_.score;
    Accept(std::move(solution), score);
    return better;
  }

  void IndexChoices(const Solution& solution) {
    for (uint32_t c = 0; c < solution.size(); ++c) {
      for (NodeId node : space_.group_of(solution[c].option).nodes) choice_of_[node.index()] = c;
    }
  }

  // Replaces the choices of the nodes in `window` (by position in the depth-first order) by those another solution
  // has for them; the window grows until it cuts no group of either.
  bool Graft(const Solution& other, uint32_t from, uint32_t to, Solution& result) {
    std::vector<bool> inside(space_.graph().nodes().size(), false);
    for (uint32_t i = from; i <= to; ++i) inside[space_.order()[i].index()] = true;
    const auto grow = [&](const Solution& solution) {
      bool grown = false;
      for (const Choice& choice : solution) {
        const std::vector<NodeId>& nodes = space_.group_of(choice.option).nodes;
        const auto count = std::count_if(nodes.begin(), nodes.end(), [&](NodeId n) { return inside[n.index()]; });
        if (count == 0 || count == static_cast<std::ptrdiff_t>(nodes.size())) continue;
        for (NodeId n : nodes) inside[n.index()] = true;
        grown = true;
      }
      return grown;
    };
    for (int round = 0; round < 8; ++round) {
      const bool by_best = grow(best_.solution);
      const bool by_other = grow(other);
      if (!by_best && !by_other) break;
      if (round == 7) return false;
    }
    const auto is_inside = [&](const Choice& choice) {
      return inside[space_.group_of(choice.option).nodes.front().index()];
    };
    result.clear();
    std::vector<int64_t> keys;
    int64_t place = -1;
    const auto scale = static_cast<int64_t>(other.size() + 1);
    for (size_t c = 0; c < best_.solution.size(); ++c) {
      if (is_inside(best_.solution[c])) {
        if (place < 0) place = static_cast<int64_t>(c);
        continue;
      }
      result.push_back(best_.solution[c]);
      keys.push_back(static_cast<int64_t>(c) * scale);
    }
    if (place < 0) return false;
    for (size_t c = 0; c < other.size(); ++c) {
      if (!is_inside(other[c])) continue;
      result.push_back(other[c]);
      keys.push_back(place * scale + static_cast<int64_t>(c));
    }
    return SortLegally(space_, result, keys);
  }

  // Between series cuts every start may be the best one; a segment of each is tried in the best so far.
  void CombineSegments() {
    const std::vector<std::pair<uint32_t, uint32_t>> segments = Segments();
    if (segments.size() < 2) return;
    // At most half of the effort, so that large graphs still see local moves.
    const uint64_t until = evaluations_ + (effort_ - std::min(effort_, evaluations_)) / 2;
    const size_t candidates = std::min<size_t>(starts_.size(), 8);
    for (size_t i = 1; i < candidates; ++i) {
      if (starts_[i].solution == best_.solution) continue;
      for (const auto& [from, to] : segments) {
        if (evaluations_ >= until || IsOver()) return;
        Solution combined;
        if (Graft(starts_[i].solution, from, to, combined) && combined != best_.solution) {
          Try(combined);
        } else {
          ++evaluations_;  // a graft that comes to nothing takes about as long
        }
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

  void Improve() {
    while (!IsOver()) {
      const uint64_t before = evaluations_;
      if (critical_.empty()) {
        scheduler_.Run(best_.solution);
        critical_ = scheduler_.CriticalChoices();
        if (critical_.empty()) return;
        IndexChoices(best_.solution);
      }
      const uint32_t at = critical_[random_.Below(critical_.size())];
      switch (random_.Below(6)) {
        case 0:
        case 1:
          ChangeOption(at);
          break;
        case 2:
          Regroup(at);
          break;
        case 3:
          PairUp(at);
          break;
        case 4:
          MoveRun(at);
          break;
        default:
          Reorder(at);
          break;
      }
      if (evaluations_ == before) ++evaluations_;  // moves that come to nothing count too, so that the loop ends
    }
  }

  // Another candidate or unit for one group.
  void ChangeOption(uint32_t at) {
    Solution changed = best_.solution;
    const std::vector<uint32_t>& options = space_.group_of(changed[at].option).options;
    const uint32_t option = options[random_.Below(options.size())];
    const std::span<const UnitId> units = space_.units(space_.option(option).unit_class);
    changed[at] = {option, units[random_.Below(units.size())]};
    if (changed[at] != best_.solution[at]) Try(changed);
  }

  // The cheapest option of a group on a class, counting the moves of its inputs from where `solution`, which has its
  // groups in the order of best_, makes them.
  uint32_t CheapestOn(uint32_t group_id, UnitClassId unit_class, const Solution& solution) const {
    const Group& group = space_.group(group_id);
    uint32_t best = kNothing;
    int64_t best_ns = kImpossible;
    for (uint32_t o : group.options) {
      const Option& option = space_.option(o);
      if (option.unit_class != unit_class) continue;
      int64_t ns = option.likely_ns();
      for (size_t i = 0; i < group.in.size(); ++i)
        ns = AddNs(ns, space_.routes(group.in[i]).cost(MadeIn(group.in[i], solution), option.in[i]));
      if (ns >= best_ns) continue;
      best_ns = ns;
      best = o;
    }
    return best;
  }

  uint32_t MadeIn(ValueId value, const Solution& solution) const {
    const ValueSlots& slots = space_.value(value);
    if (!slots.producer.valid()) return slots.external;
    const uint32_t maker = solution[choice_of_[slots.producer.index()]].option;
    const Group& group = space_.group_of(maker);
    for (size_t i = 0; i < group.out.size(); ++i) {
      if (group.out[i] == value) return space_.option(maker).out[i];
    }
    return 0;  // within the maker's group only: the mover gets to know it when it regroups
  }

  // Another group for one of the nodes: fuses neighbours or splits; what is left over runs alone.
  void Regroup(uint32_t at) {
    const std::vector<NodeId>& nodes = space_.group_of(best_.solution[at].option).nodes;
    const NodeId node = nodes[random_.Below(nodes.size())];
    const std::span<const uint32_t> groups = space_.groups_of(node);
    const uint32_t wanted = groups[random_.Below(groups.size())];
    if (wanted == space_.option(best_.solution[at].option).group || space_.group(wanted).options.empty()) return;
    const UnitId unit = best_.solution[at].unit;
    Solution changed;
    std::vector<int64_t> keys;
    std::vector<uint32_t> dropped;
    for (NodeId n : space_.group(wanted).nodes) dropped.push_back(choice_of_[n.index()]);
    std::sort(dropped.begin(), dropped.end());
    dropped.erase(std::unique(dropped.begin(), dropped.end()), dropped.end());
    for (uint32_t c = 0; c < best_.solution.size(); ++c) {
      if (std::binary_search(dropped.begin(), dropped.end(), c)) continue;
      changed.push_back(best_.solution[c]);
      keys.push_back(c);
    }
    const auto add = [&](uint32_t group, UnitId on, int64_t key) {
      uint32_t option = CheapestOn(group, space_.platform().unit(on).unit_class, best_.solution);
      if (option == kNothing) {
        if (space_.group(group).options.empty()) return false;
        option = space_.group(group).options.front();
        on = space_.units(space_.option(option).unit_class).front();
      }
      changed.push_back({option, on});
      keys.push_back(key);
      return true;
    };
    for (uint32_t c : dropped) {
      for (NodeId n : space_.group_of(best_.solution[c].option).nodes) {
        const std::vector<NodeId>& taken = space_.group(wanted).nodes;
        if (std::binary_search(taken.begin(), taken.end(), n)) continue;
        const uint32_t single = space_.single_group(n);
        if (single == kNothing || !add(single, best_.solution[c].unit, c)) return;
      }
    }
    if (!add(wanted, unit, dropped.back()) || !SortLegally(space_, changed, keys)) return;
    Try(changed);
  }

  // Two wide steps one after the other become two narrower ones side by side, when neither needs the other.
  void PairUp(uint32_t at) {
    const Solution& now = best_.solution;
    const Option& wide = space_.option(now[at].option);
    if (Width(wide) < 2) return;
    const size_t reach = std::min<size_t>(now.size() - 1, at + 1 + random_.Below(8));
    if (reach <= at) return;
    const auto other = static_cast<uint32_t>(reach);
    const std::optional<std::pair<UnitId, UnitId>> pair = NarrowPair(wide.device, Width(wide));
    if (!pair) return;
    const UnitClassId narrow = space_.platform().unit(pair->first).unit_class;
    Solution changed = now;
    const auto narrowed = [&](uint32_t c, UnitId unit) {
      const uint32_t option = CheapestOn(space_.option(now[c].option).group, narrow, changed);
      if (option != kNothing) changed[c] = {option, unit};
      return option != kNothing;
    };
    if (!narrowed(at, pair->first) || !narrowed(other, pair->second)) return;
    std::vector<int64_t> keys(now.size());
    for (size_t c = 0; c < keys.size(); ++c) keys[c] = static_cast<int64_t>(c) * 2;
    keys[other] = keys[at] + 1;
    if (SortLegally(space_, changed, keys)) Try(changed);
  }

  // Two units of one class with fewer cores than `width` that can run at once, by chance; none if there are none.
  std::optional<std::pair<UnitId, UnitId>> NarrowPair(DeviceId device, uint32_t width) {
    std::vector<UnitClassId> classes;
    for (size_t c = 0; c < space_.platform().unit_classes.size(); ++c) {
      const UnitClass& unit_class = space_.platform().unit_classes[c];
      const bool narrower = unit_class.device == device && unit_class.cores > 0 && unit_class.cores < width;
      if (narrower && space_.units(UnitClassId(c)).size() > 1) classes.emplace_back(c);
    }
    if (classes.empty()) return std::nullopt;
    const std::span<const UnitId> units = space_.units(classes[random_.Below(classes.size())]);
    const size_t first = random_.Below(units.size());
    for (size_t i = 1; i < units.size(); ++i) {
      const UnitId second = units[(first + i) % units.size()];
      if (!UnitsConflict(space_.platform(), units[first], second)) return std::pair(units[first], second);
    }
    return std::nullopt;
  }

  // A run of steps that follow each other in data goes to another unit together: single moves would pay the
  // transfer at both ends.
  void MoveRun(uint32_t at) {
    std::vector<uint32_t> run = {at};
    const size_t length = 2 + random_.Below(7);
    while (run.size() < length) {
      uint32_t next = kNothing;
      for (ValueId out : space_.group_of(best_.solution[run.back()].option).out) {
        for (NodeId reader : space_.value(out).consumers) {
          if (next == kNothing || random_.Below(2) == 0) next = choice_of_[reader.index()];
        }
      }
      if (next == kNothing) break;
      run.push_back(next);
    }
    const std::vector<Unit>& units = space_.platform().units;
    const UnitId unit(random_.Below(units.size()));
    if (units[unit.index()].link) return;
    Solution changed = best_.solution;
    for (uint32_t c : run) {
      // The run is in the order of its data, so each finds its makers where they have gone.
      const uint32_t option =
          CheapestOn(space_.option(changed[c].option).group, units[unit.index()].unit_class, changed);
      if (option == kNothing) continue;
      changed[c] = {option, unit};
    }
    if (changed != best_.solution) Try(changed);
  }

  // Earlier in the lists of its unit.
  void Reorder(uint32_t at) {
    const size_t back = 1 + random_.Below(12);
    const int64_t to = static_cast<int64_t>(at) - static_cast<int64_t>(std::min<size_t>(back, at));
    Solution changed = best_.solution;
    std::vector<int64_t> keys(changed.size());
    for (size_t c = 0; c < keys.size(); ++c) keys[c] = static_cast<int64_t>(c) * 2;
    keys[at] = to * 2 - 1;
    // Makers come along: they get the same key, and makers go first.
    for (ValueId in : space_.group_of(changed[at].option).in) {
      const NodeId maker = space_.value(in).producer;
      if (maker.valid()) keys[choice_of_[maker.index()]] = std::min(keys[choice_of_[maker.index()]], keys[at]);
    }
    if (SortLegally(space_, changed, keys) && changed != best_.solution) Try(changed);
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
  Scheduler scheduler_;
  Random random_;
  std::vector<Scored> starts_;
  Scored best_;
  std::vector<uint32_t> critical_;   // choices of best_, empty = not known
  std::vector<uint32_t> choice_of_;  // by node, in best_
  uint64_t effort_ = 0, evaluations_ = 0;
  bool proven_ = false;  // no solution is faster than the best start
  std::chrono::steady_clock::time_point start_;
  mutable bool out_of_time_ = false;
};

}  // namespace

Result<Solved> SolveSearch(const Space& space, std::string_view) {
  if (space.graph().nodes().empty()) return Solved{};
  return Search(space).Run();
}

}  // namespace pt
