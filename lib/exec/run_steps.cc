// The hot path of RunState: what happens on the cores during a run. Nothing here allocates unless a step fails.
#include <algorithm>

#include "lib/exec/clock.h"
#include "lib/exec/run_state.h"
#include "lib/exec/thread_state.h"

namespace pt {

using Kind = Instruction::Kind;

void RunState::RunOnCore(uint32_t worker) noexcept {
  const ScopedFloatState float_state(plan_.options.flush_denormals);
  const size_t index = core_index_[worker];
  CoreState& core = cores_[index];
  core.begin_ns = NowNs();
  const std::vector<Instruction>& list = plan_.program.lists[index];
  for (size_t i = 0; i < list.size(); ++i) {
    if (Execute(list[i], index)) continue;
    Fail(limits_.error());
    GiveUp(i, workers_.Withdraw(*this));
    break;
  }
  core.end_ns = NowNs();
}

void RunState::Abandon(std::span<const uint32_t> cores) noexcept {
  Fail(limits_.error());
  GiveUp(plan_.program.lists[0].size(), cores);
}

// The calling thread works off what is left of its own list, from `next` on, and the lists of the cores that the
// stopped run never got. Nothing is computed any more, but the cores that did begin wait for signals, leaders and
// helpers from these lists. They take turns, and none blocks: of all that any list still has to do, the earliest step
// of the plan waits for nothing, whether it is here or on another core, so there is always something that goes on.
void RunState::GiveUp(size_t next, std::span<const uint32_t> withdrawn) {
  rests_.clear();
  if (next < plan_.program.lists[0].size()) rests_.push_back({0, next});
  for (uint32_t worker : withdrawn) rests_.push_back({core_index_[worker], 0});
  size_t unfinished = rests_.size();
  while (unfinished > 0) {
    unfinished = 0;
    bool waits = true;
    for (Rest& rest : rests_) {
      const std::vector<Instruction>& list = plan_.program.lists[rest.core];
      while (rest.next < list.size() && TryPass(list[rest.next], rest)) {
        ++rest.next;
        waits = false;
      }
      if (rest.next < list.size()) ++unfinished;
    }
    if (unfinished > 0 && waits) SpinTimer::Doze();
  }
}

// True when the instruction of a stopped run is done with, by a thread that does not have its core.
bool RunState::TryPass(const Instruction& instruction, Rest& rest) {
  switch (instruction.kind) {
    case Kind::kRunTeam: {
      WorkerTeam& team = *teams_[plan_.steps[instruction.step.index()].unit.index()];
      if (!team.TryGather()) return false;
      team.Release();
      return true;
    }
    case Kind::kHelp: {
      WorkerTeam& team = *teams_[plan_.steps[instruction.step.index()].unit.index()];
      if (!rest.arrived) rest.arrived = team.TryArrive(instruction.index);
      if (!rest.arrived || !team.TryLeave(instruction.index)) return false;
      rest.arrived = false;
      return true;
    }
    case Kind::kSignal:
      flags_[instruction.index].Set(generation_);
      return true;
    case Kind::kEnqueue:  // nothing is launched, so nothing is waited for
    case Kind::kRecord:
    case Kind::kStreamWait:
    case Kind::kLaunch:
    case Kind::kPass:
    case Kind::kWaitFlag:
    case Kind::kPollEvent:
    case Kind::kDrain:
      return true;
  }
  return true;
}

bool RunState::Execute(const Instruction& instruction, size_t core_index) {
  CoreState& core = cores_[core_index];
  const StepId step = instruction.step;
  if (instruction.kind != Kind::kRunTeam) core.step_end_ns = 0;
  switch (instruction.kind) {
    case Kind::kRunTeam:
      return RunTeamStep(step, core_index);
    case Kind::kHelp:
      teams_[plan_.steps[step.index()].unit.index()]->Help(instruction.index);
      break;
    case Kind::kEnqueue:
      EnqueueStep(step, core);
      break;
    case Kind::kRecord:
      RecordStep(step);
      break;
    case Kind::kStreamWait:
      StreamWait(step, StepId(instruction.index));
      break;
    case Kind::kLaunch:
      LaunchSegment(instruction.index, core);
      break;
    case Kind::kPass:
      PassStep(step);
      break;
    case Kind::kSignal:
      flags_[instruction.index].Set(generation_);
      break;
    case Kind::kWaitFlag:
      NoteWaiting(core);
      if (core_index > 0) {
        flags_[instruction.index].WaitEqual(generation_, workers_.crowded());
        break;
      }
      return flags_[instruction.index].WaitWithin(
          limits_, [this](uint32_t v) { return v == generation_; }, SpinTimer(workers_.crowded()));
    case Kind::kPollEvent:
      NoteWaiting(core);
      PollEvent(step, core);
      break;
    case Kind::kDrain:
      Drain(step, core);
      break;
  }
  return true;
}

void RunState::NoteWaiting(CoreState& core) const {
  if (timed_ && core.waiting_since_ns == 0) core.waiting_since_ns = NowNs();
}

void RunState::NoteStart(StepId step, CoreState& core) {
  if (!timed_) return;
  StepTimes& times = times_[step.index()];
  times.start_ns = NowNs();
  times.wait_ns = core.waiting_since_ns == 0 ? 0 : times.start_ns - core.waiting_since_ns;
  core.waiting_since_ns = 0;
}

// On a team that is gathered, or by a thread that runs alone.
inline void RunState::RunKernel(StepId step, CoreState& core) {
  const CompiledStep& compiled = plan_.steps[step.index()];
  // One reading of the clock ends a step and starts the next, where nothing lies between them.
  const bool at_once = core.step_end_ns != 0 && !timed_;
  const int64_t start_ns = at_once ? core.step_end_ns : NowNs();
  bool ran = false;
  if (!ShouldStop()) {
    if (compiled.kernel->brings_threads()) teams_[compiled.unit.index()]->Park();
    Status status = EnqueueKernel(step, *streams_[compiled.unit.index()]);
    ran = status.ok();
    if (!ran) FailStep(step, std::move(status).error());
  }
  const int64_t end_ns = NowNs();
  if (ran) counters_[step.index()]->Note(end_ns - start_ns);
  core.step_end_ns = end_ns;
  if (timed_) {
    const int64_t wait_ns = core.waiting_since_ns == 0 ? 0 : start_ns - core.waiting_since_ns;
    times_[step.index()] = {wait_ns, start_ns, end_ns};
    core.waiting_since_ns = 0;
  }
}

bool RunState::RunTeamStep(StepId step, size_t core_index) {
  CoreState& core = cores_[core_index];
  WorkerTeam& team = *teams_[plan_.steps[step.index()].unit.index()];
  if (team.width() > 1) {
    NoteWaiting(core);
    core.step_end_ns = 0;
  }
  if (!team.Gather(core_index == 0 ? limits_ : RunLimits())) return false;
  RunKernel(step, core);
  team.Release();
  return true;
}

// All steps in the plan's order, which every list keeps to: nothing is waited for.
void RunState::RunAlone() noexcept {
  const ScopedFloatState float_state(plan_.options.flush_denormals);
  const WorkerTeam::ScopedAlone alone;
  CoreState& core = cores_[0];
  core.begin_ns = NowNs();
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    if (plan_.places.actions[i] == StepAction::kRun) RunKernel(StepId(i), core);
  }
  core.end_ns = NowNs();
}

