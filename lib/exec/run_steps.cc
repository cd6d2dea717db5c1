// The hot path of RunState: what happens on the cores during a run. Nothing here allocates unless a step fails.
#include <algorithm>

#include "lib/exec/clock.h"
#include "lib/exec/run_state.h"
#include "lib/exec/thread_state.h"
#include "partitiontuner/exec/unit_runner.h"

namespace pt {

using Kind = Instruction::Kind;

void RunState::RunOnCore(uint32_t worker) noexcept {
  const ScopedFloatState float_state(plan_.options.flush_denormals);
  const size_t index = core_index_[worker];
  CoreState& core = cores_[index];
  core.begin_ns = NowNs();
  for (const Instruction& instruction : plan_.program.lists[index]) Execute(instruction, index);
  core.end_ns = NowNs();
}

void RunState::Execute(const Instruction& instruction, size_t core_index) {
  CoreState& core = cores_[core_index];
  const StepId step = instruction.step;
  switch (instruction.kind) {
    case Kind::kRunTeam:
      RunTeamStep(step, core);
      break;
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
      flags_[instruction.index].WaitEqual(generation_, workers_.crowded());
      break;
    case Kind::kPollEvent:
      NoteWaiting(core);
      PollEvent(step);
      break;
    case Kind::kDrain:
      Drain(step);
      break;
  }
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

void RunState::RunTeamStep(StepId step, CoreState& core) {
  const CompiledStep& compiled = plan_.steps[step.index()];
  WorkerTeam& team = *teams_[compiled.unit.index()];
  if (team.width() > 1) NoteWaiting(core);
  team.Gather();
  StepTimes& times = times_[step.index()];
  if (timed_) {
    times.start_ns = NowNs();
    times.wait_ns = core.waiting_since_ns == 0 ? 0 : times.start_ns - core.waiting_since_ns;
    core.waiting_since_ns = 0;
  }
  if (!ShouldStop()) {
    Status status = kernels_[step.index()]->Enqueue(*streams_[compiled.unit.index()], StaticOutputs());
    if (!status.ok()) FailStep(step, std::move(status).error());
  }
  if (timed_) times.end_ns = NowNs();
  if (plan_.simulated) FinishVirtually(step, core, times.end_ns - times.start_ns);
  team.Release();
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
  if (compiled.kernel != nullptr) return kernels_[step.index()]->Enqueue(stream, StaticOutputs());
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

bool RunState::ShouldStop() {
  if (stopped_.load(std::memory_order_relaxed)) return true;
  if (cancel_ != nullptr && cancel_->cancelled()) {
    Fail(MakeError(ErrorCode::kRunFailed, "run.cancelled", "the run was cancelled"));
    return true;
  }
  if (deadline_ns_ && NowNs() >= *deadline_ns_) {
    Fail(MakeError(ErrorCode::kRunFailed, "run.deadline", "the run was not over by its deadline"));
    return true;
  }
  return false;
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
