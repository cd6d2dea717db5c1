#include "lib/backend/simulated/engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "partitiontuner/support/scoped_signal_block.h"

namespace pt {
namespace {

constexpr double kRoundingNs = 1e-3;  // less than this left is rounding
constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(24 * 365);
constexpr const char* kRevoked = "stream.revoked";

bool IsMark(const SimulatedWork& work) { return work.task == nullptr && work.to == nullptr; }

}  // namespace

SimulatedEngine::SimulatedEngine(std::string device, SimulatedClock clock, const SimulatedFaults& faults)
    : device_(std::move(device)), clock_(clock), faults_(faults) {
  if (clock_ != SimulatedClock::kReal) return;
  const ScopedSignalBlock block;  // the thread inherits it
  thread_ = std::thread([this] { Live(); });
}

SimulatedEngine::~SimulatedEngine() {
  if (!thread_.joinable()) return;
  {
    const Lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

double SimulatedEngine::WallNs() const {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - epoch_).count();
}

uint32_t SimulatedEngine::TakeOp() {
  if (free_.empty()) {
    ops_.push_back(std::make_unique<Op>());
    // Room for all of them, so that no list grows in the middle of a run.
    for (std::vector<uint32_t>* list : {&free_, &ready_, &running_, &over_}) list->reserve(ops_.capacity());
    return static_cast<uint32_t>(ops_.size() - 1);
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  return index;
}

bool SimulatedEngine::IsLive(SimulatedTicket ticket) const {
  return ticket.index != SimulatedTicket::kNone && ops_[ticket.index]->live &&
         ops_[ticket.index]->serial == ticket.serial;
}

Error SimulatedEngine::Lost() const {
  Error error = MakeError(ErrorCode::kRunFailed, "simulated.lost", "device " + device_ + " is lost",
                          "it was to be lost after " + std::to_string(faults_.lost_after) + " kernels (--sim-fault)");
  error.device = device_;
  return error;
}

Status SimulatedEngine::Admit(uint64_t pieces) {
  const Lock lock(mutex_);
  if (lost_) return Lost();
  if (faults_.queue == 0 || held_ + pieces <= faults_.queue) return {};
  Error error = MakeError(ErrorCode::kRunFailed, "simulated.queue_full",
                          "the queue of device " + device_ + " is full: it holds " + std::to_string(faults_.queue) +
                              " pieces of work, " + std::to_string(held_) + " are in it and " + std::to_string(pieces) +
                              " more were given to it");
  error.device = device_;
  return error;
}

SimulatedTicket SimulatedEngine::Submit(SimulatedQueue& queue, const SimulatedWork& work,
                                        std::span<const SimulatedTicket> after) {
  const Lock lock(mutex_);
  const uint32_t index = TakeOp();
  Op& op = *ops_[index];
  op.work = work;
  op.queue = &queue;
  op.serial = ++serial_;
  op.waits_for = 0;
  op.live = true;
  op.running = false;
  op.error = queue.error;
  op.submitted_ns = clock_ == SimulatedClock::kReal ? WallNs() : 0;
  op.left_ns = static_cast<double>(work.ns) * faults_.slow_down;
  op.not_before_ns = 0;
  std::fegetenv(&op.float_state);
  ++queue.open;
  held_ += IsMark(work) ? 0 : 1;
  if (work.point != nullptr) {
    work.point->mark = {index, op.serial};
    work.point->ready = false;
    work.point->error.reset();
  }
  for (const SimulatedTicket& ticket : after) {
    if (!IsLive(ticket)) continue;
    ops_[ticket.index]->followers.push_back(index);
    ++op.waits_for;
  }
  if (op.waits_for == 0) MakeReady(index);
  FinishOver();
  changed_.notify_all();
  return {index, op.serial};
}

SimulatedTicket SimulatedEngine::WaitFor(SimulatedQueue& queue, const SimulatedPoint& point) {
  const Lock lock(mutex_);
  if (point.ready && point.error && !queue.error) queue.error = point.error;
  return point.mark;
}

Result<bool> SimulatedEngine::IsReady(const SimulatedPoint& point) {
  Lock lock(mutex_);
  if (!point.ready && clock_ == SimulatedClock::kVirtual) Step(lock);
  if (point.ready && point.error) return *point.error;
  return point.ready;
}

std::optional<double> SimulatedEngine::ReadyNs(const SimulatedPoint& point) {
  const Lock lock(mutex_);
  return point.ready ? std::optional(point.at_ns) : std::nullopt;
}

Result<bool> SimulatedEngine::Synchronize(SimulatedQueue& queue, std::chrono::nanoseconds patience) {
  const auto until = std::chrono::steady_clock::now() + std::min(patience, kLongestWait);
  Lock lock(mutex_);
  while (queue.open > 0) {
    const bool lived = clock_ == SimulatedClock::kVirtual && Step(lock);
    if (std::chrono::steady_clock::now() >= until) break;
    if (!lived && queue.open > 0) changed_.wait_until(lock, until);
  }
  if (queue.open > 0) return false;
  std::optional<Error> error;
  std::swap(error, queue.error);
  if (error && error->id != kRevoked) return *std::move(error);
  return true;
}

void SimulatedEngine::Revoke(SimulatedQueue& queue) {
  const Lock lock(mutex_);
  const Error revoked = MakeError(ErrorCode::kRunFailed, kRevoked, "the work was revoked before it began");
  if (queue.open > 0 && !queue.error) queue.error = revoked;
  for (const std::unique_ptr<Op>& op : ops_) {
    if (op->live && !op->running && op->queue == &queue && !op->error) op->error = revoked;
  }
  changed_.notify_all();
}

void SimulatedEngine::Forget(const SimulatedPoint& point) {
  const Lock lock(mutex_);
  for (const std::unique_ptr<Op>& op : ops_) {
    if (op->live && op->work.point == &point) op->work.point = nullptr;
  }
}

void SimulatedEngine::MakeReady(uint32_t index) {
  const Op& op = *ops_[index];
  (op.error || IsMark(op.work) ? over_ : ready_).push_back(index);
}

void SimulatedEngine::Finish(uint32_t index) {
  Op& op = *ops_[index];
  op.live = op.running = false;
  held_ -= IsMark(op.work) ? 0 : 1;
  if (op.error && !op.queue->error) op.queue->error = op.error;
  SimulatedPoint* point = op.work.point;
  if (point != nullptr && point->mark.serial == op.serial) {
    point->ready = true;
    point->at_ns = std::max(now_ns_, op.submitted_ns);  // nothing is over before it began, however late this is noticed
    point->error = op.error;
  }
  for (const uint32_t follower : op.followers) {
    Op& next = *ops_[follower];
    if (op.error && !next.error) next.error = op.error;
    if (--next.waits_for == 0) MakeReady(follower);
  }
  op.followers.clear();
  op.error.reset();
  --op.queue->open;
  free_.push_back(index);
}

void SimulatedEngine::FinishOver() {
  while (!over_.empty()) {
    const uint32_t index = over_.back();
    over_.pop_back();
    Finish(index);
  }
  changed_.notify_all();
}

bool SimulatedEngine::IsLost(const SimulatedWork& next) {
  kernels_ += next.task != nullptr ? 1 : 0;
  lost_ |= faults_.lost_after > 0 && kernels_ > faults_.lost_after;
  return lost_;
}

Status SimulatedEngine::Compute(const Op& op, Lock& lock) {
  const SimulatedWork work = op.work;
  const std::fenv_t float_state = op.float_state;
  computing_ = true;
  lock.unlock();
  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetenv(&float_state);
  Status status;
  if (work.task != nullptr) {
    status = work.task->Run();
  } else if (work.bytes > 0) {
    std::memcpy(work.to, work.from, work.bytes);
  }
  std::fesetenv(&before);
  lock.lock();
  computing_ = false;
  return status;
}

// Starts what may start now, in the order of submission.
bool SimulatedEngine::StartReady(Lock& lock) {
  bool any = false;
  while (true) {
    const auto first = std::min_element(ready_.begin(), ready_.end(),
                                        [&](uint32_t a, uint32_t b) { return ops_[a]->serial < ops_[b]->serial; });
    if (first == ready_.end() || ops_[*first]->submitted_ns > now_ns_) return any;
    const uint32_t index = *first;
    ready_.erase(first);
    any = true;
    Op& op = *ops_[index];
    if (!op.error && IsLost(op.work)) op.error = Lost();
    if (op.error) {
      over_.push_back(index);
      FinishOver();
      continue;
    }
    op.running = true;
    running_.push_back(index);
    Status status = Compute(op, lock);
    if (!status.ok()) {
      op.error = std::move(status).error();
      op.left_ns = 0;
    }
    if (clock_ == SimulatedClock::kReal) op.not_before_ns = WallNs();
  }
}

double SimulatedEngine::FactorOf(const Op& op) const {
  if (op.work.demand == 0) return 1;
  double demand = 0;
  for (const uint32_t index : running_) demand += ops_[index]->work.demand;
  return std::max(1.0, demand);
}

std::optional<double> SimulatedEngine::NextEnd() const {
  std::optional<double> next;
  for (const uint32_t index : running_) {
    const Op& op = *ops_[index];
    const double end = std::max(now_ns_ + op.left_ns * FactorOf(op), op.not_before_ns);
    if (!next || end < *next) next = end;
  }
  return next;
}

void SimulatedEngine::AdvanceTo(double ns) {
  if (ns <= now_ns_) return;
  for (const uint32_t index : running_) {
    Op& op = *ops_[index];
    op.left_ns = std::max(0.0, op.left_ns - (ns - now_ns_) / FactorOf(op));
  }
  now_ns_ = ns;
}

// To the next start or end that is due; false when none is, or when another thread is at it.
bool SimulatedEngine::Step(Lock& lock) {
  if (computing_) return false;
  const bool real = clock_ == SimulatedClock::kReal;
  const double limit = real ? WallNs() : INFINITY;
  bool any = !real && StartReady(lock);
  const std::optional<double> next = NextEnd();
  if (next && *next <= limit) {
    AdvanceTo(*next);
    std::erase_if(running_, [&](uint32_t index) {
      const Op& op = *ops_[index];
      const bool ended = op.left_ns < kRoundingNs && op.not_before_ns <= now_ns_;
      if (ended) over_.push_back(index);
      return ended;
    });
    FinishOver();
    any = true;
  } else if (real) {
    AdvanceTo(limit);
  }
  return (real && StartReady(lock)) || any;
}

void SimulatedEngine::Live() {
  Lock lock(mutex_);
  while (!ending_) {
    if (Step(lock)) continue;
    if (const std::optional<double> next = NextEnd()) {
      changed_.wait_until(lock, epoch_ + std::chrono::nanoseconds(static_cast<int64_t>(*next) + 1));
    } else {
      changed_.wait(lock);
    }
  }
}

}  // namespace pt
