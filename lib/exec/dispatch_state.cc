#include "lib/exec/dispatch_state.h"

#include <algorithm>

#include "lib/exec/clock.h"
#include "lib/exec/thread_state.h"

namespace pt {

DispatchState::DispatchState(const CompiledPlan& plan)
    : RunState(plan),
      table_(*plan.dispatch),
      wanted_(plan.graph->values().size()),
      presence_(std::make_unique<Presence[]>(plan.plan.instances.size())),
      made_(plan.graph->values().size()),
      decisions_(table_, plan.machine.platform().units.size()) {
  for (InstanceId output : table_.outputs) wanted_[ValueOf(output).index()] = output;
}

Result<std::unique_ptr<RunState>> DispatchState::Make(const CompiledPlan& plan) {
  std::unique_ptr<DispatchState> state(new DispatchState(plan));
  PT_CHECK_OK(state->Prepare());
  PT_CHECK_OK(state->FindUnits());
  return std::unique_ptr<RunState>(std::move(state));
}

Status DispatchState::FindUnits() {
  const Platform& platform = plan_.machine.platform();
  unit_of_core_.resize(plan_.program.cores.size());
  for (size_t u = 0; u < streams_.size(); ++u) {
    if (streams_[u] == nullptr) continue;
    const Unit& unit = platform.units[u];
    if (teams_[u] == nullptr) {
      if (unit.link) continue;  // copy engines have no tasks
      queues_.push_back(std::make_unique<Queue>());
      queues_.back()->unit = UnitId(u);
      queues_.back()->tasks.reserve(table_.tasks.size());
      continue;
    }
    for (const auto& [resource, amount] : unit.uses) {
      if (!platform.resources[resource.index()].core) continue;
      UnitId& own = unit_of_core_[core_index_[workers_.worker_of(resource)]];
      if (own.valid()) {
        return MakeError(ErrorCode::kUnsupported, "session.dispatch_core",
                         "the units " + platform.unit(own).name + " and " + unit.name +
                             " share a core, and the run would take either for free while the other works");
      }
      own = UnitId(u);
    }
  }
  return {};
}

Result<RunReport> DispatchState::Run(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs,
                                     Trace* trace, const RunLimits& limits, int64_t start_ns,
                                     std::optional<size_t> /*alone_on*/) {
  if (trace != nullptr) {
    return MakeError(ErrorCode::kUsage, "run.dispatch_trace", "runs that decide where steps go cannot be traced",
                     "trace the run of a plan instead");
  }
  BeginRun();
  PT_ASSIGN(RunReport report, RunState::Run(inputs, outputs, nullptr, limits, start_ns, std::nullopt));
  report.decision_ns = decision_ns_.load();
  return report;
}

// No other thread is there yet: the workers see all of it with the job.
void DispatchState::BeginRun() {
  for (size_t i = 0; i < plan_.plan.instances.size(); ++i) {
    presence_[i].state.store(Presence::kAbsent, std::memory_order_relaxed);
  }
  for (InstanceId input : table_.inputs) {
    made_[ValueOf(input).index()] = input;
    presence_[input.index()].state.store(Presence::kThere, std::memory_order_relaxed);
  }
  for (const std::unique_ptr<Queue>& queue : queues_) {
    queue->asked.store(false, std::memory_order_relaxed);
    queue->attended.store(false, std::memory_order_relaxed);
    queue->tasks.clear();
    queue->oldest = 0;
  }
  launched_.store(0, std::memory_order_relaxed);
  const int64_t begin_ns = NowNs();
  decisions_.Begin();
  decisions_.Decide(begin_ns);
  ended_.store(decisions_.is_done(), std::memory_order_relaxed);
  decision_ns_.store(NowNs() - begin_ns, std::memory_order_relaxed);
}

void DispatchState::RunOnCore(uint32_t worker) noexcept {
  const ScopedFloatState float_state(plan_.options.flush_denormals);
  const size_t index = core_index_[worker];
  CoreState& core = cores_[index];
  core.begin_ns = NowNs();
  SpinTimer timer(workers_.crowded());
  std::optional<uint32_t> looked;  // at which state; none yet
  while (true) {
    const uint32_t seen = changed_.value();  // before the look at what it tells of, the end included
    if (IsOver()) break;
    if (WorkOnce(index, seen != looked)) {
      timer = SpinTimer(workers_.crowded());
    } else {
      WaitForChange(seen, timer);
    }
    looked = seen;
  }
  changed_.Add();
  if (index == 0 && limits_.Over()) workers_.Withdraw(*this);
  core.end_ns = NowNs();
}

// Cores that the run has keep to no list: they need nothing of those that it never got.
void DispatchState::Abandon(std::span<const uint32_t>) noexcept {
  Fail(limits_.error());
  changed_.Add();
}

bool DispatchState::IsOver() noexcept { return ended_.load(std::memory_order_acquire) || ShouldStop(); }

// False when there was nothing to do. Devices first: what they are given runs while this core does its own.
bool DispatchState::WorkOnce(size_t core_index, bool changed) {
  bool worked = false;
  for (const std::unique_ptr<Queue>& queue : queues_) worked |= Attend(*queue, core_index, changed);
  const UnitId unit = unit_of_core_[core_index];
  const uint32_t task = changed && unit.valid() ? Take(unit) : DispatchQueue::kNoTask;
  if (task == DispatchQueue::kNoTask) return worked;
  RunTask(task, core_index);
  return true;
}

uint32_t DispatchState::Take(UnitId unit) {
  const std::lock_guard lock(decision_mutex_);
  return decisions_.Take(unit);
}

// Devices wake no thread: while they work, a thread that has nothing to do goes on asking them.
void DispatchState::WaitForChange(uint32_t seen, SpinTimer& timer) {
  if (launched_.load(std::memory_order_relaxed) > 0) {
    if (!timer.KeepSpinning()) SpinTimer::Doze();
    return;
  }
  changed_.WaitWithin(
      limits_, [seen](uint32_t value) { return value != seen; }, SpinTimer(workers_.crowded()));
}

void DispatchState::RunTask(uint32_t task, size_t core_index) {
  const DispatchPlacement& placement = decisions_.placement(task);
  for (StepId step : placement.steps) {
    if (!BringInputs(step, placement.unit, core_index)) return;
    if (!RunHostStep(step, core_index)) return;
    NoteMade(step);
    if (!BringOutputs(step, placement.unit, core_index)) return;
  }
  FinishTask(task);
}

void DispatchState::FinishTask(uint32_t task) {
  const int64_t begin_ns = NowNs();
  bool is_last = false;
  {
    const std::lock_guard lock(decision_mutex_);
    decisions_.Finish(task, begin_ns);
    decisions_.Decide(begin_ns);
    is_last = decisions_.is_done();
  }
  decision_ns_.fetch_add(NowNs() - begin_ns, std::memory_order_relaxed);
  if (is_last) ended_.store(true, std::memory_order_release);
  changed_.Add();
}

// Of an asynchronous unit: ends what is over and, after a change, launches what it was given. One core does it; others
// that see a change meanwhile leave it word and go. False when there was nothing to do.
bool DispatchState::Attend(Queue& queue, size_t core_index, bool changed) {
  if (changed) queue.asked.store(true);
  bool worked = false;
  do {
    if (queue.attended.exchange(true)) return worked;
    const bool look = queue.asked.exchange(false);
    worked |= EndOldest(queue, core_index);
    if (look) worked |= LaunchGiven(queue, core_index);
    queue.attended.store(false);
  } while (queue.asked.load());
  return worked;
}

bool DispatchState::LaunchGiven(Queue& queue, size_t core_index) {
  bool launched = false;
  while (!ShouldStop()) {
    const uint32_t task = Take(queue.unit);
    if (task == DispatchQueue::kNoTask || !LaunchTask(task, core_index)) break;
    queue.tasks.push_back(task);
    launched_.fetch_add(1, std::memory_order_relaxed);
    launched = true;
  }
  if (launched) changed_.Add();  // who sleeps must ask the device should this core be busy
  return launched;
}

bool DispatchState::EndOldest(Queue& queue, size_t core_index) {
  if (queue.oldest == queue.tasks.size()) return false;
  const uint32_t task = queue.tasks[queue.oldest];
  const DispatchPlacement& placement = decisions_.placement(task);
  if (!IsReady(placement.steps.back())) return false;
  for (StepId step : placement.steps) {
    if (!BringOutputs(step, placement.unit, core_index)) return true;
  }
  ++queue.oldest;
  launched_.fetch_sub(1, std::memory_order_relaxed);
  FinishTask(task);
  return true;
}

bool DispatchState::LaunchTask(uint32_t task, size_t core_index) {
  const DispatchPlacement& placement = decisions_.placement(task);
  for (StepId step : placement.steps) {
    if (!BringInputs(step, placement.unit, core_index)) return false;
    if (!LaunchStep(step, core_index)) return false;
    NoteMade(step);
  }
  return true;
}

// Behind what it reads: on the device where that can be, else the core waits. False when the run is to stop.
bool DispatchState::LaunchStep(StepId step, size_t core_index) {
  const CompiledStep& compiled = plan_.steps[step.index()];
  for (InstanceId in : compiled.in) {
    const Presence& presence = presence_[in.index()];
    if (presence.state.load(std::memory_order_acquire) != Presence::kLaunched) continue;
    const StepId maker = presence.step;
    if (plan_.steps[maker.index()].unit == compiled.unit) continue;  // its stream keeps the order
    if (!plan_.driver(step).CanWaitFor(plan_.driver(maker))) {
      if (!AwaitThere(in)) return false;
      continue;
    }
    const std::lock_guard lock(device_mutex_);
    StreamWait(step, maker);
  }
  {
    const std::lock_guard lock(device_mutex_);
    EnqueueStep(step, cores_[core_index]);
    RecordStep(step);
  }
  if (ShouldStop()) return false;
  for (InstanceId out : compiled.out) {
    presence_[out.index()].step = step;
    presence_[out.index()].state.store(Presence::kLaunched, std::memory_order_release);
  }
  return true;
}

bool DispatchState::BringInputs(StepId step, UnitId unit, size_t core_index) {
  const bool on_host = teams_[unit.index()] != nullptr;
  return std::ranges::all_of(plan_.steps[step.index()].in, [&](InstanceId in) {
    return Bring(in, unit, core_index) && (!on_host || AwaitThere(in));
  });
}

// To the caller, what he wants of the step's results.
bool DispatchState::BringOutputs(StepId step, UnitId unit, size_t core_index) {
  return std::ranges::all_of(plan_.steps[step.index()].out, [&](InstanceId out) {
    const InstanceId wanted = wanted_[ValueOf(out).index()];
    return !wanted.valid() || (Bring(wanted, unit, core_index) && AwaitThere(wanted));
  });
}

// So that it is there, or launched. False when the run is to stop.
bool DispatchState::Bring(InstanceId wanted, UnitId unit, size_t core_index) {
  if (presence_[wanted.index()].state.load(std::memory_order_acquire) >= Presence::kLaunched) return true;
  const DispatchRoute* route = FindRoute(table_, made_[ValueOf(wanted).index()], wanted);
  return std::ranges::all_of(route->moves, [&](uint32_t move) { return Carry(table_.moves[move], unit, core_index); });
}

bool DispatchState::Carry(const DispatchMove& move, UnitId unit, size_t core_index) {
  Presence& presence = presence_[move.to.index()];
  uint8_t absent = Presence::kAbsent;
  if (!presence.state.compare_exchange_strong(absent, Presence::kComing, std::memory_order_acq_rel)) {
    SpinTimer timer(workers_.crowded());
    while (presence.state.load(std::memory_order_acquire) < Presence::kLaunched) {
      if (ShouldStop()) return false;
      if (!timer.KeepSpinning()) SpinTimer::Doze();
    }
    return true;
  }
  const StepId step = WayOf(plan_.plan, move, unit, unit_of_core_[core_index]);
  if (plan_.asynchronous(step)) return LaunchStep(step, core_index);
  if (!AwaitThere(move.from) || !RunHostStep(step, core_index)) return false;
  presence.state.store(Presence::kThere, std::memory_order_release);
  return true;
}

// On the core's own unit. False when the run is to stop.
bool DispatchState::RunHostStep(StepId step, size_t core_index) {
  if (plan_.steps[step.index()].kernel == nullptr) return true;  // of no bytes
  cores_[core_index].step_end_ns = 0;                            // there were decisions since the step before
  return RunTeamStep(step, core_index) && !ShouldStop();
}

bool DispatchState::AwaitThere(InstanceId instance) {
  Presence& presence = presence_[instance.index()];
  if (presence.state.load(std::memory_order_acquire) == Presence::kThere) return true;
  SpinTimer timer(workers_.crowded());
  while (!IsReady(presence.step)) {
    if (ShouldStop()) return false;
    if (!timer.KeepSpinning()) SpinTimer::Doze();
  }
  presence.state.store(Presence::kThere, std::memory_order_release);
  return true;
}

// What was launched is over; false, too, when the device fails.
bool DispatchState::IsReady(StepId step) {
  Result<bool> ready = false;
  {
    const std::lock_guard lock(device_mutex_);
    ready = EndOf(step).Ready();
  }
  if (!ready.ok()) FailDevice(step, std::move(ready).error());
  return ready.ok() && *ready;
}

// Whoever reads it comes later on this core, or behind the decision that ends this task.
void DispatchState::NoteMade(StepId step) {
  const bool on_host = !plan_.asynchronous(step);
  for (InstanceId out : plan_.steps[step.index()].out) {
    made_[ValueOf(out).index()] = out;
    if (on_host) presence_[out.index()].state.store(Presence::kThere, std::memory_order_release);
  }
}

}  // namespace pt
