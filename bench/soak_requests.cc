#include "bench/soak_requests.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "partitiontuner/engine/arrivals.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/exec/request_queue.h"
#include "partitiontuner/support/latency_histogram.h"
#include "partitiontuner/support/random.h"

namespace pt::bench {
namespace {

using Clock = std::chrono::steady_clock;

// What one request writes to; used again when it is over.
struct Slot {
  RunBuffers outputs;
  CancelToken token;
  std::shared_ptr<const Plan> plan;  // that the session had when it was sent
  Clock::time_point due;
  std::string_view allowed;  // the id of the error with which it may end
};

// The requests to one case.
class Counter {
 public:
  static Result<std::unique_ptr<Counter>> Open(const Case& of) {
    auto made = std::make_unique<Counter>(of);
    PT_ASSIGN(made->inputs_, RunBuffers::ForInputs(*of.session, of.inputs));
    constexpr uint32_t kWaiting = 64;
    PT_ASSIGN(made->queue_, RequestQueue::Make(*of.session, {.waiting = kWaiting}));
    // All that can be needed, so that a burst adds no memory: those that wait or run, those whose answer is being told,
    // and one that is refused.
    const uint32_t slots = kWaiting + 2 * made->queue_->in_flight_limit() + 1;
    for (uint32_t i = 0; i < slots; ++i) PT_CHECK_OK(made->AddSlot());
    return made;
  }
  explicit Counter(const Case& of) : of_(of) {}

  const Case& of() const { return of_; }
  // Sends one that was due then. chance, below 100, says of which kind it is.
  Status Send(Clock::time_point due, uint64_t chance);
  void Drain() const { queue_->Drain(); }
  // Ends one of those that were sent with a token, if they are not over.
  void CancelSome() {
    const std::lock_guard lock(mutex_);
    for (const auto& slot : slots_) {
      if (slot->allowed == "run.cancelled") slot->token.Cancel();
    }
  }

  struct Tally {
    LatencyHistogram latency;
    uint64_t served = 0, ended = 0, refused = 0, failures = 0;
  };
  // Since the last time it was asked; failures of all.
  Tally Take() {
    const std::lock_guard lock(mutex_);
    Tally taken = std::move(tally_);
    tally_ = Tally();
    tally_.failures = taken.failures;
    return taken;
  }

 private:
  Status AddSlot();
  Slot* TakeSlot();
  void Finish(Slot& slot, const Result<RequestReport>& report);

  const Case& of_;
  RunBuffers inputs_;
  std::mutex mutex_;
  std::deque<std::unique_ptr<Slot>> slots_;  // guarded, as is all below
  std::vector<Slot*> free_;
  Tally tally_;
  std::unique_ptr<RequestQueue> queue_;  // goes first: its threads use the rest
};

Status Counter::AddSlot() {
  auto slot = std::make_unique<Slot>();
  PT_ASSIGN(slot->outputs, RunBuffers::ForOutputs(*of_.session));
  free_.push_back(slot.get());
  slots_.push_back(std::move(slot));
  return {};
}

Slot* Counter::TakeSlot() {
  const std::lock_guard lock(mutex_);
  Slot* const slot = free_.back();
  free_.pop_back();
  return slot;
}

Status Counter::Send(Clock::time_point due, uint64_t chance) {
  Slot* const slot = TakeSlot();
  RunOptions options;
  {
    const std::lock_guard lock(mutex_);
    slot->due = due;
    slot->plan = of_.session->plan();
    slot->token.Reset();
    slot->allowed = chance < 8 ? "run.deadline" : chance < 16 ? "run.cancelled" : "";
  }
  if (chance < 8) options.deadline = std::chrono::microseconds(200 * chance);
  if (chance >= 8 && chance < 16) options.cancel = &slot->token;
  const Status sent = queue_->Submit(inputs_.tensors(), slot->outputs.tensors(), options,
                                     [this, slot](const Result<RequestReport>& report) { Finish(*slot, report); });
  if (sent.ok()) return {};
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
  if (sent.error().id != "queue.full") return sent;
  ++tally_.refused;
  return {};
}

void Counter::Finish(Slot& slot, const Result<RequestReport>& report) {
  const auto now = Clock::now();
  const std::shared_ptr<const Plan> after = of_.session->plan();
  std::string wrong;
  if (!report.ok()) {
    if (slot.allowed.empty() || report.error().id != slot.allowed) wrong = pt::ToString(report.error());
  } else if (const Result<Values> found = slot.outputs.CopyData(report->run); !found.ok()) {
    wrong = pt::ToString(found.error());
  } else if (!Cases::IsResultOf(of_, *found, *slot.plan, *after)) {
    wrong = "another result than at first";
  }
  const std::lock_guard lock(mutex_);
  if (!wrong.empty() && ++tally_.failures <= 20) std::printf("FAILED: %s: %s\n", of_.name.c_str(), wrong.c_str());
  ++(report.ok() ? tally_.served : tally_.ended);
  if (report.ok()) tally_.latency.Record((now - slot.due).count());
  slot.plan.reset();
  free_.push_back(&slot);
}

class RequestSoak {
 public:
  RequestSoak(const SoakSettings& settings, Cases& cases)
      : settings_(settings),
        cases_(cases),
        random_(settings.seed),
        arrivals_(ArrivalKind::kPoisson, static_cast<double>(settings.rate), settings.seed) {}

