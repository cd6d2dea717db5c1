#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "lib/plan/check_narrowing.h"
#include "partitiontuner/plan/dispatch_plan.h"

namespace pt {
namespace {

class DispatchChecker {
 public:
  DispatchChecker(const Platform& platform, const DispatchPlan& dispatch)
      : platform_(platform), plan_(dispatch.plan), table_(dispatch.table) {}

  Status Check() {
    PT_CHECK_OK(CheckSteps());
    PT_CHECK_OK(CheckPlacements());
    PT_CHECK_OK(CheckOrder());
    PT_CHECK_OK(CheckMoves());
    PT_CHECK_OK(CheckRoutes());
    return CheckMemory();
  }

 private:
  static Status Fault(std::string what) {
    return MakeError(ErrorCode::kInvalidInput, "dispatch.fault", "the dispatch plan is wrong: " + std::move(what));
  }
  bool Knows(InstanceId id) const { return id.index() < plan_.instances.size(); }
  ValueId ValueOf(InstanceId id) const { return plan_.instances[id.index()].value; }
  const Form& FormOf(InstanceId id) const { return plan_.instances[id.index()].form; }
  const Work& WorkOf(StepId id) const { return plan_.steps[id.index()].work; }
  static std::string TaskText(size_t task) { return "task " + std::to_string(task); }

  // Ids are in range, and units run one step at a time.
  Status CheckSteps() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      const std::string label = "step " + std::to_string(s);
      if (step.unit.index() >= platform_.units.size()) return Fault(label + " runs on no unit");
      const UnitClass& unit_class = platform_.unit_class(platform_.unit(step.unit).unit_class);
      if (unit_class.on_host() && unit_class.cores != 1) return Fault(label + " runs on several cores");
      if (unit_class.on_host()) host_units_.insert(step.unit);
      if (!step.after.empty()) return Fault(label + " waits for others, which is the run's affair");
      std::vector<InstanceId> used;
      if (const auto* group = std::get_if<RunGroup>(&step.work)) {
        if (group->candidate.index() >= plan_.candidates.size()) return Fault(label + " runs no candidate");
        used = group->in;
        used.insert(used.end(), group->out.begin(), group->out.end());
      } else if (const auto* copy = std::get_if<Copy>(&step.work)) {
        used = {copy->from, copy->to};
      } else {
        const auto& reorder = std::get<Reorder>(step.work);
        used = {reorder.from, reorder.to};
      }
      if (!std::ranges::all_of(used, [&](InstanceId id) { return Knows(id); })) {
        return Fault(label + " uses an instance that is not there");
      }
    }
    return {};
  }

  Status CheckPlacements() {
    for (size_t t = 0; t < table_.tasks.size(); ++t) {
      const DispatchTask& task = table_.tasks[t];
      if (task.placements.empty()) return Fault(TaskText(t) + " has no place to run");
      for (const DispatchPlacement& placement : task.placements) {
        if (placement.steps.empty()) return Fault(TaskText(t) + " has no steps");
        if (placement.expected_ns < 0) return Fault(TaskText(t) + " takes less than no time");
        for (StepId step : placement.steps) {
          PT_CHECK_OK(Use(step));
          if (!std::holds_alternative<RunGroup>(WorkOf(step))) return Fault(TaskText(t) + " has a step that moves");
          if (plan_.steps[step.index()].unit != placement.unit) return Fault(TaskText(t) + " runs on two units");
        }
      }
    }
    return {};
  }

  // Each step has one user: a kernel is bound once a run state.
  Status Use(StepId step) {
    used_.resize(plan_.steps.size());
    if (step.index() >= used_.size()) return Fault("step " + std::to_string(step.value) + " is not there");
    if (used_[step.index()]) return Fault("step " + std::to_string(step.value) + " is used twice");
    used_[step.index()] = true;
    return {};
  }

  // A task waits for all that make what it reads, wherever it runs, and stands behind them.
  Status CheckOrder() const {
    std::map<ValueId, uint32_t> maker;
    std::vector<uint32_t> makers(table_.tasks.size(), 0);
    for (uint32_t t = 0; t < table_.tasks.size(); ++t) {
      for (uint32_t reader : table_.tasks[t].readers) {
        if (reader >= table_.tasks.size() || reader <= t) return Fault(TaskText(t) + " has a reader before it");
        ++makers[reader];
      }
      for (const DispatchPlacement& placement : table_.tasks[t].placements) {
        for (StepId step : placement.steps) {
          for (InstanceId out : std::get<RunGroup>(WorkOf(step)).out) {
            if (maker.try_emplace(ValueOf(out), t).first->second != t) {
              return Fault(TaskText(t) + " makes what another task makes");
            }
          }
        }
      }
    }
    for (uint32_t t = 0; t < table_.tasks.size(); ++t) {
      if (makers[t] != table_.tasks[t].makers) return Fault(TaskText(t) + " waits for another number of tasks");
      for (const DispatchPlacement& placement : table_.tasks[t].placements)
        PT_CHECK_OK(CheckReads(t, placement, maker));
    }
    return {};
  }

