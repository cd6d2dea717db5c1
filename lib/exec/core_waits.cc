#include "lib/exec/core_waits.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include "lib/exec/workers.h"

namespace pt {

CoreWait::~CoreWait() {
  if (const int file = file_.load(); file >= 0) close(file);
}

void CoreWait::OpenForThisThread() { file_.store(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)); }

int64_t WaitedNsOf(std::string_view account) {
  const char* const end = account.data() + account.size();
  int64_t on_core_ns = 0, waited_ns = 0;
  const auto first = std::from_chars(account.data(), end, on_core_ns);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return 0;
  return std::from_chars(first.ptr + 1, end, waited_ns).ec == std::errc() ? waited_ns : 0;
}

int64_t CoreWait::TotalNs() const {
  const int file = file_.load();
  char text[64];
  const ssize_t size = file < 0 ? 0 : pread(file, text, sizeof(text), 0);
  return size <= 0 ? 0 : WaitedNsOf({text, static_cast<size_t>(size)});
}

int64_t CoreWaits::TotalNs() {
  CoreWait own;
  own.OpenForThisThread();
  const int64_t now_ns = own.TotalNs();
  if (const pid_t caller = gettid(); caller == caller_) {
    callers_ns_ += now_ns - caller_before_ns_;
  } else {
    caller_ = caller;
  }
  caller_before_ns_ = now_ns;
  int64_t total_ns = callers_ns_;
  for (const uint32_t helper : helpers_) total_ns += workers_.WaitedNs(helper);
  return total_ns;
}

}  // namespace pt
