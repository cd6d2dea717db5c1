// Workers: one pinned thread per core of the platform. Whoever wants cores queues a job for a set of them. A job leaves
// each core as soon as it has ended there, and the next one begins on that core while the first still runs elsewhere.
//
// Why no worker waits in a cycle: every job enters all its queues under one lock, so the queues agree on one order of
// jobs. On one core jobs run one after the other, and within a job whatever waits on a core (for a flag, a helper, a
// leader) waits for a step of the same job that is earlier in the plan's order, or for another core to reach the same
// step. So order all (job, step) pairs, jobs first. Of those that have not ended take the least: what its cores have to
// do before it are lesser pairs, which have ended, so each of its cores gets to it; and what it waits for are lesser
// pairs of its own job. So it ends. A job that leaves its queues early changes the order of no others.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/core_waits.h"
#include "lib/exec/flag.h"
#include "lib/exec/sync.h"
#include "partitiontuner/exec/pins.h"
#include "partitiontuner/platform/cpu_quota.h"
#include "partitiontuner/platform/platform.h"

namespace pt {

// Work for several cores at once. Reused from run to run; must outlive its run only.
class CoreJob {
 public:
  virtual ~CoreJob() = default;
  // Runs on worker `core` (or on the caller in its stead), concurrently with the job's other cores.
  virtual void RunOnCore(uint32_t core) noexcept = 0;
  // The job's limits were over while the caller waited. RunOnCore is not called for `cores`, which may be none: see to
  // it, on the calling thread and without blocking for them, that the cores where the job runs come to an end.
  // Jobs without limits are never asked.
  virtual void Abandon(std::span<const uint32_t> /*cores*/) noexcept {}

 private:
  friend class Workers;
  static constexpr size_t kNotAtOnce = ~size_t{0};
  // The job's place in one core's queue.
  struct Place {
    CoreJob* job = nullptr;
    Place* next = nullptr;
    uint32_t core = 0;
    bool by_caller = false;
    bool begun = false;              // it is its turn; guarded by the core's lock
    size_t wake_index = kNotAtOnce;  // its position among the workers woken when the job was queued
  };
  std::unique_ptr<Place[]> places_;
  size_t place_count_ = 0;
  std::vector<uint32_t> at_once_;    // workers whose turn it was when the job was queued
  std::vector<uint32_t> withdrawn_;  // cores the caller answers for: where it has not run, and at last its own
  Atomic<uint32_t> running_{0};
  Latch turn_, ended_;  // for the caller: the first core is free; all cores are done
};

// Where the thread that calls Run stays while it stands in for the worker of its first core.
enum class Stay : uint8_t {
  kOnCore,  // there, for as long as it takes
  kBrief,   // likewise, and it is over long before the system would move a thread to another core
  kFree,    // a job of one core that any core may do, so it goes where the system has one to spare
};

class Workers {
 public:
  using Start = std::function<Thread(std::function<void()>)>;
  static Thread StartThread(std::function<void()> body) { return Thread(std::move(body)); }
  // kDeviceUnusable when a thread cannot be made; those made before it have ended then. `start` makes one; it throws
  // std::system_error when it cannot.
  static Result<std::unique_ptr<Workers>> Make(const Platform& platform, const Start& start = StartThread,
                                               Pins pins = Pins::kAuto);
  ~Workers();  // no job may be queued
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(cores_.size()); }
  // The worker of a core resource.
  uint32_t worker_of(ResourceId core) const { return worker_of_[core.index()]; }
  // More workers than cores to run them on, or than the quota pays for: waits must yield.
  bool crowded() const { return fewer_cores_ || paid_cores() < size(); }
  // Cores whose time the control groups of this process granted when the quota was last read; the largest size_t where
  // nothing limits it.
  size_t paid_cores() const { return paid_cores_.load(std::memory_order_relaxed); }
  // Quotas change while a process lives. From any thread.
  void ReadQuota() { paid_cores_.store(CpuQuota(root_), std::memory_order_relaxed); }
  // Another tree than that of the system, for tests: what "/" stands for. Before there are sessions.
  void SetRoot(std::string root) { root_ = std::move(root); }

  // How long a worker has waited for its core so far (CoreWait). From any thread.
  int64_t WaitedNs(uint32_t worker) const { return cores_[worker]->wait.TotalNs(); }

  // Sets which cores the job takes, ascending, at least one. Allocates; not while it is queued.
  static void Place(CoreJob& job, std::span<const uint32_t> cores);
  // Runs the job: the calling thread stands in for the worker of the job's first core. Returns when all are done.
  // Allocates nothing. Must not be called from within a job of these workers. Limits that are over before all cores are
  // the job's end it: it leaves the queues where it still waits, and CoreJob::Abandon is called.
  void Run(CoreJob& job, Stay stay = Stay::kOnCore, const RunLimits& limits = {});
  // For a job whose limits are over while it runs on its first core, and from there only: takes it out of the queues
  // where it still waits. Returns those cores; no RunOnCore comes for them. Valid until the job runs again.
  std::span<const uint32_t> Withdraw(CoreJob& job);

  // True on a thread that is in a job of these workers right now: waiting for cores there would never end.
  bool InsideJob() const;

 private:
  struct alignas(64) Core {
    uint32_t os_core = 0;
    Thread thread;
    CoreWait wait;
    Mutex mutex;
    CoreJob::Place* head = nullptr;  // guarded by mutex, as tail
    CoreJob::Place* tail = nullptr;
    Atomic<CoreJob::Place*> active{nullptr};  // for the worker; set before `wake`
    // Changes with every place that is the worker's turn, and at the end. On a line of its own: the worker reads it all
    // the time while callers change what is above.
    alignas(64) Flag wake;
  };

  Workers(const Platform& platform, Pins pins);
  Status StartAll(const Start& start);
  void WorkerLoop(uint32_t index);
  bool Queue(CoreJob& job);
  static void Begin(Core& core);  // under its mutex
  void WakeSome(const CoreJob& job, size_t first);
  bool Leave(CoreJob::Place& place);
  static bool EndOn(CoreJob& job, size_t cores);
  bool FewerCoresThanWorkers() const;
  bool pins_caller(Stay stay) const;

  std::vector<std::unique_ptr<Core>> cores_;
  std::vector<uint32_t> worker_of_;
  const Pins pins_;
  bool fewer_cores_ = false;
  std::string root_;
  std::atomic<size_t> paid_cores_{std::numeric_limits<size_t>::max()};
  Atomic<bool> stopping_{false};
  Mutex order_mutex_;  // held while a job enters its queues
};

}  // namespace pt
