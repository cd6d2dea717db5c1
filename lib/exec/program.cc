#include "lib/exec/program.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <set>

#include "lib/exec/segments.h"

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
  Compiler(const Platform& platform, const Plan& plan, const std::vector<StepAction>& actions,
           const ProgramOptions& options)
      : platform_(platform), plan_(plan), actions_(actions), options_(options) {}

  Program Compile() {
    FindCores();
    FindPredecessors();
    FindSegments(platform_, plan_, options_, program_);
    const size_t steps = plan_.steps.size();
    home_.resize(steps);
    position_.resize(steps);
    clock_.resize(steps);
    signals_.resize(steps);
    records_.resize(steps);
    for (size_t i = 0; i < steps; ++i) {
      const StepId id(i);
      const uint32_t segment = program_.segment_of[i];
      if (!IsAsynchronous(id)) {
        AddHost(id);
      } else if (segment == Program::kNoSegment) {
        AddAsynchronous(id);
      } else if (program_.segments[segment].steps.front() == id) {
        AddSegment(segment);
      }
    }
    DrainUnits();
    PlaceSignals();
    PlaceRecords();
    return std::move(program_);
  }

 private:
  const Unit& unit(StepId id) const { return platform_.unit(plan_.steps[id.index()].unit); }
  DeviceId device(StepId id) const { return platform_.device_of(plan_.steps[id.index()].unit); }
  bool IsAsynchronous(StepId id) const { return !platform_.unit_class(unit(id).unit_class).on_host(); }
  size_t driver(StepId id) const { return core_index_.at(*unit(id).driver); }
  size_t stream(StepId id) const { return stream_home_.at(plan_.steps[id.index()].unit); }
  std::vector<Instruction>& list(size_t core) { return program_.lists[core]; }

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
      if (!platform_.unit_class(platform_.unit(id).unit_class).on_host() && !stream_home_.contains(id)) {
        stream_home_[id] = homes++;
      }
    }
    program_.lists.resize(program_.cores.size());
    known_.assign(homes, Clock(homes, 0));  // by core, and by stream: what its next step comes after
    launched_.assign(program_.cores.size(), Clock(homes, 0));
    count_.assign(homes, 0);
  }

  void FindPredecessors() {
    std::vector<StepId> last_on_resource(platform_.resources.size());
    last_on_unit_.resize(platform_.units.size());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      std::vector<StepId> predecessors = step.after;
      for (const auto& [resource, amount] : platform_.unit(step.unit).uses) {
        if (amount < platform_.resources[resource.index()].capacity) continue;
        StepId& last = last_on_resource[resource.index()];
        if (last.valid()) predecessors.push_back(last);
        last = StepId(i);
      }
      StepId& last = last_on_unit_[step.unit.index()];
      if (last.valid()) predecessors.push_back(last);
      last = StepId(i);
      if (options_.sequential && i > 0) predecessors.push_back(StepId(i - 1));
      // Latest first: what it implies need not be waited for.
      std::sort(predecessors.begin(), predecessors.end(), std::greater<>());
      predecessors.erase(std::unique(predecessors.begin(), predecessors.end()), predecessors.end());
      program_.predecessors.push_back(std::move(predecessors));
    }
  }

  std::vector<size_t> CoresOf(StepId id) const {
    std::vector<size_t> cores;
    for (const auto& [resource, amount] : unit(id).uses) {
      const auto found = core_index_.find(resource);
      if (found != core_index_.end()) cores.push_back(found->second);
    }
    return cores;
  }

  bool IsOver(StepId step, const Clock& known) const { return known[home_[step.index()]] >= position_[step.index()]; }

  void WaitForFlag(StepId step, size_t core) {
    signals_[step.index()] = true;
    list(core).push_back({Kind::kWaitFlag, step});
  }

  // Waits, on core `core`, for what `known` does not cover yet.
  void AddWaits(StepId id, size_t core, Clock known) {
    for (StepId predecessor : program_.predecessors[id.index()]) {
      if (!IsOver(predecessor, known)) WaitByHost(predecessor, core, known);
    }
  }

  void WaitByHost(StepId step, size_t core, Clock& known) {
    const bool event = IsAsynchronous(step);
    if (!event || driver(step) != core) WaitForFlag(step, core);
    if (event) {
      list(core).push_back({Kind::kPollEvent, step});
      records_[step.index()] = true;
      Join(launched_[core], clock_[step.index()]);
    }
    Join(known, clock_[step.index()]);
    Join(known_[core], clock_[step.index()]);
  }

  // The same for a step of a stream; what the device can wait for by itself holds up no core. Returns what the step
  // comes after.
  Clock AddStreamWaits(StepId id, size_t core) {
    Clock known = known_[core];
    Join(known, known_[stream(id)]);  // what was launched before on the same stream is over before
    for (StepId predecessor : program_.predecessors[id.index()]) {
      if (IsOver(predecessor, known)) continue;
      if (!IsAsynchronous(predecessor) || !options_.can_wait(device(id), device(predecessor))) {
        WaitByHost(predecessor, core, known);
        continue;
      }
      // Its event must have been recorded in this run.
      if (launched_[core][home_[predecessor.index()]] < position_[predecessor.index()]) {
        WaitForFlag(predecessor, core);
        launched_[core][home_[predecessor.index()]] = position_[predecessor.index()];
      }
      records_[predecessor.index()] = true;
      list(core).push_back({Kind::kStreamWait, id, predecessor.value});
      Join(known, clock_[predecessor.index()]);
    }
    return known;
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
      list(leader).push_back({Kind::kPass, id});
    } else {
      for (size_t core : cores) known_[core] = known;
      list(leader).push_back({Kind::kRunTeam, id});
      for (size_t i = 1; i < cores.size(); ++i) {
        list(cores[i]).push_back({Kind::kHelp, id, static_cast<uint32_t>(i)});
      }
    }
    // Becomes a signal if somebody waits for it.
    list(leader).push_back({Kind::kSignal, id});
  }

  // Gives the step its place in its stream, after `known`.
  void Place(StepId id, size_t core, Clock known) {
    const size_t home = stream(id);
    home_[id.index()] = home;
    position_[id.index()] = known[home] = ++count_[home];
    clock_[id.index()] = std::move(known);
    launched_[core][home] = position_[id.index()];
  }

  void AddAsynchronous(StepId id) {
    const size_t core = driver(id);
    Place(id, core, AddStreamWaits(id, core));
    known_[stream(id)] = clock_[id.index()];
    records_[id.index()] = true;
    for (const Kind kind : {Kind::kEnqueue, Kind::kRecord, Kind::kSignal}) list(core).push_back({kind, id});
  }

  void AddSegment(uint32_t index) {
    Segment& segment = program_.segments[index];
    const StepId first = segment.steps.front();
    const size_t core = driver(first);
    const Clock start = AddStreamWaits(first, core);
    std::map<UnitId, Clock> known;  // by unit: what its next step here comes after
    Clock all = start;
    for (StepId id : segment.steps) {
      Clock& mine = known.try_emplace(plan_.steps[id.index()].unit, start).first->second;
      for (StepId predecessor : program_.predecessors[id.index()]) {
        if (IsOver(predecessor, mine)) continue;
        assert(program_.segment_of[predecessor.index()] == index);
        segment.script.push_back({Kind::kStreamWait, id, predecessor.value});
        records_[predecessor.index()] = true;
        Join(mine, clock_[predecessor.index()]);
      }
      Place(id, core, mine);
      mine = clock_[id.index()];
      Join(all, mine);
      segment.script.push_back({Kind::kEnqueue, id});
      segment.script.push_back({Kind::kRecord, id});
    }
    for (StepId last : segment.last) records_[last.index()] = true;
    // Only the stream it is launched on comes after it by itself.
    known_[stream(first)] = std::move(all);
    list(core).push_back({Kind::kLaunch, first, index});
    for (StepId id : segment.steps) list(core).push_back({Kind::kSignal, id});
  }

  // A run is over when its streams are.
  void DrainUnits() {
    for (const auto& [unit, home] : stream_home_) {
      const StepId last = last_on_unit_[unit.index()];
      records_[last.index()] = true;
      list(driver(last)).push_back({Kind::kDrain, last});
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

  // In a segment only those events are recorded that somebody asks for.
  void PlaceRecords() {
    for (Segment& segment : program_.segments) {
      std::erase_if(segment.script, [&](const Instruction& instruction) {
        return instruction.kind == Kind::kRecord && !records_[instruction.step.index()];
      });
    }
  }

  const Platform& platform_;
  const Plan& plan_;
  const std::vector<StepAction>& actions_;
  const ProgramOptions& options_;
  Program program_;
  std::map<ResourceId, size_t> core_index_;
  std::map<UnitId, size_t> stream_home_;
  std::vector<StepId> last_on_unit_;
  std::vector<Clock> known_;
  std::vector<Clock> launched_;  // by core: how many steps of each home it knows to be launched
  std::vector<uint32_t> count_;  // steps so far, by home
  std::vector<size_t> home_;
  std::vector<uint32_t> position_;
  std::vector<Clock> clock_;
  std::vector<bool> signals_, records_;  // by step: somebody waits for its flag; asks for its event
};

}  // namespace

Program CompileProgram(const Platform& platform, const Plan& plan, const std::vector<StepAction>& actions,
                       const ProgramOptions& options) {
  return Compiler(platform, plan, actions, options).Compile();
}

}  // namespace pt
