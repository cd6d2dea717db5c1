#include "lib/exec/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace pt {
namespace {

class IndexedWork {
 public:
  IndexedWork(size_t count, const std::function<Status(size_t)>& body) : count_(count), body_(body) {}

  void Run() noexcept {
    while (!failed_) {
      const size_t i = next_++;
      if (i >= count_) return;
      Status status;
      std::exception_ptr thrown;
      try {
        status = body_(i);
      } catch (...) {
        thrown = std::current_exception();
      }
      if (!status.ok() || thrown) Fail(i, std::move(status), thrown);
    }
  }

  Status Result() {
    if (thrown_) std::rethrow_exception(thrown_);
    return std::move(status_);
  }

 private:
  // Whatever comes before a piece has begun before it, so the least error is the same every time.
  void Fail(size_t i, Status status, std::exception_ptr thrown) {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    if (i >= least_) return;
    least_ = i;
    status_ = std::move(status);
    thrown_ = std::move(thrown);
  }

  const size_t count_;
  const std::function<Status(size_t)>& body_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  size_t least_ = SIZE_MAX;
  Status status_;
  std::exception_ptr thrown_;
};

}  // namespace

Status InParallel(size_t count, uint32_t threads, const std::function<Status(size_t)>& body) {
  IndexedWork work(count, body);
  std::vector<std::jthread> others;
  try {
    for (size_t i = 1; i < std::min<size_t>(threads, count); ++i) others.emplace_back([&work] { work.Run(); });
  } catch (const std::system_error&) {
    // No more threads: those there are do it all.
  }
  work.Run();
  others.clear();
  return work.Result();
}

}  // namespace pt
