#include "lib/exec/program.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <set>

namespace pt {
namespace {

using Kind = Instruction::Kind;

// What is known to be over: per home (a core's list or an asynchronous unit), how many of its steps.
using Clock = std::vector<uint32_t>;

void Join(Clock& into, const Clock& from) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

class Compiler {
 public:
  Compiler(const Platform& platform, const Plan& plan, const std::vector<StepAction>& actions, bool sequential)
      : platform_(platform), plan_(plan), actions_(actions), sequential_(sequential) {}

  Program Compile() {
    FindCores();
    const size_t steps = plan_.steps.size();
    last_on_resource_.resize(platform_.resources.size());
    last_on_unit_.resize(platform_.units.size());
    home_.resize(steps);
    position_.resize(steps);
    clock_.resize(steps);
    signals_.resize(steps);
    for (size_t i = 0; i < steps; ++i) {
      const StepId id(i);
      program_.before.push_back(StepsBefore(id));
      IsAsynchronous(id) ? AddAsynchronous(id) : AddHost(id);
      Remember(id);
    }
    DrainUnits();
    PlaceSignals();
    return std::move(program_);
  }

 private:
  const Unit& unit(StepId id) const { return platform_.unit(plan_.steps[id.index()].unit); }
  bool IsAsynchronous(StepId id) const { return !platform_.unit_class(unit(id).kind).on_host(); }

  // Dense numbers for the cores and asynchronous units that take part: the homes of clocks.
  void FindCores() {
    std::set<ResourceId> cores;
    for (const Step& step : plan_.steps) {
      const Unit& unit = platform_.unit(step.unit);
      for (const auto& [resource, amount] : unit.uses) {
        if (platform_.resources[resource.index()].core) cores.insert(resource);
      }
      if (unit.driver) cores.insert(*unit.driver);
    }
    program_.cores.assign(cores.begin(), cores.end());
    for (size_t i = 0; i < program_.cores.size(); ++i) core_index_[program_.cores[i]] = i;
    size_t homes = program_.cores.size();
    for (const Step& step : plan_.steps) {
      const UnitId id = step.unit;
      if (!platform_.unit_class(platform_.unit(id).kind).on_host() && !stream_home_.contains(id)) {
        stream_home_[id] = homes++;
      }
    }
    program_.lists.resize(program_.cores.size());
    known_.assign(homes, Clock(homes, 0));  // by core, and by stream: what its next step comes after
    count_.assign(homes, 0);
  }

  std::vector<StepId> StepsBefore(StepId id) const {
    const Step& step = plan_.steps[id.index()];
    std::vector<StepId> before = step.after;
    for (const auto& [resource, amount] : platform_.unit(step.unit).uses) {
      const bool exclusive = amount >= platform_.resources[resource.index()].capacity;
      if (exclusive && last_on_resource_[resource.index()].valid()) {
        before.push_back(last_on_resource_[resource.index()]);
      }
    }
    if (last_on_unit_[step.unit.index()].valid()) before.push_back(last_on_unit_[step.unit.index()]);
    if (sequential_ && id.index() > 0) before.push_back(StepId(id.index() - 1));
    // Latest first: what it implies need not be waited for.
    std::sort(before.begin(), before.end(), std::greater<>());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    return before;
  }

  std::vector<size_t> CoresOf(StepId id) const {
    std::vector<size_t> cores;
    for (const auto& [resource, amount] : unit(id).uses) {
      const auto found = core_index_.find(resource);
      if (found != core_index_.end()) cores.push_back(found->second);
    }
    return cores;
  }

  // Waits, on core `core`, for what `known` does not cover yet.
  void AddWaits(StepId id, size_t core, Clock known) {
    for (StepId before : program_.before[id.index()]) {
      if (known[home_[before.index()]] >= position_[before.index()]) continue;
      std::vector<Instruction>& list = program_.lists[core];
      const bool event = IsAsynchronous(before);
      if (!event || core_index_.at(*unit(before).driver) != core) {
        signals_[before.index()] = true;
        list.push_back({Kind::kWaitFlag, before});
      }
      if (event) list.push_back({Kind::kPollEvent, before});
      Join(known, clock_[before.index()]);
      Join(known_[core], clock_[before.index()]);
    }
  }

