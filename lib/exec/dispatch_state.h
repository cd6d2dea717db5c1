// DispatchState: a run state of a session that decides while it runs which ready task goes to which unit
// (DispatchQueue). It works off the same compiled steps as RunState, with the same memory, streams and errors, but in
// an order of its own: there are no lists.
//
// Every core of the run goes round the same loop: it looks after the devices (launches what was given to their units,
// asks whether what they began is over), does the next task of its own unit, or waits for a change. Whoever ends a task
// decides what becomes ready by that. What a task reads is brought to it first, each instance once a run, by whoever
// comes first; others wait until it is there.
//
// Why waits form no cycle: a core waits for an instance that another one is bringing, or for an event of a device.
// Who brings an instance waits for no other instance but those that the same route has brought already, and holds no
// lock that others need. Work on a device waits for nothing but work that was launched before it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/exec/dispatch_queue.h"
#include "lib/exec/run_state.h"
#include "lib/exec/sync.h"

namespace pt {

// A run allocates nothing, but where it fails.
class DispatchState final : public RunState {
 public:
  // Of a plan with a table. It must outlive this.
  static Result<std::unique_ptr<RunState>> Make(const CompiledPlan& plan);

  Result<RunReport> Run(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs, Trace* trace,
                        const RunLimits& limits, int64_t start_ns, std::optional<size_t> alone_on) override;
  void RunOnCore(uint32_t core) noexcept override;
  void Abandon(std::span<const uint32_t> cores) noexcept override;

 private:
  // Whether an instance is there in this run.
  struct Presence {
    enum State : uint8_t {
      kAbsent,
      kComing,    // somebody is about to make it
      kLaunched,  // it is there once the event of `step` is ready
      kThere,
    };
    Atomic<uint8_t> state{kAbsent};
    StepId step;  // set before kLaunched
  };
  // The tasks of an asynchronous unit that were launched and are not over, oldest first.
  struct Queue {
    UnitId unit;
    Atomic<bool> asked{false};     // something changed since it was looked after
    Atomic<bool> attended{false};  // by the one core that may touch what follows
    std::vector<uint32_t> tasks;   // room for all
    size_t oldest = 0;
  };

  explicit DispatchState(const CompiledPlan& plan);
  Status FindUnits();
  void BeginRun();

  bool IsOver() noexcept;
  bool WorkOnce(size_t core_index, bool changed);
  uint32_t Take(UnitId unit);
  void WaitForChange(uint32_t seen, SpinTimer& timer);
  void RunTask(uint32_t task, size_t core_index);
  void FinishTask(uint32_t task);

  bool Attend(Queue& queue, size_t core_index, bool changed);
  bool EndOldest(Queue& queue, size_t core_index);
  bool LaunchGiven(Queue& queue, size_t core_index);
  bool LaunchTask(uint32_t task, size_t core_index);
  bool LaunchStep(StepId step, size_t core_index);

  bool BringInputs(StepId step, UnitId unit, size_t core_index);
  bool BringOutputs(StepId step, UnitId unit, size_t core_index);
  bool Bring(InstanceId wanted, UnitId unit, size_t core_index);
  bool Carry(const DispatchMove& move, UnitId unit, size_t core_index);
  bool RunHostStep(StepId step, size_t core_index);
  bool AwaitThere(InstanceId instance);
  bool IsReady(StepId step);
  void NoteMade(StepId step);
  ValueId ValueOf(InstanceId id) const { return plan_.plan.instances[id.index()].value; }

  const DispatchTable& table_;
  std::vector<UnitId> unit_of_core_;            // by place in the program; invalid where no unit is
  std::vector<std::unique_ptr<Queue>> queues_;  // of asynchronous units with tasks
  std::vector<InstanceId> wanted_;              // by value: what the caller wants of it; invalid for most
  std::unique_ptr<Presence[]> presence_;        // by instance
  std::vector<InstanceId> made_;                // by value: the instance that a group or the caller made
  Mutex decision_mutex_;                        // guards decisions_
  DispatchQueue decisions_;
  Mutex device_mutex_;  // held for single calls of devices, which take one caller at a time
  Flag changed_;        // with every decision, and at the end
  Atomic<bool> ended_{false};
  Atomic<uint32_t> launched_{0};  // tasks on devices: somebody must go on asking for them
  std::atomic<int64_t> decision_ns_{0};
};

}  // namespace pt
