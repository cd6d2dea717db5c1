#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lib/planner/methods/dispatch.h"
#include "lib/planner/schedule/routing.h"
#include "lib/planner/search/serial_dp.h"
#include "partitiontuner/planner/dispatch.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

constexpr uint64_t kAlignment = 64;

bool RunsOneAtATime(const UnitClass& unit_class) { return !unit_class.on_host() || unit_class.cores == 1; }

std::vector<Candidate> UsableCandidates(const PlanningProblem& problem) {
  const auto overwrites = [](const Alias& alias) { return alias.kind == Alias::Kind::kRequired; };
  std::vector<Candidate> usable;
  for (const Candidate& candidate : problem.candidates) {
    if (!RunsOneAtATime(problem.platform.unit_class(candidate.unit_class))) continue;
    if (std::ranges::none_of(candidate.aliases, overwrites)) usable.push_back(candidate);
  }
  return usable;
}

class DispatchMaker {
 public:
  DispatchMaker(const Space& space, const Solution& cover, DispatchRule rule)
      : space_(space), graph_(space, cover), rule_(rule), instance_of_(space.slot_count(), InstanceId()) {}

  Result<DispatchPlan> Make() {
    PT_CHECK_OK(RefuseUnsized());
    AddTasks();
    AddMover();
    LinkTasks();
    PT_CHECK_OK(AddMoves());
    PT_CHECK_OK(PlaceInstances());
    PT_CHECK_OK(PlaceScratch());
    PT_CHECK_OK(CheckCaps());
    made_.plan.lent_on = space_.problem().constraints.lent_on;
    return std::move(made_);
  }

 private:
  const Platform& platform() const { return space_.platform(); }
  Plan& plan() { return made_.plan; }

  Status RefuseUnsized() const {
    for (uint32_t group : graph_.groups) {
      for (const std::vector<ValueId>& values : {space_.group(group).in, space_.group(group).out}) {
        for (ValueId value : values) {
          if (space_.routes(value).sized) continue;
          return MakeError(ErrorCode::kUnsupported, "dispatch.unsized",
                           "the size of value '" + space_.graph().value(value).name +
                               "' has a size not known until run time, so its memory cannot be planned",
                           "run a plan instead");
        }
      }
    }
    return {};
  }

  // The cheapest option for each class that has one, the cheapest first. Nothing is elided in these runs.
  std::vector<uint32_t> OptionsOf(uint32_t group) const {
    std::vector<uint32_t> options;
    for (uint32_t o : space_.group(group).options) {
      const auto same = std::ranges::find_if(
          options, [&](uint32_t b) { return space_.option(b).unit_class == space_.option(o).unit_class; });
      if (same == options.end()) {
        options.push_back(o);
      } else if (space_.option(o).ns() < space_.option(*same).ns()) {
        *same = o;
      }
    }
    std::ranges::stable_sort(options, {}, [&](uint32_t o) { return space_.option(o).ns(); });
    return options;
  }

  std::set<UnitClassId> ClassesOf(uint32_t position) const {
    std::set<UnitClassId> classes;
    for (uint32_t o : OptionsOf(graph_.groups[position])) classes.insert(space_.option(o).unit_class);
    return classes;
  }

  // Positions in the cover that go to one unit together, in the order of their first ones.
  std::vector<DispatchRun> Runs() const {
    std::vector<DispatchRun> runs;
    if (rule_ == DispatchRule::kOperator) {
      for (uint32_t c = 0; c < graph_.size(); ++c) runs.push_back({c});
      return runs;
    }
    for (const DispatchRun& path : PathsOf(graph_)) {
      for (size_t i = 0; i < path.size(); ++i) {
        if (i == 0 || ClassesOf(path[i]) != ClassesOf(path[i - 1])) runs.emplace_back();
        runs.back().push_back(path[i]);
      }
    }
    std::ranges::sort(runs, {}, [](const DispatchRun& run) { return run.front(); });
    return runs;
  }

