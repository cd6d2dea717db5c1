#include "lib/exec/core_waits.h"

#include <sched.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/exec/thread_state.h"
#include "lib/exec/workers.h"
#include "test/exec/session_setting.h"

namespace pt::testing::core_waits_test {
namespace {

// Looks at an account until it has come to so much. False when it does not.
bool SpinUntilWaited(const CoreWait& account, int64_t ns) {
  for (uint64_t turns = 0; turns < 20'000'000; ++turns) {
    if (account.TotalNs() >= ns) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("CoreWait, BeforeItIsOpenNothingWasWaited", "[exec]") { CHECK(CoreWait().TotalNs() == 0); }

TEST_CASE("CoreWait, AnAccountIsReadToItsEndAndNoFurther", "[exec]") {
  const std::string_view account = "1200 345 67\n";
  CHECK(WaitedNsOf(account) == 345);
  CHECK(WaitedNsOf(account.substr(0, 8)) == 345);
  // What ends after the first time says nothing of the second, whatever stands behind it in memory.
  for (size_t size = 0; size <= 5; ++size) {
    CAPTURE(size);
    CHECK(WaitedNsOf(account.substr(0, size)) == 0);
  }
  for (const char* other :
       {"x 345 67", "1200,345,67", "1200 x 67", "99999999999999999999 345 67", "1200 99999999999999999999"}) {
    CAPTURE(other);
    CHECK(WaitedNsOf(other) == 0);
  }
}

TEST_CASE("CoreWait, TwoBusyThreadsOnOneCoreWaitForEachOther", "[exec]") {
  CoreWait first, second;
  std::atomic<int> open{0};
  std::atomic<bool> over{false};
  const auto core = static_cast<uint32_t>(sched_getcpu());  // one that this process may use
  const auto busy = [&](CoreWait& account) {
    PinThisThread(core);
    account.OpenForThisThread();
    ++open;
    while (!over) {
    }
  };
  std::thread one([&] { busy(first); }), other([&] { busy(second); });
  while (open < 2) std::this_thread::yield();
  if (first.TotalNs() == 0 && second.TotalNs() == 0 && !SpinUntilWaited(first, 1)) {
    over = true;
    one.join();
    other.join();
    SKIP("this system keeps no account of waits for cores");
  }
  CHECK(SpinUntilWaited(first, 10'000'000));
  CHECK(SpinUntilWaited(second, 10'000'000));
  over = true;
  one.join();
  other.join();
}

TEST_CASE("CoreWaits, OfManyCallersEachCountsFromItsLastCallOn", "[exec]") {
  Setting setting(2, false);
  CoreWaits waits(setting.machine->workers(), {1});
  const int64_t start_ns = waits.TotalNs();
  int64_t there_ns = 0;
  std::thread([&] { there_ns = waits.TotalNs(); }).join();
  CHECK(there_ns >= start_ns);
  CHECK(waits.TotalNs() >= there_ns);
}

}  // namespace pt::testing::core_waits_test
