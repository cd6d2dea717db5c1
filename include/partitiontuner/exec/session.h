// Session: a plan, compiled and allocated, that runs many times. See docs/architecture.md, "the walk of one value".
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/exec/cancel_token.h"
#include "partitiontuner/exec/machine.h"
#include "partitiontuner/exec/trace.h"
#include "partitiontuner/graph/datum.h"
#include "partitiontuner/plan/dispatch_plan.h"
#include "partitiontuner/plan/plan.h"
#include "partitiontuner/support/limits.h"

namespace pt {

// Plans a nested graph of control flow (a branch of If, the body of Loop, …): a plan that JudgePlan accepts for the
// graph, whose steps are all of that unit of the host, with values that cross the graph's border lent on the host.
// keep_nan: by candidates alone that keep NaN, as the plan of the step around it does; the plan is held to it. Called
// while a session is made, by one thread at a time. kUnsupported or kInfeasible: the session plans the graph
// node by node.
using NestedPlanner = std::function<Result<Plan>(const Graph& graph, UnitId unit, bool keep_nan)>;

// Whether runs of a plan for several cores of the host take these cores, or the thread that calls Run alone. Results
// are the same bits. A plan for one core, one with steps on devices or kernels that bring threads, a sequential twin
// and a session that decides in the run have one way only, and so have traced runs.
enum class AloneRuns : uint8_t {
  kAuto,    // by the times of both, measured as runs go by: alone where others keep the cores of its helpers busy, or
            // where runs often overlap
  kNever,   // as planned
  kAlways,  // several at a time have a core each, as far as the plan has them
  // likewise, and any core of the machine will do, whichever ones the plan has: for plans made for one core, which have
  // this way as well
  kAnyCore,
};

// How a session runs its plan.
struct SessionOptions {
  bool sequential = false;      // the plan's sequential twin: one step after another, same candidates and units
  bool flush_denormals = true;  // set on every worker during a run, restored on the caller
  AloneRuns alone = AloneRuns::kAuto;
  bool capture = true;          // record what goes to a device once and launch it as one, on devices that can
  uint32_t max_run_states = 4;  // concurrent runs before Run blocks
  // Memory of one run state on all devices; 0 = no limit. What is sized only in a run counts when it is asked for.
  uint64_t run_bytes = Limits().run_bytes;
  // How long a run that ends early waits for the work that a device has begun. A device that takes longer is lost.
  std::chrono::nanoseconds device_grace = std::chrono::seconds(5);
  // By input of the graph: the value that the graph was made for, which reads a constant instead. A run that gives
  // another one ends with kInvalidInput ("run.constant"); the caller lends such inputs on the host (kUsage). Empty, or
  // nothing: any value will do.
  std::vector<std::optional<Tensor>> constant_inputs = {};
  NestedPlanner nested_planner = {};  // empty: nested graphs run node by node
  // For AloneRuns::kAuto: how long the session's threads have waited for cores that others had, in nanoseconds, all
  // together, counted from anywhere. Asked every 10 ms of runs at most, by one thread at a time, and must not throw.
  // Empty: the system's account, which not every system keeps.
  std::function<int64_t()> waited_ns = {};
};

// A caller's buffer, row-major, of exactly the bytes of its type and dims, on the device where the plan says that the
// caller lends it (Plan::lent_on). Elements of 4 and 2 bits are packed as in ONNX's tensors, two and four to a byte,
// low bits first, without a gap between rows: ceil(elements · bits / 8) bytes; what the last byte holds behind the last
// element means nothing. For an output whose size is known only at run time there is none: give the type
// alone, and find the tensor in RunReport::outputs.
//
// Values held as a Datum in runs (strings, sequences, optional values) have no buffer: an input is `datum` and no more,
// which stays the caller's and must stay as it is until Run returns; of an output give nothing, and find it in the
// report.
struct LentTensor {
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
  void* data = nullptr;
  uint64_t bytes = 0;
  DeviceId device = kHostDevice;
  const Datum* datum = nullptr;
};

// What holds for one run.
struct RunOptions {
  // Both end the run with kRunFailed, wherever it is: waiting for a run state or for cores, between two steps, or done
  // with the last one. A host kernel that has begun goes on to its end.
  std::optional<std::chrono::nanoseconds> deadline = {};  // from the start of Run
  const CancelToken* cancel = nullptr;
  Trace* trace = nullptr;  // filled when not null
};

// How a run went.
struct RunReport {
  int64_t wall_ns = 0;      // the whole of Run
  int64_t makespan_ns = 0;  // first step's start to last step's end; of the virtual clock where a device has one
  bool simulated = false;   // some device's times come from a platform file
  bool alone = false;       // the caller did every step itself, whatever cores the plan has
  // What launching segments took the cores that launch them, all together; 0 on a virtual clock, in traced runs of
  // devices with a clock, and where something was recorded anew.
  int64_t segment_launch_ns = 0;
  // Of a session that decides in the run: what the decisions took, on all cores together, waiting for each other's
  // included.
  int64_t decision_ns = 0;
  // By output: those that lie in no buffer of the caller, since their size was known only at run time or since runs
  // hold them as a Datum; nothing for the others. Empty when there are none. They own their memory, which no
  // longer counts against run_bytes.
  std::vector<Datum> outputs;
};

// What a host step has taken so far, its kernel alone: without waiting for other cores and gathering helpers.
struct StepCounter {
  uint64_t runs = 0;
  int64_t last_ns = 0;  // of some run state that ran it last
  int64_t min_ns = 0;   // 0 = has not run
  int64_t sum_ns = 0;   // of all runs
};

// What a session launches as one.
struct CaptureReport {
  uint32_t segments = 0, steps = 0;  // segments, and the steps in them
  std::vector<std::string> cannot;   // devices of the plan that cannot capture: their steps are launched one by one
  // Of the segments: those that their device refused to record so far, each with the reason. They still run,
  // their steps launched one by one.
  std::vector<std::string> refused;
};

class Session {
 public:
  // graph is the planned graph, shared. Errors: those of JudgePlan (kStale: plan of another graph, machine or version,
  // with the list of differences; kInvalidInput: illegal plan, with all faults; kDeviceUnusable: a library of it is not
  // loaded), kUnsupported, kOutOfMemory.
  static Result<std::unique_ptr<Session>> Create(std::shared_ptr<const Graph> graph, const Plan& plan, Machine& machine,
                                                 const SessionOptions& options = {});
  // A session that decides while it runs which ready task goes to which free unit, by the rule and the measured times
  // of `dispatch` (docs/executor.md, "Decided in the run"). It runs like any other, on more memory, but has no twin
  // (options.sequential is kUsage) and no traces, and cannot be replaced (kUsage). plan() is all that may run. Errors
  // as Create; kUnsupported for devices with a virtual clock, which does not pass while the run decides.
  static Result<std::unique_ptr<Session>> CreateDispatch(std::shared_ptr<const Graph> graph,
                                                         const DispatchPlan& dispatch, Machine& machine,
                                                         const SessionOptions& options = {});
  ~Session();  // waits for runs in flight

