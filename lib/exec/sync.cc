#include "lib/exec/sync.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/exec/run_limits.h"

namespace pt {

static_assert(sizeof(Atomic<uint32_t>) == sizeof(uint32_t));

void FutexWait(Atomic<uint32_t>& word, uint32_t seen, int64_t until_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec until = {until_ns / kSecond, until_ns % kSecond};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_BITSET_PRIVATE, seen,
          until_ns == RunLimits::kNever ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void FutexWake(Atomic<uint32_t>& word, int most) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
}

}  // namespace pt
