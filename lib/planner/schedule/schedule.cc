#include "lib/planner/schedule/schedule.h"

#include <algorithm>

namespace pt {
Scheduler::Scheduler(const Space& space)
    : space_(space),
      contended_(space.simulator().needs_whole_plans()),
      values_(space.graph().values().size()),
      flags_(space.slot_count()),
      writer_(space.slot_count()) {
  for (size_t v = 0; v < values_.size(); ++v) {
    const ValueSlots& value = space.value(ValueId(v));
    if (value.is_input || value.producer.valid()) produced_.push_back(ValueId(v));
  }
}

int64_t Scheduler::Run(const Solution& solution, std::span<const uint32_t> barriers) {
  steps_.clear();
  waits_.clear();
  barrier_.clear();
  behind_barrier_ = 0;
  first_step_.clear();
  work_ns_ = 0;
  lane_free_.assign(space_.simulator().lanes().count, 0);
  lane_last_.assign(lane_free_.size(), kNothing);
  if (!Prepare(solution)) return kImpossible;

  for (ValueId input : space_.graph().inputs()) EmitEarlyMoves(input);
  for (uint32_t c = 0; c < solution.size(); ++c) {
    if (std::binary_search(barriers.begin(), barriers.end(), c)) RaiseBarrier();
    if (!EmitChoice(c, solution[c], elided_[c])) return kImpossible;
  }
  if (!EmitOutputs()) return kImpossible;
  if (contended_) {
    std::vector<TimedStep> timed;
    timed.reserve(steps_.size());
    for (const ScheduledStep& step : steps_) {
      timed.push_back(Timed(step, step.choice == kNothing ? nullptr : &space_.option(solution[step.choice].option)));
    }
    SlowDown(space_.simulator().Run(timed, waits_));
  }
  int64_t makespan = 0;
  for (const ScheduledStep& step : steps()) makespan = std::max(makespan, step.end_ns);
  return makespan;
}

// The rules of SimulatePlan.
void Scheduler::FindInputs(const Choice& choice, bool elided, ScheduledStep& step) {
  step.made_on = step.unit;
  const Option& option = space_.option(choice.option);
  const Group& group = space_.group(option.group);
  uint64_t largest = 0;
  for (size_t i = 0; i < group.in.size(); ++i) {
    const uint32_t made_by = writer(group.in[i], option.in[i]);
    if (made_by == kBound) continue;
    const uint64_t bytes = BytesIn(group.in[i], option.in[i]);
    if (!elided) {
      step.run_ns += space_.simulator().fetch_ns(steps_[made_by].made_on, step.unit, bytes, option.fetch_share);
    } else if (bytes > largest) {
      largest = bytes;
      step.made_on = steps_[made_by].made_on;
    }
  }
}

uint64_t Scheduler::BytesIn(ValueId v, uint32_t slot) const {
  return space_.routes(v).bytes[slot % space_.value(v).forms.size()];
}

bool Scheduler::EmitChoice(uint32_t c, const Choice& choice, bool elided) {
  first_step_.push_back(static_cast<uint32_t>(steps_.size()));
  const Option& option = space_.option(choice.option);
  const Group& group = space_.group(option.group);
  for (size_t i = 0; i < group.in.size(); ++i) {
    if (!MakeAvailable(group.in[i], option.in[i])) return false;
  }
  EmitGroup(c, choice, elided);
  for (ValueId out : group.out) EmitEarlyMoves(out);
  return true;
}

void Scheduler::EmitGroup(uint32_t c, const Choice& choice, bool elided) {
  const Option& option = space_.option(choice.option);
  const Group& group = space_.group(option.group);
  ScheduledStep step;
  step.choice = c;
  step.unit = choice.unit;
  step.elided = elided;
  if (!elided) {
    step.overhead_ns = option.overhead_ns;
    step.run_ns = option.run_ns;
  }
  step.first_wait = static_cast<uint32_t>(waits_.size());
  for (size_t i = 0; i < group.in.size(); ++i) {
    const uint32_t made_by = writer(group.in[i], option.in[i]);
    const bool known = std::find(waits_.begin() + step.first_wait, waits_.end(), made_by) != waits_.end();
    if (made_by != kBound && !known) waits_.push_back(made_by);
  }
  WaitForBarrier(step.first_wait);
  step.end_wait = static_cast<uint32_t>(waits_.size());
  FindInputs(choice, elided, step);
  Emit(step);
  const auto self = static_cast<uint32_t>(steps_.size() - 1);
  for (size_t i = 0; i < group.out.size(); ++i) SetWriter(group.out[i], option.out[i], self);
}

void Scheduler::RaiseBarrier() {
  if (behind_barrier_ == steps_.size()) return;
  std::vector<uint32_t> last(space_.platform().units.size(), kNothing);
  for (uint32_t s = behind_barrier_; s < steps_.size(); ++s) last[steps_[s].unit.index()] = s;
  std::erase(last, kNothing);
  barrier_ = std::move(last);
  behind_barrier_ = static_cast<uint32_t>(steps_.size());
}

void Scheduler::WaitForBarrier(uint32_t first_wait) {
  for (uint32_t step : barrier_) {
    if (std::find(waits_.begin() + first_wait, waits_.end(), step) == waits_.end()) waits_.push_back(step);
  }
}

bool Scheduler::EmitOutputs() {
  first_step_.push_back(static_cast<uint32_t>(steps_.size()));
  for (ValueId output : space_.graph().outputs()) {
    const ValueSlots& value = space_.value(output);
    if (value.is_output && !MakeAvailable(output, value.external)) return false;
  }
  return true;
}

// What is read where, which moves that takes, which steps memory placement will elide.
bool Scheduler::Prepare(const Solution& solution) {
  std::fill(writer_.begin(), writer_.end(), kNothing);
  moves_.clear();
  elided_.assign(solution.size(), false);
  any_elision_ = false;
  for (ValueId v : produced_) {
    ValueState& state = values_[v.index()];
    const ValueSlots& value = space_.value(v);
    state.needed.Clear();
    state.first_move = state.end_move = 0;
    state.primary = 0;
    if (value.is_output) state.needed.Insert(value.external);
    if (!value.is_input) continue;
    state.primary = static_cast<Slot>(value.external);
    SetWriter(v, value.external, kBound);
  }
  for (const Choice& choice : solution) {
    const Option& option = space_.option(choice.option);
    const Group& group = space_.group(option.group);
    for (size_t i = 0; i < group.in.size(); ++i) values_[group.in[i].index()].needed.Insert(option.in[i]);
    for (size_t i = 0; i < group.out.size(); ++i) values_[group.out[i].index()].primary = option.out[i];
    any_elision_ |= option.view || option.slices;
  }
  for (ValueId v : produced_) {
    ValueState& state = values_[v.index()];
    state.needed.Remove(SlotSet(state.primary));
    if (!state.needed.empty() && !PlanMoves(v)) return false;
  }
  if (any_elision_) FindElided(solution);
  return true;
}

bool Scheduler::PlanMoves(ValueId v) {
  ValueState& state = values_[v.index()];
  state.first_move = static_cast<uint32_t>(moves_.size());
  const bool possible = AppendMoves(space_, v, state.primary, state.needed, moves_);
  state.end_move = static_cast<uint32_t>(moves_.size());
  return possible;
}

bool Scheduler::placed(ValueId v, uint32_t slot) const {
  const ValueSlots& value = space_.value(v);
  return slot != value.external && space_.routes(v).sized;
}

// The rules of PlanMemory (memory_plan.h), in its order.
void Scheduler::FindElided(const Solution& solution) {
  std::fill(flags_.begin(), flags_.end(), uint8_t{0});
  for (ValueId v : produced_) FlagCopies(v);
  for (const Choice& choice : solution) FlagOverwrites(space_.option(choice.option));
  for (size_t c = 0; c < solution.size(); ++c) {
    const Option& option = space_.option(solution[c].option);
    if (option.view) elided_[c] = IsViewElided(option);
  }
  for (size_t c = 0; c < solution.size(); ++c) {
    const Option& option = space_.option(solution[c].option);
    if (option.slices) elided_[c] = AreSlicesElided(option);
  }
}

void Scheduler::FlagCopies(ValueId v) {
  const ValueState& state = values_[v.index()];
  for (uint32_t m = state.first_move; m < state.end_move; ++m) {
    if (space_.device(v, moves_[m].from) == space_.device(v, moves_[m].to)) continue;
    flags(v, moves_[m].from) |= kCopied;
    flags(v, moves_[m].to) |= kCopied;
  }
}

void Scheduler::FlagOverwrites(const Option& option) {
  if (option.overwrites.empty()) return;
  const Group& group = space_.group(option.group);
  for (const Alias& alias : space_.problem().candidates[option.candidate].aliases) {
    if (alias.kind != Alias::Kind::kRequired) continue;
    flags(group.in[alias.in], option.in[alias.in]) |= kOverwritten | kShares;
    flags(group.out[alias.out], option.out[alias.out]) |= kShares;
  }
}

bool Scheduler::IsViewElided(const Option& option) {
  const Group& group = space_.group(option.group);
  const ValueId in = group.in[0];
  const ValueId out = group.out[0];
  if (!placed(in, option.in[0]) || !placed(out, option.out[0])) return false;
  if (BytesIn(in, option.in[0]) != BytesIn(out, option.out[0])) return false;
  uint8_t& in_flags = flags(in, option.in[0]);
  uint8_t& out_flags = flags(out, option.out[0]);
  if (((in_flags | out_flags) & kOverwritten) != 0) return false;
  in_flags |= kShares;
  out_flags |= kShares;
  return true;
}

bool Scheduler::AreSlicesElided(const Option& option) {
  const Group& group = space_.group(option.group);
  uint8_t& out_flags = flags(group.out[0], option.out[0]);
  if (!placed(group.out[0], option.out[0]) || (out_flags & (kOverwritten | kSliced)) != 0) return false;
  for (size_t i = 0; i < group.in.size(); ++i) {
    if (!placed(group.in[i], option.in[i])) return false;
    if ((flags(group.in[i], option.in[i]) & (kOverwritten | kShares | kCopied)) != 0) return false;
  }
  for (size_t i = 0; i < group.in.size(); ++i) flags(group.in[i], option.in[i]) |= kShares | kSliced;
  out_flags |= kShares;
  return true;
}

bool Scheduler::MakeAvailable(ValueId v, uint32_t slot) {
  if (writer(v, slot) != kNothing) return true;
  ValueState& state = values_[v.index()];
  if (slot == state.primary) return false;  // read before it is made
  for (uint32_t m = state.first_move; m < state.end_move; ++m) {
    if (moves_[m].to != slot) continue;
    return MakeAvailable(v, moves_[m].from) && EmitMove(v, moves_[m]);
  }
  return false;
}

void Scheduler::EmitEarlyMoves(ValueId v) {
  const ValueState& state = values_[v.index()];
  for (uint32_t m = state.first_move; m < state.end_move; ++m) {
    if (moves_[m].early && writer(v, moves_[m].to) == kNothing) EmitMove(v, moves_[m]);
  }
}

bool Scheduler::EmitMove(ValueId v, const Move& move) {
  ScheduledStep step;
  step.value = v;
  step.from = move.from;
  step.to = move.to;
  step.first_wait = static_cast<uint32_t>(waits_.size());
  const uint32_t made_by = writer(v, move.from);
  if (made_by != kBound) waits_.push_back(made_by);
  WaitForBarrier(step.first_wait);
  step.end_wait = static_cast<uint32_t>(waits_.size());

  int64_t best = kImpossible;
  int ways = 0;
  const bool possible =
      ForEachWay(space_, v, move.from, move.to, [&](UnitId unit, int64_t overhead_ns, int64_t run_ns) {
        ++ways;
        if (made_by != kBound)
          run_ns += space_.simulator().fetch_ns(steps_[made_by].made_on, unit, BytesIn(v, move.from), kWholeFetch);
        const int64_t end = EndOn(unit, overhead_ns, run_ns, step.first_wait);
        if (end >= best) return;
        best = end;
        step.unit = step.made_on = unit;
        step.overhead_ns = overhead_ns;
        step.run_ns = run_ns;
      });
  if (!possible) return false;
  step.single_way = ways < 2;
  const DeviceId from = space_.device(v, move.from), to = space_.device(v, move.to);
  if (from != to) step.link = space_.link(from, to);
  Emit(step);
  SetWriter(v, move.to, static_cast<uint32_t>(steps_.size() - 1));
  return true;
}

int64_t Scheduler::EndOn(UnitId unit, int64_t overhead_ns, int64_t run_ns, uint32_t reads) const {
  const Lanes& lanes = space_.simulator().lanes();
  const uint32_t driver = lanes.driver[unit.index()];
  int64_t ready = 0;
  int64_t on_device = 0;  // what the device waits for by itself
  for (size_t w = reads; w < waits_.size(); ++w) {
    const ScheduledStep& predecessor = steps_[waits_[w]];
    int64_t& until = space_.simulator().waits_on_device(predecessor.unit, unit) ? on_device : ready;
    until = std::max(until, predecessor.end_ns + space_.simulator().wait_ns(predecessor.unit, unit));
  }
  if (driver != Lanes::kNone) ready = std::max(ready, lane_free_[driver]) + overhead_ns;
  ready = std::max(ready, on_device);
  for (uint32_t lane : lanes.of_unit[unit.index()]) ready = std::max(ready, lane_free_[lane]);
  return ready + run_ns + (driver != Lanes::kNone ? 0 : overhead_ns);
}

// The rules of Simulator for plans without contention.
void Scheduler::Emit(ScheduledStep& step) {
  const Lanes& lanes = space_.simulator().lanes();
  const uint32_t driver = lanes.driver[step.unit.index()];
  const auto self = static_cast<uint32_t>(steps_.size());
  const auto wait_for = [&](int64_t& start, int64_t until, uint32_t because) {
    if (until < start || (until == start && step.blocker != kNothing)) return;
    start = until;
    step.blocker = because;
  };
  int64_t start = 0;
  const auto wait_for_reads = [&](bool on_device) {
    for (uint32_t w = step.first_wait; w < step.end_wait; ++w) {
      const ScheduledStep& predecessor = steps_[waits_[w]];
      if (space_.simulator().waits_on_device(predecessor.unit, step.unit) != on_device) continue;
      wait_for(start, predecessor.end_ns + space_.simulator().wait_ns(predecessor.unit, step.unit), waits_[w]);
    }
  };
  wait_for_reads(false);
  if (driver != Lanes::kNone) {
    if (lane_last_[driver] != kNothing) wait_for(start, lane_free_[driver], lane_last_[driver]);
    start += step.overhead_ns;
    lane_free_[driver] = step.launched_ns = start;
    lane_last_[driver] = self;
  }
  wait_for_reads(true);
  for (uint32_t lane : lanes.of_unit[step.unit.index()]) {
    if (lane_last_[lane] != kNothing) wait_for(start, lane_free_[lane], lane_last_[lane]);
  }
  step.start_ns = start;
  step.end_ns = start + step.run_ns + (driver != Lanes::kNone ? 0 : step.overhead_ns);
  for (uint32_t lane : lanes.of_unit[step.unit.index()]) {
    lane_free_[lane] = step.end_ns;
    lane_last_[lane] = self;
  }
  work_ns_ += step.overhead_ns + step.run_ns;
  steps_.push_back(step);
}

// What is elided takes no time on a device, so that it does not matter what it asks for.
TimedStep Scheduler::Timed(const ScheduledStep& step, const Option* option) const {
  TimedStep timed;
  timed.unit = step.unit;
  timed.elided = step.elided;
  timed.overhead_ns = step.overhead_ns;
  if (const UnitClassId unit_class = space_.platform().unit(step.unit).unit_class;
      !step.elided && space_.launches_by_segments(unit_class)) {
    timed.overhead_ns = option != nullptr ? option->launch_ns : space_.launch_ns(unit_class);
  }
  timed.run_ns = step.run_ns;
  timed.first_wait = step.first_wait;
  timed.end_wait = step.end_wait;
  if (option != nullptr) {
    timed.candidate = &space_.problem().candidates[option->candidate];
    timed.demand = option->demand;
  }
  return timed;
}

void Scheduler::SlowDown(const Timeline& timeline) {
  slowed_ = steps_;
  for (size_t s = 0; s < slowed_.size(); ++s) {
    slowed_[s].start_ns = timeline.start_ns[s];
    slowed_[s].end_ns = timeline.end_ns[s];
    slowed_[s].blocker = kNothing;
  }
  for (size_t i = 1; i < timeline.critical_path.size(); ++i) {
    slowed_[timeline.critical_path[i].index()].blocker = timeline.critical_path[i - 1].value;
  }
}

std::vector<uint32_t> Scheduler::CriticalChoices() const {
  std::vector<uint32_t> choices;
  const std::span<const ScheduledStep> steps = this->steps();
  if (steps.empty()) return choices;
  uint32_t at = 0;
  for (uint32_t s = 1; s < steps.size(); ++s) {
    if (steps[s].end_ns > steps[at].end_ns) at = s;
  }
  for (; at != kNothing; at = steps[at].blocker) {
    if (steps[at].choice != kNothing) choices.push_back(steps[at].choice);
  }
  std::reverse(choices.begin(), choices.end());
  return choices;
}

}  // namespace pt
