// What the executor's threads meet by: atomics, locks, sleep. These names are what test/schedules replaces, by putting
// a file of this name before this one, to run the same code in every order of its threads. What no other thread waits
// for or acts on (counters, quotas) needs none of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace pt {

template <typename T>
using Atomic = std::atomic<T>;
using Mutex = std::mutex;
using Thread = std::thread;
// Of a thread_local variable.
template <typename T>
using PerThread = T;

// Sleeps until the word is no longer `seen`, until that time of NowNs (a monotonic clock's, as the kernel counts it;
// RunLimits::kNever: no such time), or spuriously.
void FutexWait(Atomic<uint32_t>& word, uint32_t seen, int64_t until_ns);
// Wakes those who sleep on the word, `most` at most. The word may be gone.
void FutexWake(Atomic<uint32_t>& word, int most);

}  // namespace pt
