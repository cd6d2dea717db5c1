// RunState: what one run at a time needs of a session: memory, bound kernels, streams, flags. Made once, used for run
// after run; a run with the same buffers as before allocates nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/block_pool.h"
#include "lib/exec/compiled_plan.h"
#include "lib/exec/flag.h"
#include "lib/exec/run_time_tensors.h"
#include "lib/exec/sync.h"
#include "lib/exec/team.h"
#include "lib/exec/workers.h"
#include "partitiontuner/plan/timeline.h"

namespace pt {

class RunState : public CoreJob, protected StopFlag {
 public:
  // Allocates arenas, streams and events, and binds what the caller's buffers do not touch.
  static Result<std::unique_ptr<RunState>> Make(const CompiledPlan& plan);

  // True when the kernels at the boundary are bound to these very buffers.
  bool IsBoundTo(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs) const;

  // One run; the calling thread lends itself. `start_ns`: when the caller came. `trace` may be null. `alone_on`: the
  // calling thread does every step, in the plan's order, and holds that one of AloneWorkers and no other; only where
  // CanRunAlone, and without a trace.
  virtual Result<RunReport> Run(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs, Trace* trace,
                                const RunLimits& limits, int64_t start_ns, std::optional<size_t> alone_on);

  // Adds what its steps have taken so far; from any thread at any time.
  void AddCounters(std::vector<StepCounter>& sums) const;

  // Adds the segments that a device did not record, with the reason; from any thread at any time.
  void AddRefused(std::map<uint32_t, std::string>& refused) const;

  void RunOnCore(uint32_t core) noexcept override;
  void Abandon(std::span<const uint32_t> cores) noexcept override;

  // After a run that failed: a device still works on this run state's memory. It must not be used or destroyed until
  // IsIdle.
  bool hung() const { return hung_; }
  bool IsIdle();

  // Plans with other steps than the host's have more than their caller could do, and those for one core are done by it
  // anyhow, unless any core of the machine will do. Kernels that bring threads use them whoever calls. A sequential
  // twin is there to be compared with.
  static bool CanRunAlone(const CompiledPlan& plan);
  // The workers of which a run that goes alone holds one; of all runs where CanRunAlone does not hold.
  static std::vector<uint32_t> AloneWorkers(const CompiledPlan& plan);

 protected:  // for DispatchState, which works off the same steps in an order of its own
  struct alignas(64) StepFlag : Flag {};
  // Of a step of a device, from the start of a run on: what the plan says, and when the run before has seen it.
  struct DeviceEnd {
    int64_t predicted_ns = 0, measured_ns = 0;  // 0: not known
  };
  struct StepTimes {
    int64_t wait_ns = 0, start_ns = 0, end_ns = 0;
  };
  // What a core keeps while it works through its list.
  struct alignas(64) CoreState {
    int64_t begin_ns = 0, end_ns = 0;
    int64_t waiting_since_ns = 0;  // 0 = has not waited since its last step
    int64_t step_end_ns = 0;       // of the step before; 0 = there has been something else since
    int64_t segment_launch_ns = 0;
    bool recorded = false;  // a segment, so that its launch is not an ordinary one
  };
  // Traced runs: what ties a device's clock to the host's.
  struct DeviceClock {
    std::unique_ptr<Event> event;
    int64_t host_ns = 0;  // when it was recorded
  };

  explicit RunState(const CompiledPlan& plan);
  Status Prepare();
  Status Allocate();
  void PlaceCounters();
  void PredictDeviceEnds();
  DeviceDriver* CopierOfArena(DeviceId arena) const;
  Status AllocateStaging(StepId step);
  Status Bind(StepId step);
  void SetAside(StepId step);
  Status BindBoundary(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs);
  void* AddressOf(const TensorPlace& place) const;
  void SetAddresses(const std::vector<InstanceId>& instances);
  std::vector<const TensorView*> SlotsOf(const std::vector<InstanceId>& instances) const;

  // What belongs to the kernel of a step that reads or writes the caller's buffers. Those of the buffers before these
  // are kept bound as well, for callers that use two sets of buffers in turns.
  struct BoundaryStep {
    std::vector<void*> now, before;  // the buffers that the kernel, and the other one, are bound to
    std::unique_ptr<BoundKernel> other;
  };

  // The times of a step, written by the core that leads it and read by anybody.
  struct Counter {
    std::atomic<uint64_t> runs{0};
    std::atomic<int64_t> last_ns{0}, min_ns{0}, sum_ns{0};
    void Note(int64_t ns);
  };
  struct alignas(64) CounterLine {
    Counter counters[2];
  };

  // What is left of a core's list, in a run that has stopped.
  struct Rest {
    size_t core = 0;
    size_t next = 0;       // instruction
    bool arrived = false;  // the next one is Help, and the helper has arrived
  };

