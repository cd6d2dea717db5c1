#include "partitiontuner/engine/open_loop.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "partitiontuner/engine/verify.h"
#include "partitiontuner/support/caught.h"

namespace pt {
namespace {

// While it lasts the calling thread wakes when it asked for, not up to 50 us later.
class ExactSleep {
 public:
  ExactSleep() : before_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1UL); }
  ~ExactSleep() {
    if (before_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_));
  }
  ExactSleep(const ExactSleep&) = delete;
  ExactSleep& operator=(const ExactSleep&) = delete;

 private:
  int before_;
};

}  // namespace

OpenLoopLength TrialLength(double percent, double rate, std::chrono::nanoseconds duration) {
  const double least = 3 / (1 - percent / 100);
  const double sent = rate * std::chrono::duration<double>(duration).count();
  return {duration, static_cast<uint64_t>(std::ceil(std::max(sent, std::min(least, 10 * sent))))};
}

Result<IdleRuns> OpenLoop::RunIdle() {
  constexpr int kWarmUp = 3, kMostRuns = 200;
  constexpr auto kTime = std::chrono::milliseconds(500);
  PT_ASSIGN(const RunBuffers outputs, RunBuffers::ForOutputs(session_));
  IdleRuns idle;
  const auto end = Clock::now() + kTime;
  for (int run = 0; run < kMostRuns && (run < kWarmUp + 3 || Clock::now() < end); ++run) {
    const auto start = Clock::now();
    PT_ASSIGN(idle.last, session_.Run(inputs_, outputs.tensors(), run_options()));
    if (run >= kWarmUp) idle.latency.Record((Clock::now() - start).count());
  }
  PT_ASSIGN(reference_, outputs.Copy(idle.last));
  return idle;
}

Result<OpenLoop::Slot*> OpenLoop::TakeSlot() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Slot* const slot = free_.back();
      free_.pop_back();
      return slot;
    }
  }
  auto slot = std::make_unique<Slot>();
  PT_ASSIGN(slot->outputs, RunBuffers::ForOutputs(session_));
  slots_.push_back(std::move(slot));
  return slots_.back().get();
}

void OpenLoop::Finish(Slot& slot, Result<RequestReport> report) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  free_.push_back(&slot);
  if (!report.ok()) {
    if (report.error().id == "run.deadline") {
      ++tally_.late;
    } else if (error_.ok()) {
      error_ = report.error();
    }
    return;
  }
  tally_.latency.Record((now - slot.due).count());
  tally_.waited.Record(report->waited_ns);
  tally_.alone_runs += report->run.alone ? 1 : 0;
  slot.last = std::move(report->run);
  slot.used = true;
}

Status OpenLoop::Send(RequestQueue& queue, Clock::time_point due) {
  PT_ASSIGN(Slot* const slot, TakeSlot());
  slot->due = due;
  const Status sent = queue.Submit(inputs_, slot->outputs.tensors(), run_options(),
                                   [this, slot](Result<RequestReport> report) { Finish(*slot, std::move(report)); });
  const std::lock_guard lock(mutex_);
  tally_.sent_late.Record((Clock::now() - due).count());
  if (sent.ok()) return {};
  free_.push_back(slot);
  if (sent.error().id != "queue.full") return sent;
  ++tally_.refused;
  return {};
}

// A token is not waited for where the next request is far.
void OpenLoop::WaitUntil(Clock::time_point due) const {
  while (!cancelled() && Clock::now() < due) {
    std::this_thread::sleep_until(std::min(due, Clock::now() + std::chrono::milliseconds(50)));
  }
}

Result<RequestTally> OpenLoop::Run(double rate, const OpenLoopLength& length) try {
  const ExactSleep exact;
  PT_ASSIGN(const auto queue, RequestQueue::Make(session_, options_.queue));
  tally_ = RequestTally();
  tally_.rate = rate;
  error_ = Status();
  Arrivals arrivals(options_.arrivals, rate, options_.seed);
  const auto start = Clock::now();
  for (uint64_t sent = 0; length.requests == 0 || sent < length.requests; ++sent) {
    const auto due = start + std::chrono::nanoseconds(arrivals.NextNs());
    if (length.requests == 0 && due >= start + length.duration && sent > 0) break;
    WaitUntil(due);
    if (cancelled()) break;
    PT_CHECK_OK(Send(*queue, due));
    if (!error().ok()) break;
    if (options_.progress) options_.progress(sent + 1);
  }
  if (cancelled()) queue->Close();
  queue->Drain();
  tally_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!cancelled()) PT_CHECK_OK(error_);
  return tally_;
} catch (...) {
  return Caught("queue", "send requests");
}

Status OpenLoop::CheckBits() const {
  for (const std::unique_ptr<Slot>& slot : slots_) {
    if (!slot->used) continue;
    PT_ASSIGN(const std::vector<Tensor> outputs, slot->outputs.Copy(slot->last));
    if (std::ranges::equal(outputs, reference_, SameBits)) continue;
    return MakeError(ErrorCode::kInternal, "run.differs", "a request of many gave other bits than a run by itself");
  }
  return {};
}

}  // namespace pt
