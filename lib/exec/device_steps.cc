// What a run does with devices: launches and captures on the cores that drive them, waits for them, and leaves them at
// rest whatever happens.
#include <algorithm>
#include <cstring>

#include "lib/exec/clock.h"
#include "lib/exec/device_wait.h"
#include "lib/exec/lost_devices.h"
#include "lib/exec/run_state.h"
#include "lib/exec/spin_timer.h"

namespace pt {

using Kind = Instruction::Kind;

// The device reads the run state's memory, never the caller's: that may be gone before a device that hangs lets go.
void RunState::Stage(StepId step) {
  const CompiledStep& compiled = plan_.steps[step.index()];
  if (!compiled.staged) return;
  const TensorPlace& from = plan_.places.instances[compiled.in[0].index()];
  if (from.bytes > 0) std::memcpy(staged_inputs_[step.index()]->data(), AddressOf(from), from.bytes);
}

Status RunState::Launch(StepId step) {
  const CompiledStep& compiled = plan_.steps[step.index()];
  Stream& stream = *streams_[compiled.unit.index()];
  if (timed_ && HasDeviceTimes(step)) PT_CHECK_OK(stream.Record(*start_events_[step.index()]));
  if (compiled.kernel != nullptr) return EnqueueKernel(step, stream);
  if (compiled.copier == nullptr) return {};
  const TensorPlace& to = plan_.places.instances[compiled.out[0].index()];
  const void* from = compiled.staged ? staged_inputs_[step.index()]->data()
                                     : AddressOf(plan_.places.instances[compiled.in[0].index()]);
  return compiled.copier->EnqueueCopy(stream, AddressOf(to), from, to.bytes, compiled.direction, compiled.peer);
}

void RunState::EnqueueStep(StepId step, CoreState& core) {
  NoteStart(step, core);
  if (ShouldStop()) return;
  Stage(step);
  Status status = Launch(step);
  if (!status.ok()) FailStep(step, std::move(status).error());
}

void RunState::RecordStep(StepId step) {
  if (ShouldStop()) return;
  Status status = streams_[plan_.steps[step.index()].unit.index()]->Record(EndOf(step));
  if (status.ok()) {
    recorded_[step.index()] = generation_;
  } else {
    FailStep(step, std::move(status).error());
  }
}

void RunState::StreamWait(StepId step, StepId predecessor) {
  if (ShouldStop()) return;
  Status status = streams_[plan_.steps[step.index()].unit.index()]->Wait(EndOf(predecessor));
  if (!status.ok()) FailStep(step, std::move(status).error());
}

// A run whose steps are timed one by one launches them one by one, and so does one whose device does not record them.
void RunState::LaunchSegment(uint32_t index, CoreState& core) {
  const Segment& segment = plan_.program.segments[index];
  for (StepId step : segment.steps) NoteStart(step, core);
  if (ShouldStop()) return;
  for (StepId step : segment.steps) Stage(step);
  Status status;
  if (timed_ && HasDeviceTimes(segment.steps.front())) {
    status = RunScript(index, Events::kOfAllSteps);
  } else if (is_plain_[index]) {
    status = RunScript(index, Events::kThatAreAskedFor);
  } else {
    status = LaunchRecorded(index, core);
  }
  if (!status.ok()) {
    Fail(std::move(status).error());
    return;
  }
  for (const Instruction& instruction : segment.script) {
    if (instruction.kind == Kind::kRecord) recorded_[instruction.step.index()] = generation_;
  }
}

Status RunState::LaunchRecorded(uint32_t index, CoreState& core) {
  const Segment& segment = plan_.program.segments[index];
  if (executables_[index] == nullptr) {
    core.recorded = true;
    if (Status captured = CaptureSegment(index); !captured.ok()) return RunUnrecorded(index, captured.error());
  }
  const int64_t begin_ns = NowNs();
  Status status = executables_[index]->Launch(*streams_[segment.origin.index()]);
  core.segment_launch_ns += NowNs() - begin_ns;
  return status.ok() ? Status() : Status(Labelled(segment.steps.front(), std::move(status).error()));
}

// What cannot be recorded may still run. Where it cannot do that either the segment is recorded anew next time:
// what was wrong had nothing to do with recording.
Status RunState::RunUnrecorded(uint32_t index, const Error& why) {
  PT_CHECK_OK(RunScript(index, Events::kThatAreAskedFor));
  is_plain_[index] = 1;
  const std::lock_guard lock(refused_mutex_);
  refused_.emplace(index, why.message);
  return {};
}

void RunState::AddRefused(std::map<uint32_t, std::string>& refused) const {
  const std::lock_guard lock(refused_mutex_);
  refused.insert(refused_.begin(), refused_.end());
}

Status RunState::CaptureSegment(uint32_t index) {
  const Segment& segment = plan_.program.segments[index];
  Stream& origin = *streams_[segment.origin.index()];
  if (Status begun = origin.BeginCapture(); !begun.ok()) {
    return Labelled(segment.steps.front(), std::move(begun).error());
  }
  Status recorded = RunScript(index, Events::kThatAreAskedFor);
  Result<std::unique_ptr<Executable>> executable = origin.EndCapture();  // in any case: the stream is to be used again
  PT_CHECK_OK(std::move(recorded));
  if (!executable.ok()) return Labelled(segment.steps.front(), std::move(executable).error());
  executables_[index] = std::move(executable).value();
  return {};
}

Status RunState::RunScript(uint32_t index, Events events) {
  const Segment& segment = plan_.program.segments[index];
  Stream& origin = *streams_[segment.origin.index()];
  if (!segment.others.empty()) PT_CHECK_OK(origin.Record(*forks_[index]));
  for (UnitId unit : segment.others) PT_CHECK_OK(streams_[unit.index()]->Wait(*forks_[index]));
  for (const Instruction& instruction : segment.script) {
    const StepId step = instruction.step;
    Stream& stream = *streams_[plan_.steps[step.index()].unit.index()];
    Status status;
    if (instruction.kind == Kind::kStreamWait) {
      status = stream.Wait(EndOf(StepId(instruction.index)));
    } else if (instruction.kind == Kind::kEnqueue) {
      status = Launch(step);
      if (status.ok() && events == Events::kOfAllSteps) status = stream.Record(EndOf(step));
    } else if (events == Events::kThatAreAskedFor) {
      status = stream.Record(EndOf(step));
    }
    if (!status.ok()) return Labelled(step, std::move(status).error());
  }
  for (StepId last : segment.last) PT_CHECK_OK(origin.Wait(EndOf(last)));
  return {};
}

// Ends when the run is to stop, too: what the device still does is SettleDevices' affair.
void RunState::PollEvent(StepId step, const CoreState& core) {
  // What was not launched because the run stopped is not waited for.
  if (recorded_[step.index()] != generation_) return;
  Event& event = EndOf(step);
  const int64_t begin_ns = NowNs(), since_start_ns = begin_ns - core.begin_ns;
  const std::atomic_ref<int64_t> measured_ns(device_ends_[step.index()].measured_ns);
  const int64_t end_ns =
      ExpectedNs(device_ends_[step.index()].predicted_ns, measured_ns.load(std::memory_order_relaxed));
  const DeviceWait wait(begin_ns, std::max<int64_t>(end_ns - since_start_ns, 0), workers_.crowded());
  while (true) {
    Result<bool> ready = event.Ready();
    if (!ready.ok()) {
      FailDevice(step, std::move(ready).error());
      return;
    }
    const int64_t now_ns = NowNs();
    if (*ready) measured_ns.store(now_ns - core.begin_ns, std::memory_order_relaxed);
    if (*ready || ShouldStop()) return;
    if (const int64_t pause_ns = wait.PauseNs(now_ns); pause_ns > 0) {
      SleepFor(pause_ns);
    } else {
      RelaxCore();
    }
  }
}

void RunState::FailDevice(StepId step, Error error) {
  {
    const std::lock_guard lock(error_mutex_);
    device_failed_ |= !error_;
  }
  FailStep(step, std::move(error));
}

// After a run that failed: nothing that was launched goes on when Run returns, or the device is lost.
void RunState::SettleDevices() {
  const auto asynchronous = [&](size_t unit) { return streams_[unit] != nullptr && teams_[unit] == nullptr; };
  for (size_t unit = 0; unit < streams_.size(); ++unit) {
    if (asynchronous(unit)) streams_[unit]->Revoke();
  }
  const int64_t until_ns = NowNs() + plan_.options.device_grace.count();
  for (size_t unit = 0; unit < streams_.size(); ++unit) {
    if (!asynchronous(unit)) continue;
    const int64_t left_ns = std::max<int64_t>(0, until_ns - NowNs());
    const Result<bool> idle = streams_[unit]->Synchronize(std::chrono::nanoseconds(left_ns));
    if (idle.ok() && !*idle) LoseDevice(plan_.machine.platform().device_of(UnitId(unit)));
  }
  if (!hung_ && device_failed_) BlameStep();
}

void RunState::LoseDevice(DeviceId device) {
  plan_.machine.lost_devices().Mark(device);
  if (!hung_) {
    error_ = DeviceHung(plan_.machine.platform().device(device).name,
                        "did not finish what it had begun within " +
                            std::to_string(plan_.options.device_grace.count() / 1'000'000) +
                            " ms after the run had ended: " + error_->message);
  }
  hung_ = true;
}

// The device reports late and by whatever event was asked first; the first step whose event tells the error made it.
void RunState::BlameStep() {
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    if (!plan_.asynchronous(StepId(i)) || recorded_[i] != generation_) continue;
    Result<bool> ready = EndOf(StepId(i)).Ready();
    if (ready.ok() || ready.error().id == "stream.revoked") continue;
    error_.reset();
    FailStep(StepId(i), std::move(ready).error());
    return;
  }
}

bool RunState::IsIdle() {
  for (size_t unit = 0; unit < streams_.size(); ++unit) {
    if (streams_[unit] == nullptr || teams_[unit] != nullptr) continue;
    if (!IsAtRest(*streams_[unit])) return false;
  }
  return true;
}

}  // namespace pt
