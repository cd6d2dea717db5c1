#include "partitiontuner/exec/request_queue.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lib/exec/clock.h"
#include "lib/exec/run_limits.h"
#include "partitiontuner/support/caught.h"
#include "partitiontuner/support/scoped_signal_block.h"

namespace pt {
namespace {

constexpr uint32_t kMostWaiting = 1u << 20;

Error ClosedError() { return MakeError(ErrorCode::kRunFailed, "queue.closed", "the request queue was closed"); }

}  // namespace

struct RequestQueue::State {
  struct Request {
    std::vector<LentTensor> inputs, outputs;
    RunOptions options;
    RequestQueue::Done done;
    int64_t submitted_ns = 0;
  };

  // First in, first out, in slots that are made once: the lists in them keep their memory.
  class Ring {
   public:
    explicit Ring(size_t slots) : slots_(slots) {}
    size_t size() const { return size_; }
    // The slot behind the last one, to be filled before it is pushed. There must be room.
    Request& Next() { return slots_[(first_ + size_) % slots_.size()]; }
    void Push() { ++size_; }
    // Puts the first one into `taken`, whose lists go into the slot.
    void Pop(Request& taken) {
      std::swap(taken, slots_[first_]);
      first_ = (first_ + 1) % slots_.size();
      --size_;
    }

   private:
    std::vector<Request> slots_;
    size_t first_ = 0, size_ = 0;
  };

  State(Session& of, uint32_t in_flight, uint32_t waiting)
      : session(of), most_in_flight(in_flight), most_waiting(waiting), ring(size_t{in_flight} + waiting) {}

  Session& session;
  const uint32_t most_in_flight, most_waiting;
  std::vector<std::thread> threads;

  mutable std::mutex mutex;
  std::condition_variable arrived;  // something waits, or the queue is closed
  std::condition_variable idle;     // nothing waits, nothing is in flight
  Ring ring;                        // guarded, as is all below
  RequestCounts counts;
  uint32_t calling = 0;  // threads that call a Done
  bool closed = false;

