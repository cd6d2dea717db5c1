#include "lib/profiler/device_lock.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <string>
#include <thread>

#include "test/testing/lock_folder.h"

namespace pt::device_lock_test {
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

TEST_CASE("DeviceLock, EveryUserCanOpenTheFileWhateverItsMakerMasks", "[profiler]") {
  const testing::OwnLockFolder folder;
  const mode_t before = umask(077);
  const bool made = DeviceLock::Open("a").ok();
  umask(before);
  REQUIRE(made);
  struct stat status {};
  REQUIRE(stat(folder.lock_file("a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
}

// In a child: with the rights of nobody where the tests run as root, who may open everything.
TEST_CASE("DeviceLock, AnotherUsersFileSaysWhoseItIsAndWhatToDo", "[profiler]") {
  const testing::OwnLockFolder folder;
  const std::string path = folder.lock_file("a");
  std::ofstream(path).put('x');
  REQUIRE(chmod(path.c_str(), 0) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    const Result<DeviceLock> lock = DeviceLock::Open("a");
    const auto says = [](const std::string& text, const std::string& part) {
      return text.find(part) != std::string::npos;
    };
    struct stat status {};
    const bool ok = !lock.ok() && lock.error().id == "profiler.lock" && lock.error().file == path &&
                    stat(path.c_str(), &status) == 0 &&
                    says(lock.error().message, "belongs to user " + std::to_string(status.st_uid)) &&
                    says(lock.error().hint, "chmod a+r");
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("DeviceLock, WhatIsNoFileIsRefusedWithoutWaiting", "[profiler]") {
  const testing::OwnLockFolder folder;
  REQUIRE(mkfifo(folder.lock_file("a").c_str(), 0644) == 0);
  REQUIRE(mkdir(folder.lock_file("b").c_str(), 0755) == 0);
  REQUIRE(symlink("/etc/hostname", folder.lock_file("c").c_str()) == 0);
  for (const char* device : {"a", "b", "c"}) {
    const Result<DeviceLock> lock = DeviceLock::Open(device);
    REQUIRE_FALSE(lock.ok());
    CHECK(lock.error().id == "profiler.lock");
    CHECK(lock.error().hint.find("remove") != std::string::npos);
  }
}

}  // namespace
}  // namespace pt::device_lock_test