  // In the order of graph.inputs() and graph.outputs(). Blocks until done; callable from many threads.
  // After a first run with the same buffers it allocates nothing of our own, unless there are sizes known only at run
  // time: inputs may then have other dims from run to run, as far as the graph leaves them open. On an error the
  // outputs are unspecified, the session stays usable. Input and output buffers may not overlap. Work that wrote lent
  // memory of a device must be over; what the run writes there is there when it returns. Of a device that hung
  // (device.hung), memory that was lent on it must stay until the process ends.
  Result<RunReport> Run(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs,
                        const RunOptions& options = {}) noexcept;

  // Another plan of the same graph for this machine. Runs in progress end on the plan they began with; runs that begin
  // afterwards, and those that wait for a run state, take the new one. The old one and its memory go when its last run
  // is over; until then both are there. Callable from many threads, not from within a run (kUsage). It must want inputs
  // and outputs on the same devices (kUsage). Errors as Create; after one everything is as it was.
  Status Replace(const Plan& plan);

  // The plan that runs take which begin now. Callable from many threads.
  std::shared_ptr<const Plan> plan() const;
  const Graph& graph() const;
  Machine& machine() const;
  CaptureReport capture() const;
  // How many runs at once are worth it: one a core that the plan has on the host (of the machine, where any will do),
  // two at least, so that one may begin while a device ends the other, and no more than options.max_run_states.
  uint32_t parallel_runs() const;
  uint32_t max_run_states() const;  // of its options

  // By step of plan(), since that plan came: steps of host units that have a kernel; zero for others. Always on.
  // Callable at any time, also while runs are in progress, whose steps may then be in or not.
  std::vector<StepCounter> StepCounters() const;

 private:
  struct State;
  struct Deck;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pt
