#include "lib/exec/workers.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>

#include "lib/exec/thread_state.h"
#include "partitiontuner/support/scoped_signal_block.h"

namespace pt {
namespace {

thread_local PerThread<const Workers*> inside = nullptr;

constexpr size_t kWakeFanOut = 8;

}  // namespace

Workers::Workers(const Platform& platform, Pins pins)
    : worker_of_(platform.resources.size(), std::numeric_limits<uint32_t>::max()), pins_(pins) {
  for (size_t i = 0; i < platform.resources.size(); ++i) {
    if (!platform.resources[i].core) continue;
    worker_of_[i] = size();
    cores_.push_back(std::make_unique<Core>());
    cores_.back()->os_core = *platform.resources[i].core;
  }
  fewer_cores_ = FewerCoresThanWorkers();
  ReadQuota();
}

Result<std::unique_ptr<Workers>> Workers::Make(const Platform& platform, const Start& start, Pins pins) {
  std::unique_ptr<Workers> workers(new Workers(platform, pins));
  PT_CHECK_OK(workers->StartAll(start));
  return workers;
}

Status Workers::StartAll(const Start& start) {
  const ScopedSignalBlock block;  // threads inherit it
  for (uint32_t i = 0; i < size(); ++i) {
    try {
      cores_[i]->thread = start([this, i] { WorkerLoop(i); });
    } catch (const std::system_error& error) {
      return MakeError(ErrorCode::kDeviceUnusable, "machine.thread",
                       "no thread for core " + std::to_string(cores_[i]->os_core) + " (" + std::to_string(i) + " of " +
                           std::to_string(size()) + " were made): " + error.what(),
                       "raise the limit of processes and threads (ulimit -u, the control group's pids.max) or use "
                       "fewer cores");
    }
    pthread_setname_np(cores_[i]->thread.native_handle(), ("pt-core" + std::to_string(i)).c_str());
  }
  return {};
}

Workers::~Workers() {
  stopping_.store(true);
  for (const auto& core : cores_) core->wake.Add();
  for (const auto& core : cores_) {
    if (core->thread.joinable()) core->thread.join();
  }
}

bool Workers::FewerCoresThanWorkers() const {
  std::set<uint32_t> cores;
  for (const auto& core : cores_) cores.insert(core->os_core);
  return cores.size() < cores_.size() || cores_.size() > std::thread::hardware_concurrency();
}

void Workers::Place(CoreJob& job, std::span<const uint32_t> cores) {
  assert(!cores.empty());
  job.places_ = std::make_unique<CoreJob::Place[]>(cores.size());
  job.place_count_ = cores.size();
  job.at_once_.reserve(cores.size());
  job.withdrawn_.reserve(cores.size());
  for (size_t i = 0; i < cores.size(); ++i) {
    job.places_[i].job = &job;
    job.places_[i].core = cores[i];
    job.places_[i].by_caller = i == 0;
  }
}

bool Workers::InsideJob() const { return inside == this; }

bool Workers::pins_caller(Stay stay) const {
  return pins_ == Pins::kCore || (pins_ == Pins::kAuto && stay != Stay::kFree);
}

void Workers::Run(CoreJob& job, Stay stay, const RunLimits& limits) {
  assert(!InsideJob());
  CoreJob::Place& mine = job.places_[0];
  const bool at_once = Queue(job);
  bool handed_on = false;
  // Whoever waits for cores has none of its own to spin on.
  if (at_once || job.turn_.WaitWithin(limits, SpinTimer(true))) {
    {
      std::optional<ScopedAffinity> affinity;
      if (pins_caller(stay)) affinity.emplace(cores_[mine.core]->os_core, stay == Stay::kBrief);
      const Workers* const before = inside;
      inside = this;
      job.RunOnCore(mine.core);
      inside = before;
    }
    handed_on = Leave(mine);
    job.withdrawn_.push_back(mine.core);
  } else {
    Withdraw(job);
    const bool came = mine.begun;  // its turn came after all
    if (came) {
      job.turn_.Wait(SpinTimer(true));  // whoever says so is about to
      job.withdrawn_.push_back(mine.core);
    }
    job.Abandon(job.withdrawn_);
    if (came) handed_on = Leave(mine);
  }
  const SpinTimer patience(handed_on || crowded());
  if (EndOn(job, job.withdrawn_.size()) || job.ended_.WaitWithin(limits, patience)) return;
  if (const std::span<const uint32_t> late = Withdraw(job); !late.empty()) {
    job.Abandon(late);
    if (EndOn(job, late.size())) return;
  }
  job.ended_.Wait(patience);
}

// True when it is the job's turn on its first core.
bool Workers::Queue(CoreJob& job) {
  job.running_.store(static_cast<uint32_t>(job.place_count_), std::memory_order_relaxed);
  job.turn_.Reset();
  job.ended_.Reset();
  job.at_once_.clear();
  job.withdrawn_.clear();
  bool first = false;
  {
    const std::lock_guard order(order_mutex_);
    for (CoreJob::Place& place : std::span(job.places_.get(), job.place_count_)) {
      place.next = nullptr;
      place.begun = false;
      place.wake_index = CoreJob::kNotAtOnce;
      Core& core = *cores_[place.core];
      const std::lock_guard lock(core.mutex);
      (core.tail == nullptr ? core.head : core.tail->next) = &place;
      core.tail = &place;
      if (core.head != &place) continue;
      Begin(core);
      if (place.by_caller) {
        first = true;
      } else {
        place.wake_index = job.at_once_.size();
        job.at_once_.push_back(place.core);
      }
    }
  }
  WakeSome(job, 0);
  return first;
}

void Workers::Begin(Core& core) {
  core.head->begun = true;
  if (!core.head->by_caller) core.active.store(core.head, std::memory_order_relaxed);
}

// Waking who sleeps costs microseconds, so the caller wakes a few workers and each of those a few more.
void Workers::WakeSome(const CoreJob& job, size_t first) {
  const size_t end = std::min(first + kWakeFanOut, job.at_once_.size());
  for (size_t i = first; i < end; ++i) cores_[job.at_once_[i]]->wake.Add();
}

std::span<const uint32_t> Workers::Withdraw(CoreJob& job) {
  const size_t before = job.withdrawn_.size();
  for (CoreJob::Place& place : std::span(job.places_.get(), job.place_count_)) {
    Core& core = *cores_[place.core];
    const std::lock_guard lock(core.mutex);
    const bool gone = std::find(job.withdrawn_.begin(), job.withdrawn_.end(), place.core) != job.withdrawn_.end();
    if (place.begun || gone) continue;
    CoreJob::Place* previous = core.head;  // has begun, so it is another
    while (previous->next != &place) previous = previous->next;
    previous->next = place.next;
    if (core.tail == &place) core.tail = previous;
    job.withdrawn_.push_back(place.core);
  }
  return std::span(job.withdrawn_).subspan(before);
}

// The job has ended on the core of that place, whose next job begins. True when there is one.
bool Workers::Leave(CoreJob::Place& place) {
  Core& core = *cores_[place.core];
  CoreJob::Place* next = nullptr;
  {
    const std::lock_guard lock(core.mutex);
    assert(core.head == &place);
    next = core.head = place.next;
    if (next == nullptr) {
      core.tail = nullptr;
    } else {
      Begin(core);
    }
  }
  if (next == nullptr) return false;
  // Its job lives: it has begun here and cannot end before it is told so.
  if (next->by_caller) {
    next->job->turn_.Set();
  } else {
    core.wake.Add();
  }
  return true;
}

// The job has ended on this many cores more: the last time anyone except its caller touches it. True when it was the
// last.
bool Workers::EndOn(CoreJob& job, size_t cores) {
  const auto count = static_cast<uint32_t>(cores);
  return job.running_.fetch_sub(count, std::memory_order_acq_rel) == count;
}

void Workers::WorkerLoop(uint32_t index) {
  Core& core = *cores_[index];
  if (pins_ != Pins::kNone) PinThisThread(core.os_core);
  core.wait.OpenForThisThread();
  inside = this;
  for (uint32_t seen = 0;; ++seen) {
    core.wake.Wait([seen](uint32_t v) { return v != seen; }, SpinTimer(crowded()));
    if (stopping_.load()) return;
    CoreJob::Place& place = *core.active.load(std::memory_order_relaxed);
    CoreJob& job = *place.job;
    if (place.wake_index != CoreJob::kNotAtOnce) WakeSome(job, kWakeFanOut * (place.wake_index + 1));
    job.RunOnCore(index);
    Leave(place);
    if (EndOn(job, 1)) job.ended_.Set();
  }
}

}  // namespace pt
