// Workers: one pinned thread per core of the platform. Whoever wants cores queues a job for a set of them; jobs that
// share a core run one after the other, and since every job enters all its queues under one lock, all queues agree on
// the order and nobody waits in a circle. A job holds its cores until it has ended on all of them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "lib/exec/flag.h"
#include "partitiontuner/platform/platform.h"

namespace pt {

// Work for several cores at once. Reused from run to run; must outlive its run only.
class CoreJob {
 public:
  virtual ~CoreJob() = default;
  // Runs on worker `core` (or on the caller in its stead), concurrently with the job's other cores.
  virtual void RunOnCore(uint32_t core) noexcept = 0;

 private:
  friend class Workers;
  // The job's place in one core's queue.
  struct Place {
    CoreJob* job = nullptr;
    Place* next = nullptr;
    uint32_t core = 0;
    bool by_caller = false;
    Flag granted, ended;  // of the place that the caller stands for
  };
  std::unique_ptr<Place[]> places_;
  size_t place_count_ = 0;
  std::atomic<uint32_t> running_{0};
};

class Workers {
 public:
  explicit Workers(const Platform& platform);
  ~Workers();  // no job may be queued
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(cores_.size()); }
  // The worker of a core resource.
  uint32_t worker_of(ResourceId core) const { return worker_of_[core.index()]; }
  // More workers than cores to run them on: waits must yield.
  bool crowded() const { return crowded_; }

  // Sets which cores the job takes, ascending, at least one. Allocates; not while it is queued.
  static void Place(CoreJob& job, std::span<const uint32_t> cores);
  // Runs the job: the calling thread stands in for the worker of the job's first core. Returns when all are done.
  // Allocates nothing. Must not be called from within a job of these workers. `brief`: over long before the system
  // would move a thread to another core.
  void Run(CoreJob& job, bool brief = false);

  // True on a thread that is in a job of these workers right now: waiting for cores there would never end.
  bool InsideJob() const;

 private:
  struct Core {
    uint32_t os_core = 0;
    std::thread thread;
    CoreJob::Place* head = nullptr;  // guarded by mutex_, as tail
    CoreJob::Place* tail = nullptr;
    std::atomic<CoreJob::Place*> active{nullptr};  // for the worker; set before `wake`
    Flag wake;                                     // changes with every place that is the worker's turn, and at the end
  };

  void WorkerLoop(uint32_t index);
  void StartHead(Core& core);  // under mutex_
  void FinishOn(CoreJob& job);
  void RemoveAll(CoreJob& job);
  bool FewerCoresThanWorkers() const;

  std::vector<std::unique_ptr<Core>> cores_;
  std::vector<uint32_t> worker_of_;
  bool crowded_ = false;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
};

}  // namespace pt
