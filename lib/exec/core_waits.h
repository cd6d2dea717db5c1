// How long threads have waited for a core that somebody else had, as the scheduler of the system counts it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pt {

class Workers;

// What a thread's account says that it waited, of "time on cores, time waited for one, turns" with blanks between, the
// times in nanoseconds. 0 where that is not what it says.
int64_t WaitedNsOf(std::string_view account);

// The account of one thread.
class CoreWait {
 public:
  CoreWait() = default;
  ~CoreWait();
  CoreWait(const CoreWait&) = delete;
  CoreWait& operator=(const CoreWait&) = delete;

  // The thread whose account it is; once.
  void OpenForThisThread();
  // From any thread, at any time. 0 where the system keeps no account (no /proc, kernels without it), and before it is
  // open. About a microsecond.
  int64_t TotalNs() const;

 private:
  std::atomic<int> file_{-1};
};

// Of the threads that run a plan together: the helpers, and whoever calls. Not thread-safe.
class CoreWaits {
 public:
  // `helpers`: workers, by number.
  CoreWaits(const Workers& workers, std::vector<uint32_t> helpers) : workers_(workers), helpers_(std::move(helpers)) {}

  // So far, counted from anywhere; of the calling thread what it has waited between two calls of its own. Some
  // microseconds.
  int64_t TotalNs();

 private:
  const Workers& workers_;
  const std::vector<uint32_t> helpers_;
  pid_t caller_ = 0;  // the last one
  int64_t caller_before_ns_ = 0, callers_ns_ = 0;
};

}  // namespace pt
