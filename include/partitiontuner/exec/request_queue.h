// RequestQueue: requests to a session that come when they like. Threads of the queue run them, as many at once as the
// plan has cores. A bounded number waits, and one more is refused at once, so that an application that gets more than
// it can serve hears of it while it can still do something about it.
//
//   auto queue = pt::RequestQueue::Make(*session, {.waiting = 64}).value();
//   auto answer = queue->Submit(inputs, outputs, {.deadline = 50ms});
//   if (!answer.ok()) return Overloaded(answer.error());  // "queue.full"
//   pt::Result<pt::RequestReport> report = answer->get();
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>

#include "partitiontuner/exec/session.h"

namespace pt {

// How many requests run and wait at once.
struct RequestQueueOptions {
  // Runs at once, each with a thread of the queue and memory of the session (SessionOptions::max_run_states is the most
  // there is). 0: Session::parallel_runs.
  uint32_t in_flight = 0;
  // Requests that wait for one of these threads. 0: what cannot begin at once is refused.
  uint32_t waiting = 64;
};

// How a request went.
struct RequestReport {
  RunReport run;
  int64_t waited_ns = 0;  // from Submit until the run began
  int64_t total_ns = 0;   // from Submit until the run was over
};

// Since the queue was made. accepted = succeeded + failed + waiting + in_flight.
struct RequestCounts {
  uint64_t accepted = 0;
  uint64_t refused = 0;  // for want of room
  uint64_t succeeded = 0;
  uint64_t failed = 0;  // by an error of the run, a deadline or a token, or because the queue was closed
  uint32_t waiting = 0, in_flight = 0;  // now
};

// Requests begin in the order in which they came. Callable from many threads, and from within a Done. The session must
// outlive the queue; it may be used beside it and replaced under it.
class RequestQueue {
 public:
  // Called once for each accepted request, on a thread of the queue, which runs nothing else meanwhile. The request's
  // buffers are the caller's again. Must not throw, and not destroy the queue.
  using Done = std::function<void(Result<RequestReport>)>;

  // Errors: kUsage (more runs at once than the session allows, or more than 2^20 requests), kDeviceUnusable (the system
  // has no thread left).
  static Result<std::unique_ptr<RequestQueue>> Make(Session& session, const RequestQueueOptions& options = {});
  ~RequestQueue();  // Close, and waits for what is in flight
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  // As Session::Run, which says what the buffers must be; they are lent until Done is called or the future is ready.
  // options.deadline counts from this call: a request whose time or token is over while it waits ends without a run,
  // when its turn comes. options.trace must be the request's own.
  // Errors, after which Done is never called: kRunFailed, "queue.full" (as many wait as may) or "queue.closed".
  Status Submit(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs, const RunOptions& options,
                Done done);
  Result<std::future<Result<RequestReport>>> Submit(std::span<const LentTensor> inputs,
                                                    std::span<const LentTensor> outputs,
                                                    const RunOptions& options = {});

  // Returns when nothing waits, nothing is in flight and every Done has returned. Not from within a Done.
  void Drain();
  // Accepts nothing more. What waits ends with kRunFailed, "queue.closed"; what is in flight goes on to its end.
  void Close();

  RequestCounts counts() const;
  uint32_t in_flight_limit() const;
  Session& session() const;

 private:
  struct State;
  explicit RequestQueue(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pt