void RunState::PassStep(StepId step) {
  if (!timed_) return;
  const int64_t now = NowNs();
  times_[step.index()] = {0, now, now};
}

void RunState::Drain(StepId last, const CoreState& core) {
  // The stream keeps its order, so its last event stands for all; after a failure the last recorded one does.
  const UnitId unit = plan_.steps[last.index()].unit;
  for (size_t i = last.index() + 1; i-- > 0;) {
    if (plan_.steps[i].unit != unit || recorded_[i] != generation_) continue;
    PollEvent(StepId(i), core);
    return;
  }
}

Status RunState::EnqueueKernel(StepId step, Stream& stream) {
  StepOutputs outputs(*run_time_tensors_, step);
  PT_CHECK_OK(kernels_[step.index()]->Enqueue({stream, outputs, pool_, *this}));
  return run_time_tensors_->FinishStep(step);
}

bool RunState::ShouldStop() noexcept {
  if (stopped_.load(std::memory_order_relaxed)) return true;
  if (!limits_.Over()) return false;
  Fail(limits_.error());
  return true;
}

void RunState::Fail(Error error) {
  const std::lock_guard lock(error_mutex_);
  if (!error_) error_ = std::move(error);
  stopped_.store(true, std::memory_order_relaxed);
}

Error RunState::Labelled(StepId step, Error error) const {
  error.message = StepLabel(plan_, step) + ": " + error.message;
  if (error.device.empty()) error.device = plan_.unit(step).name;
  return error;
}

void RunState::FailStep(StepId step, Error error) { Fail(Labelled(step, std::move(error))); }

}  // namespace pt