  Status CheckReads(uint32_t task, const DispatchPlacement& placement, const std::map<ValueId, uint32_t>& maker) const {
    for (StepId step : placement.steps) {
      for (InstanceId in : std::get<RunGroup>(WorkOf(step)).in) {
        const auto made = maker.find(ValueOf(in));
        if (made == maker.end() || made->second == task) continue;
        const std::vector<uint32_t>& readers = table_.tasks[made->second].readers;
        if (std::ranges::count(readers, task) != 1) {
          return Fault(TaskText(task) + " does not wait for " + TaskText(made->second) + ", once");
        }
      }
    }
    return {};
  }

  Status CheckMoves() {
    for (const DispatchMove& move : table_.moves) {
      if (move.steps.empty()) return Fault("a move has no way");
      for (StepId step : move.steps) {
        PT_CHECK_OK(Use(step));
        const auto* copy = std::get_if<Copy>(&WorkOf(step));
        const auto* reorder = std::get_if<Reorder>(&WorkOf(step));
        const bool same = copy != nullptr      ? copy->from == move.from && copy->to == move.to
                          : reorder != nullptr ? reorder->from == move.from && reorder->to == move.to
                                               : false;
        if (!same) return Fault("step " + std::to_string(step.value) + " is not one of the ways of its move");
      }
      if (!EveryCoreCan(move)) return Fault("a reorder on the host has no way for one of the units");
    }
    return {};
  }

  // Whichever core needs it does it, on its own unit.
  bool EveryCoreCan(const DispatchMove& move) const {
    std::set<UnitId> units;
    for (StepId way : move.steps) units.insert(plan_.steps[way.index()].unit);
    return !IsHost(platform_.device_of(*units.begin())) || units == host_units_;
  }

  Status CheckRoutes() const {
    const auto key = [](const DispatchRoute& route) { return std::pair(route.from, route.to); };
    for (size_t r = 0; r < table_.routes.size(); ++r) {
      const DispatchRoute& route = table_.routes[r];
      if (r > 0 && key(table_.routes[r - 1]) >= key(route)) return Fault("routes are not in order");
      InstanceId at = route.from;
      if (!Knows(at)) return Fault("a route begins nowhere");
      KeptPrecision precision{FormOf(at), FormOf(at)};
      for (uint32_t m : route.moves) {
        if (m >= table_.moves.size() || table_.moves[m].from != at) return Fault("a route has a gap");
        at = table_.moves[m].to;
        if (precision.is_lost_in(FormOf(at))) return Fault("a route stores in more again what it stored in less");
        precision = precision.After(FormOf(at));
      }
      if (at != route.to || at == route.from) return Fault("a route ends elsewhere");
    }
    for (const std::vector<InstanceId>& ends : {table_.inputs, table_.outputs}) {
      if (!std::ranges::all_of(ends, [&](InstanceId id) { return Knows(id); })) {
        return Fault("an input or output of the graph is not there");
      }
    }
    return {};
  }

  struct Bytes {
    uint64_t offset = 0, end = 0;
    UnitId unit;  // of scratch, which the steps of a unit share; invalid: of an instance
  };

  Status CheckMemory() const {
    for (const auto& [device, arena] : plan_.memory) {
      std::vector<Bytes> all;
      const auto add = [&, &arena = arena](uint64_t offset, uint64_t bytes, UnitId unit) {
        Bytes part{offset, 0, unit};
        if (__builtin_add_overflow(offset, bytes, &part.end) || part.end > arena.bytes) return false;
        if (bytes > 0) all.push_back(part);
        return true;
      };
      for (const Placement& p : arena.placements) {
        if (!Knows(p.instance) || !p.strides.empty() || !add(p.offset, p.bytes, {})) {
          return Fault("an instance lies outside its arena");
        }
      }
      for (const ScratchPlacement& p : arena.scratch) {
        if (p.step.index() >= plan_.steps.size() || !add(p.offset, p.bytes, plan_.steps[p.step.index()].unit)) {
          return Fault("scratch lies outside its arena");
        }
      }
      std::ranges::sort(all, {}, &Bytes::offset);
      uint64_t end = 0;  // of all so far
      UnitId last;       // that reaches it
      for (const Bytes& part : all) {
        const bool shared = part.unit.valid() && part.unit == last;
        if (part.offset < end && !shared) return Fault("two instances or units share bytes");
        if (part.end >= end) end = part.end, last = part.unit;
      }
    }
    return {};
  }

  const Platform& platform_;
  const Plan& plan_;
  const DispatchTable& table_;
  std::vector<bool> used_;       // by step
  std::set<UnitId> host_units_;  // that run some step
};

}  // namespace

Status CheckDispatchPlan(const Platform& platform, const DispatchPlan& dispatch) {
  return DispatchChecker(platform, dispatch).Check();
}

}  // namespace pt