  void AddTasks() {
    task_of_.resize(graph_.size());
    for (const DispatchRun& run : Runs()) {
      const auto id = static_cast<uint32_t>(made_.table.tasks.size());
      DispatchTask& task = made_.table.tasks.emplace_back();
      std::vector<std::vector<uint32_t>> options;  // by group of the run
      for (uint32_t c : run) {
        task_of_[c] = id;
        options.push_back(OptionsOf(graph_.groups[c]));
        if (rule_ == DispatchRule::kPath) task.rank_ns += space_.option(options.back().front()).ns();
      }
      for (uint32_t first : options.front()) {
        const UnitClassId unit_class = space_.option(first).unit_class;
        for (UnitId unit : space_.units(unit_class)) AddPlacement(options, unit, task);
      }
    }
  }

  void AddPlacement(const std::vector<std::vector<uint32_t>>& options, UnitId unit, DispatchTask& task) {
    DispatchPlacement placement;
    placement.unit = unit;
    for (const std::vector<uint32_t>& of_group : options) {
      const uint32_t option = *std::ranges::find_if(
          of_group, [&](uint32_t o) { return space_.option(o).unit_class == platform().unit(unit).unit_class; });
      const int64_t ns = space_.option(option).ns();
      placement.expected_ns = AddNs(placement.expected_ns, ns);
      placement.steps.push_back(AddStep(unit, WorkOf(option), ns));
    }
    task.placements.push_back(std::move(placement));
    units_.insert(unit);
  }

  // Where no task runs on the host, one of its cores reorders what has to be reordered there.
  void AddMover() {
    const auto on_host = [&](UnitId unit) { return IsHost(platform().device_of(unit)); };
    const std::vector<UnitId> cores = SingleCoreUnits(platform());
    if (std::ranges::none_of(units_, on_host) && !cores.empty()) units_.insert(cores.front());
  }

  StepId AddStep(UnitId unit, Work work, int64_t expected_ns) {
    Step step;
    step.unit = unit;
    step.work = std::move(work);
    step.expected_ns = expected_ns;
    plan().steps.push_back(std::move(step));
    return StepId(plan().steps.size() - 1);
  }

  InstanceId InstanceOf(ValueId value, uint32_t slot) {
    InstanceId& id = instance_of_[space_.value(value).first + slot];
    if (!id.valid()) {
      id = InstanceId(plan().instances.size());
      plan().instances.push_back(space_.instance(value, slot));
    }
    return id;
  }

  RunGroup WorkOf(uint32_t id) {
    const Option& option = space_.option(id);
    const Group& group = space_.group(option.group);
    RunGroup run;
    const auto [known, is_new] = candidate_of_.try_emplace(id, PlanCandidateId(plan().candidates.size()));
    if (is_new) plan().candidates.push_back(space_.problem().candidates[option.candidate]);
    run.candidate = known->second;
    for (size_t i = 0; i < group.in.size(); ++i) {
      run.in.push_back(InstanceOf(group.in[i], option.in[i]));
      read_[group.in[i]].insert(option.in[i]);
    }
    for (size_t i = 0; i < group.out.size(); ++i) {
      run.out.push_back(InstanceOf(group.out[i], option.out[i]));
      written_[group.out[i]].insert(option.out[i]);
    }
    return run;
  }

  void LinkTasks() {
    for (uint32_t c = 0; c < graph_.size(); ++c) {
      std::vector<uint32_t>& readers = made_.table.tasks[task_of_[c]].readers;
      for (const auto& [reader, value] : graph_.readers[c]) {
        const uint32_t task = task_of_[reader];
        if (task == task_of_[c] || std::ranges::find(readers, task) != readers.end()) continue;
        readers.push_back(task);
        ++made_.table.tasks[task].makers;
      }
    }
  }

