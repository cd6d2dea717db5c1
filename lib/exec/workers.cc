#include "lib/exec/workers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <cassert>
#include <limits>
#include <set>
#include <string>

#include "lib/exec/thread_state.h"

namespace pt {
namespace {

thread_local const Workers* inside = nullptr;

// Signals are for the application's threads.
class ScopedSignalBlock {
 public:
  ScopedSignalBlock() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~ScopedSignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Workers::Workers(const Platform& platform)
    : worker_of_(platform.resources.size(), std::numeric_limits<uint32_t>::max()) {
  for (size_t i = 0; i < platform.resources.size(); ++i) {
    if (!platform.resources[i].core) continue;
    worker_of_[i] = size();
    cores_.push_back(std::make_unique<Core>());
    cores_.back()->os_core = *platform.resources[i].core;
  }
  crowded_ = FewerCoresThanWorkers();
  const ScopedSignalBlock block;
  for (uint32_t i = 0; i < size(); ++i) {
    cores_[i]->thread = std::thread([this, i] { WorkerLoop(i); });
    pthread_setname_np(cores_[i]->thread.native_handle(), ("pt-core" + std::to_string(i)).c_str());
  }
}

Workers::~Workers() {
  stopping_.store(true);
  for (const auto& core : cores_) core->wake.Add();
  for (const auto& core : cores_) core->thread.join();
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
  for (size_t i = 0; i < cores.size(); ++i) {
    job.places_[i].job = &job;
    job.places_[i].core = cores[i];
    job.places_[i].by_caller = i == 0;
  }
}

bool Workers::InsideJob() const { return inside == this; }

void Workers::StartHead(Core& core) {
  CoreJob::Place* place = core.head;
  if (place == nullptr) return;
  if (place->by_caller) {
    place->granted.Set(1);
  } else {
    core.active.store(place, std::memory_order_relaxed);
    core.wake.Add();
  }
}

void Workers::Run(CoreJob& job, bool brief) {
  assert(!InsideJob());
  CoreJob::Place& mine = job.places_[0];
  Core& core = *cores_[mine.core];
  job.running_.store(static_cast<uint32_t>(job.place_count_), std::memory_order_relaxed);
  mine.granted.Set(0);
  mine.ended.Set(0);
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < job.place_count_; ++i) {
      CoreJob::Place& place = job.places_[i];
      Core& queue = *cores_[place.core];
      place.next = nullptr;
      (queue.tail == nullptr ? queue.head : queue.tail->next) = &place;
      queue.tail = &place;
      if (queue.head == &place) StartHead(queue);
    }
  }
  mine.granted.WaitEqual(1, crowded_);
  {
    const ScopedAffinity affinity(core.os_core, brief);
    const Workers* const before = inside;
    inside = this;
    job.RunOnCore(mine.core);
    inside = before;
  }
  FinishOn(job);
  mine.ended.WaitEqual(1, crowded_);
  // Whoever said so has done with the job once the lock is free.
  const std::lock_guard lock(mutex_);
}

void Workers::FinishOn(CoreJob& job) {
  if (job.running_.fetch_sub(1, std::memory_order_acq_rel) == 1) RemoveAll(job);
}

void Workers::RemoveAll(CoreJob& job) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < job.place_count_; ++i) {
    Core& queue = *cores_[job.places_[i].core];
    assert(queue.head == &job.places_[i]);
    queue.head = queue.head->next;
    if (queue.head == nullptr) queue.tail = nullptr;
  }
  for (size_t i = 0; i < job.place_count_; ++i) StartHead(*cores_[job.places_[i].core]);
  job.places_[0].ended.Set(1);
}

void Workers::WorkerLoop(uint32_t index) {
  Core& core = *cores_[index];
  PinThisThread(core.os_core);
  inside = this;
  for (uint32_t seen = 0;; ++seen) {
    core.wake.Wait([seen](uint32_t v) { return v != seen; }, crowded_);
    if (stopping_.load()) return;
    CoreJob& job = *core.active.load(std::memory_order_relaxed)->job;
    job.RunOnCore(index);
    FinishOn(job);
  }
}

}  // namespace pt