  Status Open() {
    for (const Case& of : cases_.cases) {
      PT_ASSIGN(counters_.emplace_back(), Counter::Open(of));
    }
    return {};
  }
  Result<bool> Endure();

 private:
  // Until then; the requests of a pause do not come.
  Status SendUntil(Clock::time_point end);
  Status ComeToRest();
  void Report(Clock::duration since_start, const Resources& now);

  const SoakSettings& settings_;
  Cases& cases_;
  Random random_;
  Arrivals arrivals_;
  std::vector<std::unique_ptr<Counter>> counters_;
  uint64_t served_ = 0, ended_ = 0, refused_ = 0, failures_ = 0, replaced_ = 0;
  LatencyHistogram first_, last_;  // of the first and the last line
};

Status RequestSoak::SendUntil(Clock::time_point end) {
  const int64_t before_ns = arrivals_.NextNs();
  const auto start = Clock::now();
  for (auto due = start; due < end; due = start + std::chrono::nanoseconds(arrivals_.NextNs() - before_ns)) {
    std::this_thread::sleep_until(due);
    Counter& counter = *counters_[random_.Below(counters_.size())];
    PT_CHECK_OK(counter.Send(due, random_.Below(100)));
    const uint64_t chance = random_.Below(1000);
    if (chance < 100) counter.CancelSome();
    if (chance >= 998) {
      PT_CHECK_OK(counter.of().session->Replace(counter.of().plans[random_.Below(counter.of().plans.size())]));
      ++replaced_;
    }
  }
  return {};
}

Status RequestSoak::ComeToRest() {
  for (const auto& counter : counters_) {
    counter->Drain();
    PT_CHECK_OK(counter->of().session->Replace(counter->of().plans[0]));
    PT_ASSIGN(const Values found, RunData(*counter->of().session, counter->of().inputs));
    if (!Same(found, counter->of().expected[0])) ++failures_;
  }
  malloc_trim(0);
  return {};
}

void RequestSoak::Report(Clock::duration since_start, const Resources& now) {
  LatencyHistogram latency;
  uint64_t failures = 0;
  for (const auto& counter : counters_) {
    const Counter::Tally tally = counter->Take();
    latency.Add(tally.latency);
    served_ += tally.served;
    ended_ += tally.ended;
    refused_ += tally.refused;
    failures += tally.failures;
  }
  failures_ = std::max(failures_, failures);
  if (first_.count() == 0) first_ = latency;
  const auto us = [&](double percent) { return static_cast<double>(latency.Percentile(percent)) / 1000; };
  std::printf("%6.1f s  %s  p50 %7.1f us  p99 %8.1f  max %8.1f  served %lu ended early %lu refused %lu replaced %lu\n",
              std::chrono::duration<double>(since_start).count(), ToString(now).c_str(), us(50), us(99), us(100),
              served_, ended_, refused_, replaced_);
  std::fflush(stdout);
  last_ = std::move(latency);
}

Result<bool> RequestSoak::Endure() {
  const auto between = std::min<Clock::duration>(settings_.time / 4, std::chrono::minutes(1));
  const auto start = Clock::now(), end = start + settings_.time;
  std::optional<Resources> first;
  Resources last;
  for (auto next = start + between; next <= end; next += between) {
    PT_CHECK_OK(SendUntil(next));
    PT_CHECK_OK(ComeToRest());
    last = CountResources();
    if (!first) first = last;
    Report(Clock::now() - start, last);
  }
  const bool grew = HasGrown(*first, last);
  const auto ratio = [&](double percent) {
    return static_cast<double>(last_.Percentile(percent)) /
           static_cast<double>(std::max<int64_t>(1, first_.Percentile(percent)));
  };
  std::printf("latency of the last line by that of the first: p50 %.2f, p99 %.2f\n", ratio(50), ratio(99));
  std::printf("%lu results compared, %lu failures: %s\n", served_, failures_,
              grew            ? "GREW"
              : failures_ > 0 ? "FAILED"
                              : "ok");
  return !grew && failures_ == 0;
}

}  // namespace

bool EndureRequests(const SoakSettings& settings, Cases& cases) {
  RequestSoak soak(settings, cases);
  Status opened = soak.Open();
  const Result<bool> endured = opened.ok() ? soak.Endure() : Result<bool>(std::move(opened).error());
  if (endured.ok()) return *endured;
  std::fprintf(stderr, "%s\n", ToString(endured.error()).c_str());
  return false;
}

}  // namespace pt::bench