  // From wherever a value can be made to wherever it can be read.
  Status AddMoves() {
    std::map<ValueId, std::set<uint32_t>> wanted = read_;
    for (const auto& [value, slots] : written_) {
      const ValueSlots& of_value = space_.value(value);
      if (!of_value.is_output) continue;
      wanted[value].insert(of_value.external);
      made_.table.outputs.push_back(InstanceOf(value, of_value.external));
    }
    for (const auto& [value, slots] : wanted) {
      const ValueSlots& of_value = space_.value(value);
      std::set<uint32_t> from = written_[value];
      if (of_value.is_input) {
        from = {of_value.external};
        made_.table.inputs.push_back(InstanceOf(value, of_value.external));
      }
      for (uint32_t f : from) {
        for (uint32_t t : slots) {
          if (f != t) PT_CHECK_OK(AddRoute(value, f, t));
        }
      }
    }
    std::ranges::sort(made_.table.routes, {}, [](const DispatchRoute& r) { return std::pair(r.from, r.to); });
    return {};
  }

  Status AddRoute(ValueId value, uint32_t from, uint32_t to) {
    const Routes& routes = space_.routes(value);
    if (routes.cost(from, to) >= kImpossible) return NoWay(value, from, to);
    DispatchRoute route{InstanceOf(value, from), InstanceOf(value, to), {}};
    for (uint32_t at = from; at != to;) {
      const uint32_t hop = routes.next[at * routes.slots + to];
      const std::pair key(InstanceOf(value, at), InstanceOf(value, hop));
      const auto [known, is_new] = move_of_.try_emplace(key, static_cast<uint32_t>(made_.table.moves.size()));
      if (is_new) PT_CHECK_OK(AddMove(value, at, hop));
      route.moves.push_back(known->second);
      at = hop;
    }
    made_.table.routes.push_back(std::move(route));
    return {};
  }

  // Whoever needs a reorder does it, so every unit of its device has one; a copy is its engine's.
  Status AddMove(ValueId value, uint32_t from, uint32_t to) {
    const DeviceId device = space_.device(value, from);
    const bool is_copy = device != space_.device(value, to);
    DispatchMove move{InstanceOf(value, from), InstanceOf(value, to), {}};
    std::set<UnitId> missing;
    for (UnitId unit : units_) {
      if (!is_copy && platform().device_of(unit) == device) missing.insert(unit);
    }
    const bool on_host = IsHost(device);
    ForEachWay(space_, value, static_cast<Slot>(from), static_cast<Slot>(to),
               [&](UnitId unit, int64_t overhead_ns, int64_t run_ns) {
                 const bool is_first = move.steps.empty();
                 if (is_copy ? !is_first : (missing.erase(unit) == 0 && (on_host || !is_first))) return;
                 Work work = is_copy ? Work(Copy{move.from, move.to, space_.link(device, space_.device(value, to))})
                                     : Work(Reorder{move.from, move.to, ""});
                 move.steps.push_back(AddStep(unit, std::move(work), AddNs(overhead_ns, run_ns)));
               });
    if (move.steps.empty() || !missing.empty()) return NoWay(value, from, to);
    made_.table.moves.push_back(std::move(move));
    return {};
  }

  Error NoWay(ValueId value, uint32_t from, uint32_t to) const {
    const auto place = [&](uint32_t slot) {
      const Instance instance = space_.instance(value, slot);
      return ToString(instance.form.layout) + " on " + platform().device(instance.device).name;
    };
    return MakeError(ErrorCode::kInfeasible, "dispatch.no_way",
                     "value '" + space_.graph().value(value).name + "' cannot be brought from " + place(from) + " to " +
                         place(to) + " by whoever may need it there",
                     "run a plan instead, or name fewer --devices");
  }

  Result<uint64_t> Reserve(Arena& arena, uint64_t bytes) {
    const std::optional<uint64_t> offset = CheckedAlignUp(arena.bytes, kAlignment);
    if (!offset || __builtin_add_overflow(*offset, bytes, &arena.bytes)) {
      return MakeError(ErrorCode::kOutOfMemory, "dispatch.memory", "the places of all values exceed 64 bits");
    }
    return *offset;
  }

