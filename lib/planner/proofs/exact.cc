// exact: breadth first over the number of covered nodes, in passes of growing width; what a bound, or a schedule of the
// same decisions that is ahead in every time, shows to be no better is dropped. A pass that drops nothing else is the
// proof.
#include "lib/planner/proofs/exact.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "lib/planner/proofs/exact_bound.h"
#include "lib/planner/schedule/assemble.h"
#include "lib/planner/solve.h"

namespace pt {
namespace {

constexpr size_t kWidest = 200'000;            // of a pass: what fits some hundred MiB
constexpr uint64_t kUsualEffort = 10'000'000;  // partial schedules: about half a minute

struct Label {
  PartialSchedule schedule;
  int64_t bound_ns = 0;
  uint32_t trace = 0;
};

bool IsSameButForTimes(const PartialSchedule& a, const PartialSchedule& b) {
  const auto same_held = [](const Held& x, const Held& y) {
    return x.value == y.value && x.slot == y.slot && x.flags == y.flags;
  };
  const auto same_promise = [](const Promise& x, const Promise& y) {
    return x.value == y.value && x.primary == y.primary && x.needed == y.needed && x.unread == y.unread;
  };
  return a.covered == b.covered && std::ranges::equal(a.held, b.held, same_held) &&
         std::ranges::equal(a.promises, b.promises, same_promise);
}

// Of what is decided, and of the times as well where they must be equal.
uint64_t HashOf(const PartialSchedule& schedule, bool with_times) {
  uint64_t hash = schedule.covered;
  const auto add = [&](uint64_t x) { hash = (hash ^ x) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29; };
  for (const Held& held : schedule.held) {
    add(held.value.value), add(held.slot), add(held.flags);
  }
  for (const Promise& promise : schedule.promises) {
    add(promise.value.value), add(promise.primary), add(promise.needed), add(promise.unread);
  }
  if (!with_times) return hash;
  for (const Held& held : schedule.held)
    add(held.unit.value), add(held.made_on.value), add(static_cast<uint64_t>(held.end_ns));
  for (int64_t free_ns : schedule.lane_free) add(static_cast<uint64_t>(free_ns));
  return hash;
}

// Which of two schedules with the same decisions makes the other one needless.
enum class Dominance : uint8_t {
  kNone,   // neither: the future depends on more than they tell
  kEqual,  // times must be equal
  kAhead,  // times must be no later
};

bool KeepsLimits(const Space& space, const Solution& solution) {
  return !space.problem().constraints.limits_whole_plans() || Assemble(space, solution, "exact").ok();
}

class ExactSearch {
 public:
  ExactSearch(const Space& space, Solution start, const ExactLimits& limits)
      : space_(space), scheduler_(space), bound_(space), limits_(limits) {
    if (start.empty()) return;
    best_.makespan_ns = scheduler_.Run(start);
    best_.solution = std::move(start);
  }

  ExactResult Run() {
    const bool alone = !space_.simulator().needs_whole_plans() && !space_.problem().constraints.limits_whole_plans();
    for (const size_t width : {size_t{32}, size_t{512}, kWidest}) {
      if (best_.proven || IsOver()) break;
      best_.proven = Pass(PartialScheduler::Reorders::kAnywhere, Dominance::kAhead, width);
    }
    // What is left: reorders that the rule would place elsewhere, steps that slow each other, limits of
    // whole plans.
    for (const size_t width : {size_t{1024}, kWidest}) {
      if (best_.proven || IsOver()) break;
      best_.proven =
          Pass(PartialScheduler::Reorders::kWhereTheyEndFirst, alone ? Dominance::kEqual : Dominance::kNone, width);
    }
    return best_;
  }

 private:
  struct Level {
    std::vector<Label> labels;
    std::unordered_map<uint64_t, std::vector<uint32_t>> alike;  // labels, by hash of what is decided
  };
  struct Trace {
    uint32_t before;
    Choice choice;
  };

  bool IsOver() {
    if (limits_.evaluations != 0 && best_.evaluations >= limits_.evaluations) return true;
    best_.out_of_time = best_.out_of_time || space_.deadline().IsOver();
    return best_.out_of_time;
  }

  // True when no solution is better than the best known one.
  bool Pass(PartialScheduler::Reorders reorders, Dominance dominance, size_t width) {
    PartialScheduler partial(space_, reorders);
    const size_t nodes = space_.graph().nodes().size();
    std::vector<Level> levels(nodes + 1);
    traces_.clear();
    bool complete = true;
    least_open_ns_ = kImpossible;
    by_rule_ = reorders == PartialScheduler::Reorders::kWhereTheyEndFirst;
    for (PartialSchedule& schedule : partial.Begin()) Add(partial, std::move(schedule), kNothing, dominance, levels);
    for (size_t n = 0; n < nodes; ++n) {
      complete &= Narrow(levels[n].labels, width);
      for (const Label& label : levels[n].labels) {
        if (label.bound_ns >= best_.makespan_ns) continue;
        if (IsOver()) return false;
        Extend(partial, label, dominance, levels);
      }
      levels[n] = {};
    }
    return complete && !partial.has_dropped() && least_open_ns_ >= best_.makespan_ns;
  }

  // The labels with the least bounds, in the order in which they came.
  static bool Narrow(std::vector<Label>& labels, size_t width) {
    if (labels.size() <= width) return true;
    std::stable_sort(labels.begin(), labels.end(),
                     [](const Label& a, const Label& b) { return a.bound_ns < b.bound_ns; });
    labels.resize(width);
    return false;
  }

