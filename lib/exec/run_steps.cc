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
  if (next >= plan_.program.lists[0].size()) return;
  // Units that only this core waits for, now that nobody waits for this core.
  for (const Instruction& instruction : plan_.program.lists[0]) {
    if (instruction.kind == Kind::kDrain) Drain(instruction.step);
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
      PollEvent(step);
      break;
    case Kind::kDrain:
      Drain(step);
      break;
  }
  return true;
}

void RunState::NoteWaiting(CoreState& core) const {
  if (timed_ && core.waiting_since_ns == 0) core.waiting_since_ns = NowNs();
}

// By the virtual clock a step starts when all that it follows is over and its cores are free.
int64_t RunState::VirtualStart(StepId step) const {
  int64_t start = 0;
  for (StepId before : plan_.program.before[step.index()]) {
    start = std::max(start, virtual_end_[before.index()]);
  }
  return start;
}

bool RunState::RunTeamStep(StepId step, size_t core_index) {
  CoreState& core = cores_[core_index];
  const CompiledStep& compiled = plan_.steps[step.index()];
  WorkerTeam& team = *teams_[compiled.unit.index()];
  if (team.width() > 1) NoteWaiting(core);
  if (!team.Gather(core_index == 0 ? limits_ : RunLimits())) return false;
  // One reading of the clock ends a step and starts the next, where nothing lies between them.
  const bool at_once = core.step_end_ns != 0 && team.width() == 1 && !timed_;
  const int64_t start_ns = at_once ? core.step_end_ns : NowNs();
  bool ran = false;
  if (!ShouldStop()) {
    if (compiled.kernel->brings_threads()) team.Park();
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
  if (plan_.simulated) FinishVirtually(step, core, end_ns - start_ns);
  team.Release();
  return true;
}

// The helpers of a wide unit are not gathered for this, so their cores' clocks stay untouched.
void RunState::PassStep(StepId step) {
  if (timed_) times_[step.index()] = {0, NowNs(), NowNs()};
  if (plan_.simulated) virtual_start_[step.index()] = virtual_end_[step.index()] = VirtualStart(step);
}

// Under the team's gathering, so that the states of all its cores may be touched.
void RunState::FinishVirtually(StepId step, const CoreState& core, int64_t ns) {
  const int64_t idle_since = core.virtual_ns;
  int64_t start = VirtualStart(step);
  const auto for_each_core = [&](auto visit) {
    for (const auto& [resource, amount] : plan_.unit(step).uses) {
      const uint32_t worker = workers_.worker_of(resource);
      if (worker < core_index_.size()) visit(cores_[core_index_[worker]]);
    }
  };
  for_each_core([&](const CoreState& core) { start = std::max(start, core.virtual_ns); });
  virtual_start_[step.index()] = start;
  virtual_end_[step.index()] = start + ns;
  times_[step.index()].wait_ns = start - idle_since;
  for_each_core([&](CoreState& core) { core.virtual_ns = start + ns; });
}

void RunState::EnqueueStep(StepId step, CoreState& core) {
  const CompiledStep& compiled = plan_.steps[step.index()];
  Stream& stream = *streams_[compiled.unit.index()];
  Event& event = *events_[step.index()];
  StepTimes& times = times_[step.index()];
  if (timed_) {
    times.start_ns = NowNs();
    times.wait_ns = core.waiting_since_ns == 0 ? 0 : times.start_ns - core.waiting_since_ns;
    core.waiting_since_ns = 0;
    ready_ns_[step.index()].store(0, std::memory_order_relaxed);
  }
  if (plan_.simulated) {
    // Launching in order holds the driver's core up, but not for what the same stream still has to do.
    for (StepId before : plan_.program.before[step.index()]) {
      if (plan_.steps[before.index()].unit == compiled.unit) continue;
      core.virtual_ns = std::max(core.virtual_ns, virtual_end_[before.index()]);
    }
    virtual_start_[step.index()] = std::max(core.virtual_ns, VirtualStart(step));
    virtual_end_[step.index()] = virtual_start_[step.index()];
    stream.AdvanceVirtualClock(virtual_base_ns_ + virtual_start_[step.index()]);
  }
  if (ShouldStop()) return;
  Status status = Launch(step);
  if (status.ok()) status = stream.Record(event);
  if (!status.ok()) {
    FailStep(step, std::move(status).error());
    return;
  }
  recorded_[step.index()] = generation_;
  if (!plan_.simulated) return;
  if (const std::optional<int64_t> end = event.virtual_ns()) {
    virtual_end_[step.index()] = *end - virtual_base_ns_;
  }
}

Status RunState::Launch(StepId step) {
  const CompiledStep& compiled = plan_.steps[step.index()];
  Stream& stream = *streams_[compiled.unit.index()];
  if (compiled.kernel != nullptr) return EnqueueKernel(step, stream);
  if (compiled.copier == nullptr) return {};
  const TensorPlace& from = plan_.places.instances[compiled.in[0].index()];
  const TensorPlace& to = plan_.places.instances[compiled.out[0].index()];
  return compiled.copier->EnqueueCopy(stream, AddressOf(to), AddressOf(from), to.bytes, compiled.direction);
}

void RunState::PollEvent(StepId step) {
  // What was not launched because the run stopped is not waited for.
  if (recorded_[step.index()] != generation_) return;
  Event& event = *events_[step.index()];
  SpinTimer timer(workers_.crowded());
  while (true) {
    Result<bool> ready = event.Ready();
    if (!ready.ok()) {
      FailStep(step, std::move(ready).error());
      break;
    }
    if (*ready) break;
    ShouldStop();  // a deadline shall not wait for the device
    if (!timer.KeepSpinning()) SpinTimer::Doze();
  }
  int64_t not_seen = 0;  // several cores may wait for one event; the first to see it ready says when
  if (timed_) ready_ns_[step.index()].compare_exchange_strong(not_seen, NowNs(), std::memory_order_relaxed);
}

void RunState::Drain(StepId last) {
  // The stream keeps its order, so its last event stands for all; after a failure the last recorded one does.
  const UnitId unit = plan_.steps[last.index()].unit;
  for (size_t i = last.index() + 1; i-- > 0;) {
    if (plan_.steps[i].unit != unit || recorded_[i] != generation_) continue;
    PollEvent(StepId(i));
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

void RunState::FailStep(StepId step, Error error) {
  error.message = StepLabel(plan_, step) + ": " + error.message;
  if (error.device.empty()) error.device = plan_.unit(step).name;
  Fail(std::move(error));
}

}  // namespace pt