  void AddHost(StepId id) {
    const std::vector<size_t> cores = CoresOf(id);
    assert(!cores.empty());
    const size_t leader = cores[0];
    const bool runs = actions_[id.index()] == StepAction::kRun;
    Clock known = known_[leader];
    if (runs) {  // gathering the helpers is waiting for all they have done
      for (size_t core : cores) Join(known, known_[core]);
    }
    AddWaits(id, leader, known);
    for (size_t core : cores) Join(known, known_[core]);
    if (!runs) known = known_[leader];
    home_[id.index()] = leader;
    position_[id.index()] = known[leader] = ++count_[leader];
    clock_[id.index()] = known;
    if (!runs) {
      known_[leader] = known;
      program_.lists[leader].push_back({Kind::kPass, id});
      return;
    }
    for (size_t core : cores) known_[core] = known;
    program_.lists[leader].push_back({Kind::kRunTeam, id});
    for (size_t i = 1; i < cores.size(); ++i) {
      program_.lists[cores[i]].push_back({Kind::kHelp, id, static_cast<uint32_t>(i)});
    }
  }

  void AddAsynchronous(StepId id) {
    const size_t core = core_index_.at(*unit(id).driver);
    const size_t stream = stream_home_.at(plan_.steps[id.index()].unit);
    Clock known = known_[core];
    Join(known, known_[stream]);  // what was launched before on the same stream is over before
    AddWaits(id, core, known);
    known = known_[core];
    Join(known, known_[stream]);
    home_[id.index()] = stream;
    position_[id.index()] = known[stream] = ++count_[stream];
    clock_[id.index()] = known;
    known_[stream] = std::move(known);
    program_.lists[core].push_back({Kind::kEnqueue, id});
  }

  void Remember(StepId id) {
    const Step& step = plan_.steps[id.index()];
    for (const auto& [resource, amount] : platform_.unit(step.unit).uses) {
      if (amount >= platform_.resources[resource.index()].capacity) last_on_resource_[resource.index()] = id;
    }
    last_on_unit_[step.unit.index()] = id;
    const size_t core = IsAsynchronous(id) ? core_index_.at(*unit(id).driver) : home_[id.index()];
    // Becomes a signal if somebody waits for it.
    program_.lists[core].push_back({Kind::kSignal, id});
  }

  // A run is over when its streams are.
  void DrainUnits() {
    for (const auto& [unit, home] : stream_home_) {
      const size_t core = core_index_.at(*platform_.unit(unit).driver);
      program_.lists[core].push_back({Kind::kDrain, last_on_unit_[unit.index()]});
    }
  }

  void PlaceSignals() {
    std::vector<uint32_t> flag(signals_.size());
    for (size_t i = 0; i < signals_.size(); ++i) {
      if (signals_[i]) flag[i] = program_.flag_count++;
    }
    for (std::vector<Instruction>& list : program_.lists) {
      std::erase_if(list, [&](const Instruction& instruction) {
        return instruction.kind == Kind::kSignal && !signals_[instruction.step.index()];
      });
      for (Instruction& instruction : list) {
        if (instruction.kind == Kind::kSignal || instruction.kind == Kind::kWaitFlag) {
          instruction.index = flag[instruction.step.index()];
        }
      }
    }
  }

  const Platform& platform_;
  const Plan& plan_;
  const std::vector<StepAction>& actions_;
  const bool sequential_;
  Program program_;
  std::map<ResourceId, size_t> core_index_;
  std::map<UnitId, size_t> stream_home_;
  std::vector<StepId> last_on_resource_, last_on_unit_;
  std::vector<Clock> known_;
  std::vector<uint32_t> count_;  // steps so far, by home
  std::vector<size_t> home_;
  std::vector<uint32_t> position_;
  std::vector<Clock> clock_;
  std::vector<bool> signals_;
};

}  // namespace

Program CompileProgram(const Platform& platform, const Plan& plan, const std::vector<StepAction>& actions,
                       bool sequential) {
  return Compiler(platform, plan, actions, sequential).Compile();
}

}  // namespace pt
