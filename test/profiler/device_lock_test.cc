#include "lib/profiler/device_lock.h"

#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>

namespace pt {
namespace {

std::string OwnDevice(const char* name) { return "test:" + std::to_string(getpid()) + name; }

TEST_CASE("DeviceLock, TwoHoldersNeverOverlap", "[profiler]") {
  const std::string device = OwnDevice("a");
  std::atomic<int> inside{0}, overlaps{0}, failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Result<DeviceLock> lock = DeviceLock::Open(device);
      for (int i = 0; lock.ok() && i < 20; ++i) {
        if (!lock->Acquire(nullptr).ok()) ++failures;
        if (inside.fetch_add(1) != 0) ++overlaps;
        std::this_thread::yield();
        inside.fetch_sub(1);
        lock->Release();
      }
      if (!lock.ok()) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(overlaps == 0);
  CHECK(failures == 0);
}

TEST_CASE("DeviceLock, CancelEndsTheWait", "[profiler]") {
  const std::string device = OwnDevice("b");
  DeviceLock held = DeviceLock::Open(device).value();
  REQUIRE(held.Acquire(nullptr).ok());
  DeviceLock waiting = DeviceLock::Open(device).value();
  CancelToken cancel;
  cancel.Cancel();
  const Status status = waiting.Acquire(&cancel);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kInterrupted);
  held.Release();
  CHECK(waiting.Acquire(&cancel).ok());
}

TEST_CASE("DeviceLock, DevicesDoNotBlockEachOther", "[profiler]") {
  DeviceLock a = DeviceLock::Open(OwnDevice("c")).value();
  DeviceLock b = DeviceLock::Open(OwnDevice("d")).value();
  CHECK(a.Acquire(nullptr).ok());
  CHECK(b.Acquire(nullptr).ok());
}

}  // namespace
}  // namespace pt
