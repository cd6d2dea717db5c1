// OpenLoop: requests to a session that come when they like, whatever became of those before, through a bounded queue.
// Each latency counts from the moment at which its request was due, so that a sender or a queue that falls behind hides
// nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "partitiontuner/engine/arrivals.h"
#include "partitiontuner/engine/request_tally.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/exec/request_queue.h"

namespace pt {

struct OpenLoopOptions {
  RequestQueueOptions queue = {};
  ArrivalKind arrivals = ArrivalKind::kPoisson;
  uint64_t seed = 1;                                      // of the arrivals
  std::optional<std::chrono::nanoseconds> deadline = {};  // of each request, from when it was sent
  const CancelToken* cancel = nullptr;                    // ends a loop with the requests so far; may be null
  std::function<void(uint64_t sent)> progress = {};       // called by the sender after each request; may be empty
};

struct OpenLoopLength {
  std::chrono::nanoseconds duration{};  // of what is sent
  uint64_t requests = 0;                // that many instead, unless 0
};

// As long as `duration`, or up to ten times that where so few requests would come that the percentile is that of one.
OpenLoopLength TrialLength(double percent, double rate, std::chrono::nanoseconds duration);

// One request after another.
struct IdleRuns {
  LatencyHistogram latency;
  RunReport last;
};

// Of one session and its inputs, which it borrows. From one thread at a time.
class OpenLoop {
 public:
  OpenLoop(Session& session, std::span<const LentTensor> inputs, OpenLoopOptions options)
      : session_(session), inputs_(inputs), options_(std::move(options)) {}

  // For half a second, and 200 runs at most: what a run takes when nothing else is to be done. Keeps the outputs of the
  // last one for CheckBits. Errors: those of runs.
  Result<IdleRuns> RunIdle();
  // Sends requests for `length` and waits for the last one. Errors: the first one of a request other than its deadline,
  // which ends the loop; those of RequestQueue::Make.
  Result<RequestTally> Run(double rate, const OpenLoopLength& length);
  // The last outputs in every request's buffers are the bits of RunIdle's. Errors: kInternal ("run.differs");
  // kUnsupported where an output is not a tensor. After RunIdle.
  Status CheckBits() const;

 private:
  using Clock = std::chrono::steady_clock;
  // What one request writes to. Used again as soon as it is over, the last one first, so that runs find their kernels
  // bound to it.
  struct Slot {
    RunBuffers outputs;
    RunReport last;
    bool used = false;
    Clock::time_point due;
  };

  bool cancelled() const { return options_.cancel != nullptr && options_.cancel->cancelled(); }
  RunOptions run_options() const { return {.deadline = options_.deadline, .cancel = options_.cancel}; }
  Result<Slot*> TakeSlot();
  void WaitUntil(Clock::time_point due) const;
  Status Send(RequestQueue& queue, Clock::time_point due);
  void Finish(Slot& slot, Result<RequestReport> report);
  Status error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

  Session& session_;
  const std::span<const LentTensor> inputs_;
  const OpenLoopOptions options_;
  std::vector<Tensor> reference_;
  std::vector<std::unique_ptr<Slot>> slots_;
  mutable std::mutex mutex_;
  std::vector<Slot*> free_;  // guarded by the mutex, as are the next two
  RequestTally tally_;
  Status error_;
};

}  // namespace pt
