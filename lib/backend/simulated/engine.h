// SimulatedEngine: what goes on in a simulated device. Pieces of work wait for others, take the platform file's time
// and share the device's capacity: while those that run ask for more than there is, all of them slow down alike. The
// arithmetic of a piece is done when it starts.
//
// Two clocks. Virtual: nothing happens by itself; whoever asks (an event, Synchronize) lives the device's time, which
// jumps from one end of work to the next. Real: a thread of the device lives it on the wall clock; a piece of work ends
// when its time is over, or when its arithmetic is, whichever is later.
#pragma once

#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/backend/devices.h"

namespace pt {

// The arithmetic of a kernel.
class SimulatedTask {
 public:
  virtual ~SimulatedTask() = default;
  virtual Status Run() noexcept = 0;
};

// Names a piece of work; stays valid, and means "over", after its end.
struct SimulatedTicket {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t index = kNone;
  uint64_t serial = 0;
};

// What an event knows of the point it was recorded at last. Guarded by the engine.
struct SimulatedPoint {
  SimulatedTicket mark;  // the work that ends there
  bool ready = true;     // also when never recorded
  double at_ns = 0;      // of the engine's clock
  std::optional<Error> error;
};

// A piece of work: a task, or the copy of bytes, or neither: a mark that takes no time.
struct SimulatedWork {
  int64_t ns = 0;     // alone on the device
  double demand = 0;  // share of the device's capacity while it runs; copies have their links to themselves: 0
  SimulatedTask* task = nullptr;
  void* to = nullptr;
  const void* from = nullptr;
  uint64_t bytes = 0;
  SimulatedPoint* point = nullptr;  // reached when the work is over
};

// What the engine knows of a stream. Guarded by the engine.
struct SimulatedQueue {
  uint32_t number = 0;
  uint32_t open = 0;           // its pieces of work that are not over
  std::optional<Error> error;  // the first since Synchronize: what is enqueued meanwhile is not run
};

// Thread-safe. Tasks, memory, queues and points outlive the work that names them.
class SimulatedEngine {
 public:
  // `device`: its name, for errors.
  SimulatedEngine(std::string device, SimulatedClock clock, const SimulatedFaults& faults);
  ~SimulatedEngine();  // waits for arithmetic in progress, drops the rest
  SimulatedEngine(const SimulatedEngine&) = delete;
  SimulatedEngine& operator=(const SimulatedEngine&) = delete;

  // Whether the device holds that many more pieces of work, marks not counted. Errors: kRunFailed,
  // "simulated.queue_full" beyond SimulatedFaults::queue, "simulated.lost" after it was lost.
  Status Admit(uint64_t pieces);
  // Adds work of the queue that starts when all of `after` is over; not run when one of those failed or the queue did.
  SimulatedTicket Submit(SimulatedQueue& queue, const SimulatedWork& work, std::span<const SimulatedTicket> after);
  // What waits for the point waits for this; what failed there makes the queue fail.
  SimulatedTicket WaitFor(SimulatedQueue& queue, const SimulatedPoint& point);
  Result<bool> IsReady(const SimulatedPoint& point);
  std::optional<double> ReadyNs(const SimulatedPoint& point);  // empty when it is not ready
  Result<bool> Synchronize(SimulatedQueue& queue, std::chrono::nanoseconds patience);
  void Revoke(SimulatedQueue& queue);
  void Forget(const SimulatedPoint& point);  // it is going to be destroyed

 private:
  struct Op {
    SimulatedWork work;
    SimulatedQueue* queue = nullptr;
    uint64_t serial = 0;
    uint32_t waits_for = 0;
    bool live = false, running = false;
    std::optional<Error> error;       // why it is not run, or how it failed
    double submitted_ns = 0;          // real clock
    double left_ns = 0;               // at full speed
    double not_before_ns = 0;         // real clock: when its arithmetic was over
    std::vector<uint32_t> followers;  // pieces of work that wait for it
    std::fenv_t float_state;          // of who enqueued it: the arithmetic is done with that
  };
  using Lock = std::unique_lock<std::mutex>;

  void Live();
  double WallNs() const;
  uint32_t TakeOp();
  bool IsLive(SimulatedTicket ticket) const;
  void MakeReady(uint32_t index);
  void Finish(uint32_t index);
  void FinishOver();
  Status Compute(const Op& op, Lock& lock);
  bool IsLost(const SimulatedWork& next);
  Error Lost() const;
  bool StartReady(Lock& lock);
  double FactorOf(const Op& op) const;
  std::optional<double> NextEnd() const;
  void AdvanceTo(double ns);
  bool Step(Lock& lock);

  const std::string device_;
  const SimulatedClock clock_;
  const SimulatedFaults faults_;
  const std::chrono::steady_clock::time_point epoch_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Op>> ops_;
  // Indices of ops: unused ones; those that may start; those that run; those that are over but not yet seen to.
  std::vector<uint32_t> free_, ready_, running_, over_;
  uint64_t serial_ = 0, held_ = 0, kernels_ = 0;  // pieces so far; those held that are not marks; kernels begun
  double now_ns_ = 0;
  bool ending_ = false;
  bool lost_ = false;
  bool computing_ = false;  // some arithmetic is being done, without the lock
  std::thread thread_;      // the last member: it lives on the others
};

}  // namespace pt