  Status PlaceInstances() {
    for (size_t i = 0; i < plan().instances.size(); ++i) {
      const Instance& instance = plan().instances[i];
      if (IsExternal(space_.graph(), space_.problem().constraints.lent_on, instance)) continue;
      PT_ASSIGN(const uint64_t bytes, InstanceBytes(space_.graph(), instance));
      Arena& arena = plan().memory[instance.device];
      PT_ASSIGN(const uint64_t offset, Reserve(arena, bytes));
      arena.placements.push_back({InstanceId(i), offset, bytes, {}});
    }
    return {};
  }

  // A unit runs one step at a time, so its steps share their scratch.
  Status PlaceScratch() {
    std::map<UnitId, std::vector<ScratchPlacement>> wanted;
    for (size_t s = 0; s < plan().steps.size(); ++s) {
      const auto* group = std::get_if<RunGroup>(&plan().steps[s].work);
      const uint64_t bytes = group == nullptr ? 0 : plan().candidates[group->candidate.index()].scratch_bytes;
      if (bytes > 0) wanted[plan().steps[s].unit].push_back({StepId(s), 0, bytes});
    }
    for (auto& [unit, scratch] : wanted) {
      const uint64_t most = std::ranges::max_element(scratch, {}, &ScratchPlacement::bytes)->bytes;
      Arena& arena = plan().memory[platform().device_of(unit)];
      PT_ASSIGN(const uint64_t offset, Reserve(arena, most));
      for (ScratchPlacement& of_step : scratch) {
        of_step.offset = offset;
        arena.scratch.push_back(of_step);
      }
    }
    return {};
  }

  Status CheckCaps() {
    const Constraints& constraints = space_.problem().constraints;
    uint64_t total = 0;
    for (const auto& [device, arena] : plan().memory) {
      if (__builtin_add_overflow(total, arena.bytes, &total)) total = UINT64_MAX;
      const auto cap = constraints.memory_caps.find(device);
      if (cap != constraints.memory_caps.end() && arena.bytes > cap->second) {
        return OverCap(platform().device(device).name, arena.bytes, cap->second);
      }
    }
    if (constraints.total_memory_cap && total > *constraints.total_memory_cap) {
      return OverCap("all devices together", total, *constraints.total_memory_cap);
    }
    return {};
  }

  static Error OverCap(const std::string& where, uint64_t bytes, uint64_t cap) {
    return MakeError(ErrorCode::kOutOfMemory, "dispatch.memory",
                     "deciding in the run needs " + std::to_string(bytes) + " bytes on " + where + " where " +
                         std::to_string(cap) + " are allowed: no memory is used twice",
                     "run a plan instead");
  }

  const Space& space_;
  const CoverGraph graph_;
  const DispatchRule rule_;
  DispatchPlan made_;
  std::vector<uint32_t> task_of_;                         // by position in the cover
  std::set<UnitId> units_;                                // that run tasks, and one of the host's in any case
  std::vector<InstanceId> instance_of_;                   // by slot of a value
  std::map<uint32_t, PlanCandidateId> candidate_of_;      // by option
  std::map<ValueId, std::set<uint32_t>> read_, written_;  // slots in which groups may read and make values
  std::map<std::pair<InstanceId, InstanceId>, uint32_t> move_of_;
};

}  // namespace

Result<DispatchRule> DispatchRuleNamed(std::string_view name) {
  if (name == "operator") return DispatchRule::kOperator;
  if (name == "path") return DispatchRule::kPath;
  return MakeError(ErrorCode::kUsage, "dispatch.rule", "unknown rule '" + std::string(name) + "'",
                   "rules that decide in the run: operator, path");
}

Result<DispatchPlan> MakeDispatchPlan(const PlanningProblem& problem, DispatchRule rule) {
  const std::vector<Candidate> usable = UsableCandidates(problem);
  PlanningProblem narrow = problem;
  narrow.candidates = usable;
  PT_ASSIGN(const Space space, Space::Make(narrow));
  PT_ASSIGN(const Solution cover, SolveSerial(space, {}));
  return DispatchMaker(space, cover, rule).Make();
}

}  // namespace pt