  void Extend(PartialScheduler& partial, const Label& label, Dominance dominance, std::vector<Level>& levels) {
    for (const Group& group : space_.groups()) {
      if (group.options.empty() || !partial.CanFollow(label.schedule, group)) continue;
      for (uint32_t option : group.options) {
        for (UnitId unit : space_.units(space_.option(option).unit_class)) {
          after_.clear();
          partial.Append(label.schedule, {option, unit}, after_);
          if (after_.empty()) continue;
          const auto trace = static_cast<uint32_t>(traces_.size());
          traces_.push_back({label.trace, {option, unit}});
          bool used = false;
          for (PartialSchedule& schedule : after_) {
            if (schedule.covered == partial.all_nodes()) {
              ++best_.evaluations;
              Complete(schedule, trace);
              used = true;
            } else {
              used |= Add(partial, std::move(schedule), trace, dominance, levels);
            }
          }
          if (!used) traces_.pop_back();
        }
      }
    }
  }

  bool Add(const PartialScheduler& partial, PartialSchedule schedule, uint32_t trace, Dominance dominance,
           std::vector<Level>& levels) {
    ++best_.evaluations;
    const int64_t bound_ns = bound_.LeastEnd(schedule);
    if (bound_ns >= best_.makespan_ns) return false;
    Level& level = levels[static_cast<size_t>(std::popcount(schedule.covered))];
    if (dominance == Dominance::kNone) {
      level.labels.push_back({std::move(schedule), bound_ns, trace});
      return true;
    }
    std::vector<uint32_t>& alike = level.alike[HashOf(schedule, dominance == Dominance::kEqual)];
    for (uint32_t other : alike) {
      const PartialSchedule& known = level.labels[other].schedule;
      if (!IsSameButForTimes(known, schedule) || !partial.IsNoLater(known, schedule)) continue;
      if (dominance == Dominance::kAhead || partial.IsNoLater(schedule, known)) return false;
    }
    for (uint32_t& other : alike) {
      Label& known = level.labels[other];
      if (dominance != Dominance::kAhead || !IsSameButForTimes(schedule, known.schedule)) continue;
      if (!partial.IsNoLater(schedule, known.schedule)) continue;
      known = {std::move(schedule), bound_ns, trace};
      return true;
    }
    alike.push_back(static_cast<uint32_t>(level.labels.size()));
    level.labels.push_back({std::move(schedule), bound_ns, trace});
    return true;
  }

  void Complete(const PartialSchedule& schedule, uint32_t trace) {
    if (schedule.end_ns >= best_.makespan_ns) return;
    Solution solution;
    for (; trace != kNothing; trace = traces_[trace].before) solution.push_back(traces_[trace].choice);
    std::reverse(solution.begin(), solution.end());
    const int64_t makespan_ns = scheduler_.Run(solution);
    if (makespan_ns < best_.makespan_ns && KeepsLimits(space_, solution)) {
      best_.makespan_ns = makespan_ns;
      best_.solution = std::move(solution);
    }
    if (by_rule_) return;  // then the solution has no other schedule
    least_open_ns_ = std::min(least_open_ns_, schedule.end_ns);
  }

  const Space& space_;
  Scheduler scheduler_;
  RestBound bound_;
  ExactLimits limits_;
  ExactResult best_;
  std::vector<Trace> traces_;
  std::vector<PartialSchedule> after_;
  bool by_rule_ = false;                 // reorders run where Scheduler puts them
  int64_t least_open_ns_ = kImpossible;  // of complete schedules that the rule may not allow as they are
};

// So that there is a plan whenever the search stops; empty when none keeps the limits.
Solution BestBaseline(const Space& space) {
  Scheduler scheduler(space);
  Solution best;
  int64_t best_ns = kImpossible;
  const auto consider = [&](Result<Solved> solved) {
    if (!solved.ok() || scheduler.Run(solved->order) >= best_ns || !KeepsLimits(space, solved->order)) return;
    best_ns = scheduler.Run(solved->order);
    best = std::move(solved->order);
  };
  for (const Solver& solver : Solvers()) {
    for (std::string_view argument : BaselineArguments(solver, space.platform())) {
      consider(solver.solve(space, argument));
    }
  }
  return best;
}

}  // namespace

std::string ExactFault(const Space& space) {
  const size_t nodes = space.graph().nodes().size();
  if (nodes > kMostExactNodes) {
    return "the model has " + std::to_string(nodes) + " operators, exact takes " + std::to_string(kMostExactNodes) +
           " at most";
  }
  for (size_t v = 0; v < space.graph().values().size(); ++v) {
    if (space.routes(ValueId(v)).slots > 64) {
      return "value '" + space.graph().values()[v].name + "' can be in more than 64 places and forms";
    }
  }
  return "";
}

ExactResult FindExact(const Space& space, Solution start, const ExactLimits& limits) {
  return ExactSearch(space, std::move(start), limits).Run();
}

Result<Solved> SolveExact(const Space& space, std::string_view) {
  if (const std::string fault = ExactFault(space); !fault.empty()) {
    return MakeError(ErrorCode::kUsage, "planner.exact", fault, "plan it with --planner search");
  }
  if (space.graph().nodes().empty()) return Solved{};
  const PlanningProblem& problem = space.problem();
  ExactLimits limits;
  limits.evaluations = problem.effort != 0 ? problem.effort : kUsualEffort;
  ExactResult result = FindExact(space, BestBaseline(space), limits);
  if (result.solution.empty()) {
    return MakeError(ErrorCode::kInfeasible, "planner.exact",
                     result.proven ? "no plan keeps the constraints" : "no plan was found within the effort",
                     "raise --effort, or plan with --planner search");
  }
  const char* stopped_by = result.proven ? "done" : result.out_of_time ? "time" : "effort";
  return Solved{std::move(result.solution), stopped_by};
}

}  // namespace pt