  // False, on the caller's core only, when the run's limits are over before what the instruction waits for.
  bool Execute(const Instruction& instruction, size_t core_index);
  bool RunTeamStep(StepId step, size_t core_index);
  void RunKernel(StepId step, CoreState& core);
  void RunAlone() noexcept;
  void GiveUp(size_t next, std::span<const uint32_t> withdrawn);
  bool TryPass(const Instruction& instruction, Rest& rest);
  void PassStep(StepId step);
  void EnqueueStep(StepId step, CoreState& core);
  void RecordStep(StepId step);
  void StreamWait(StepId step, StepId predecessor);
  void LaunchSegment(uint32_t index, CoreState& core);
  Status LaunchRecorded(uint32_t index, CoreState& core);
  Status RunUnrecorded(uint32_t index, const Error& why);
  Status CaptureSegment(uint32_t index);
  enum class Events : uint8_t { kThatAreAskedFor, kOfAllSteps };  // the latter tell when each step was over
  Status RunScript(uint32_t index, Events events);
  Status Launch(StepId step);
  void Stage(StepId step);
  void PollEvent(StepId step, const CoreState& core);
  void Drain(StepId last, const CoreState& core);
  void NoteWaiting(CoreState& core) const;
  void NoteStart(StepId step, CoreState& core);
  bool ShouldStop() noexcept override;
  Status EnqueueKernel(StepId step, Stream& stream);
  std::vector<TensorView> InputViews(std::span<const LentTensor> inputs) const;
  std::vector<Datum> KeepOutputs(std::span<const LentTensor> inputs);
  void Fail(Error error);
  Error Labelled(StepId step, Error error) const;
  void FailStep(StepId step, Error error);
  void FailDevice(StepId step, Error error);

  void PrepareTimeline();
  DeviceCosts KnownDeviceCosts() const;
  Status PrepareTrace();
  void SettleDevices();
  void LoseDevice(DeviceId device);
  void BlameStep();
  void DeliverOutputs(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs) const;
  Timeline VirtualTimeline();
  RunReport ReportOf(int64_t start_ns, const Timeline& timeline) const;
  void FillTrace(Trace& trace, const RunReport& report, const Timeline& timeline);
  bool HasDeviceTimes(StepId step) const;
  Event& EndOf(StepId step) const;  // the event of this run
  void AddDeviceTimes(StepId step);

  // A run whose caller does everything: holds one core.
  class AloneJob final : public CoreJob {
   public:
    explicit AloneJob(RunState& run) : run_(run) {}
    void RunOnCore(uint32_t /*core*/) noexcept override { run_.RunAlone(); }
    void Abandon(std::span<const uint32_t> /*cores*/) noexcept override { run_.Fail(run_.limits_.error()); }

   private:
    RunState& run_;
  };

  const CompiledPlan& plan_;
  Workers& workers_;
  std::vector<std::unique_ptr<AloneJob>> alone_jobs_;  // by AloneWorkers: the one it holds
  std::vector<size_t> core_index_;                     // by worker: its place in the program

  // Memory and kernels.
  std::vector<std::unique_ptr<DeviceBuffer>> arenas_;          // by device; null where the plan needs none
  std::vector<std::unique_ptr<DeviceBuffer>> extra_scratch_;   // by step: what a kernel wants beyond its plan
  std::vector<std::unique_ptr<WorkerTeam>> teams_;             // by unit; null on asynchronous ones
  std::vector<std::unique_ptr<Stream>> streams_;               // by unit in use
  std::vector<std::unique_ptr<Event>> events_;                 // by asynchronous step
  std::vector<std::unique_ptr<Event>> start_events_;           // of timed runs: where there are device times
  std::vector<std::unique_ptr<Event>> end_events_;             // likewise; they stand in the place of events_ then
  std::vector<std::unique_ptr<DeviceBuffer>> staged_inputs_;   // by copy step that reads the caller's buffer
  std::vector<std::unique_ptr<DeviceBuffer>> staged_outputs_;  // by output
  std::vector<std::unique_ptr<Event>> forks_;                  // by segment: where its units part
  std::vector<DeviceEnd> device_ends_;                         // by step
  std::vector<std::unique_ptr<Executable>> executables_;       // by segment: null until recorded
  std::vector<uint8_t> is_plain_;                              // by segment: its device does not record it
  std::vector<std::unique_ptr<BoundKernel>> kernels_;          // by step
  std::vector<TensorView> slots_;                              // by instance: what bound kernels look at
  BlockPool pool_;                                             // of what is sized only in a run
  std::optional<RunTimeTensors> run_time_tensors_;
  std::vector<void*> bound_inputs_, bound_outputs_;
  std::vector<BoundaryStep> boundary_;  // by step
  std::vector<StepId> to_bind_;         // of the run that begins: those with other buffers than in the run before
  std::vector<void*> buffers_;          // of one of them

  // The run in progress.
  uint32_t generation_ = 0;
  std::unique_ptr<StepFlag[]> flags_;
  std::vector<uint32_t> recorded_;  // by step: the generation its event was last recorded in
  std::vector<StepTimes> times_;
  std::vector<std::vector<CounterLine>> counter_lines_;  // by core, so that no line is written by two
  std::vector<Counter*> counters_;                       // by step; null where nothing is counted
  std::vector<DeviceClock> clocks_;                      // by device
  std::optional<Simulator> simulator_;                   // on a virtual clock
  std::vector<TimedStep> timed_steps_;
  std::vector<uint32_t> timed_waits_;
  std::vector<CoreState> cores_;
  int64_t last_ns_ = std::numeric_limits<int64_t>::max();  // how long the run before took on the caller's core
  bool timed_ = false;
  bool alone_ = false;
  RunLimits limits_;
  std::vector<Rest> rests_;
  Atomic<bool> stopped_{false};
  Mutex error_mutex_;
  std::optional<Error> error_;
  bool device_failed_ = false;  // the error came from an event
  bool hung_ = false;
  mutable std::mutex refused_mutex_;
  std::map<uint32_t, std::string> refused_;  // by segment
};

}  // namespace pt