  // A request that a thread without work will take does not wait.
  bool HasRoom() const { return ring.size() < size_t{most_waiting} + (most_in_flight - counts.in_flight); }
  bool IsIdle() const { return ring.size() == 0 && counts.in_flight == 0 && calling == 0; }
  Result<RequestReport> Serve(const Request& request);
  void Work() noexcept;
  // Takes the first one; nothing once the queue is closed and empty.
  bool Take(Request& request, bool& run);
  // Before its Done is called, which may submit the next one.
  void CountAsOver(bool succeeded);
  void Close();
};

bool RequestQueue::State::Take(Request& request, bool& run) {
  std::unique_lock lock(mutex);
  arrived.wait(lock, [&] { return closed || ring.size() > 0; });
  if (ring.size() == 0) return false;
  ring.Pop(request);
  ++counts.in_flight;
  run = !closed;
  return true;
}

Result<RequestReport> RequestQueue::State::Serve(const Request& request) {
  const RunLimits limits(request.options.deadline, request.options.cancel, request.submitted_ns);
  if (limits.Over()) return limits.error();
  RequestReport report;
  const int64_t began_ns = NowNs();
  report.waited_ns = began_ns - request.submitted_ns;
  RunOptions options = request.options;
  if (options.deadline) *options.deadline -= std::chrono::nanoseconds(report.waited_ns);
  PT_ASSIGN(report.run, session.Run(request.inputs, request.outputs, options));
  report.total_ns = NowNs() - request.submitted_ns;
  return report;
}

void RequestQueue::State::CountAsOver(bool succeeded) {
  const std::lock_guard lock(mutex);
  ++(succeeded ? counts.succeeded : counts.failed);
  --counts.in_flight;
  ++calling;
}

void RequestQueue::State::Work() noexcept {
  Request request;
  for (bool run = false; Take(request, run);) {
    Result<RequestReport> report = run ? Serve(request) : Result<RequestReport>(ClosedError());
    CountAsOver(report.ok());
    request.done(std::move(report));
    request.done = {};
    const std::lock_guard lock(mutex);
    --calling;
    if (IsIdle()) idle.notify_all();
  }
}

void RequestQueue::State::Close() {
  const std::lock_guard lock(mutex);
  closed = true;
  arrived.notify_all();
}

RequestQueue::RequestQueue(std::unique_ptr<State> state) : state_(std::move(state)) {}

RequestQueue::~RequestQueue() {
  state_->Close();
  for (std::thread& thread : state_->threads) thread.join();
}

Result<std::unique_ptr<RequestQueue>> RequestQueue::Make(Session& session, const RequestQueueOptions& options) try {
  const uint32_t most = session.max_run_states();
  if (options.in_flight > most) {
    return MakeError(
        ErrorCode::kUsage, "queue.in_flight",
        std::to_string(options.in_flight) + " runs at once, but the session allows " + std::to_string(most),
        "SessionOptions::max_run_states");
  }
  if (options.waiting > kMostWaiting) {
    return MakeError(
        ErrorCode::kUsage, "queue.waiting",
        std::to_string(options.waiting) + " waiting requests are more than " + std::to_string(kMostWaiting));
  }
  const uint32_t in_flight = options.in_flight > 0 ? options.in_flight : session.parallel_runs();
  std::unique_ptr<RequestQueue> queue(new RequestQueue(std::make_unique<State>(session, in_flight, options.waiting)));
  State& state = *queue->state_;
  const ScopedSignalBlock block;  // threads inherit it
  state.threads.reserve(in_flight);
  for (uint32_t i = 0; i < in_flight; ++i) {
    state.threads.emplace_back([&state] { state.Work(); });
    pthread_setname_np(state.threads.back().native_handle(), ("pt-request" + std::to_string(i)).substr(0, 15).c_str());
  }
  return queue;
} catch (const std::system_error& error) {
  return MakeError(ErrorCode::kDeviceUnusable, "queue.thread",
                   "no thread for the requests of a queue: " + std::string(error.what()),
                   "raise the limit of processes and threads (ulimit -u, the control group's pids.max)");
} catch (...) {
  return Caught("queue", "make a request queue");
}

Status RequestQueue::Submit(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs,
                            const RunOptions& options, Done done) try {
  State& state = *state_;
  const int64_t now_ns = NowNs();
  const std::lock_guard lock(state.mutex);
  if (state.closed) return ClosedError();
  if (!state.HasRoom()) {
    ++state.counts.refused;
    return MakeError(ErrorCode::kRunFailed, "queue.full",
                     "the request was refused: " + std::to_string(state.ring.size()) + " wait already",
                     "send fewer, or allow more to wait (RequestQueueOptions::waiting)");
  }
  State::Request& slot = state.ring.Next();
  slot.inputs.assign(inputs.begin(), inputs.end());
  slot.outputs.assign(outputs.begin(), outputs.end());
  slot.options = options;
  slot.done = std::move(done);
  slot.submitted_ns = now_ns;
  state.ring.Push();
  ++state.counts.accepted;
  state.arrived.notify_one();
  return {};
} catch (...) {
  return Caught("queue", "accept a request");
}

Result<std::future<Result<RequestReport>>> RequestQueue::Submit(std::span<const LentTensor> inputs,
                                                                std::span<const LentTensor> outputs,
                                                                const RunOptions& options) try {
  const auto promise = std::make_shared<std::promise<Result<RequestReport>>>();
  std::future<Result<RequestReport>> future = promise->get_future();
  PT_CHECK_OK(Submit(inputs, outputs, options,
                     [promise](Result<RequestReport> report) { promise->set_value(std::move(report)); }));
  return future;
} catch (...) {
  return Caught("queue", "accept a request");
}

void RequestQueue::Drain() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [&] { return state_->IsIdle(); });
}

void RequestQueue::Close() { state_->Close(); }

RequestCounts RequestQueue::counts() const {
  const std::lock_guard lock(state_->mutex);
  RequestCounts counts = state_->counts;
  counts.waiting = static_cast<uint32_t>(state_->ring.size());
  return counts;
}

uint32_t RequestQueue::in_flight_limit() const { return state_->most_in_flight; }

Session& RequestQueue::session() const { return state_->session; }

}  // namespace pt
