// Waiting for a device, by a clock that the test turns.
#include "lib/exec/device_wait.h"

#include <sys/prctl.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "lib/exec/flag.h"
#include "lib/exec/thread_state.h"

namespace pt::testing::device_wait_test {
namespace {

constexpr int64_t kUs = 1000, kMs = 1000 * kUs;
constexpr int64_t kAskNs = 300, kWakeNs = 5 * kUs;  // what a question takes, and being woken beyond the time asked for

struct Waited {
  int64_t late_ns = 0, slept_ns = 0, longest_pause_ns = 0;
};

// Work that is over after `work_ns` and was expected to take `expected_ns`.
Waited WaitFor(int64_t work_ns, int64_t expected_ns, bool crowded = false) {
  const int64_t begin_ns = 77 * kMs;
  const DeviceWait wait(begin_ns, expected_ns, crowded);
  Waited waited;
  int64_t now_ns = begin_ns;
  for (; now_ns < begin_ns + work_ns; now_ns += kAskNs) {
    const int64_t pause_ns = wait.PauseNs(now_ns);
    if (pause_ns == 0) continue;
    waited.slept_ns += pause_ns;
    waited.longest_pause_ns = std::max(waited.longest_pause_ns, pause_ns);
    now_ns += pause_ns + kWakeNs;
  }
  waited.late_ns = now_ns - begin_ns - work_ns;
  return waited;
}

}  // namespace

TEST_CASE("DeviceWait, WhatComesAboutWhenExpectedIsNoticedAtOnceAndMostlySleptFor", "[exec]") {
  for (const int64_t expected_ns : {60 * kUs, 200 * kUs, 350 * kUs, kMs, 7 * kMs, 15 * kMs}) {
    for (int64_t percent = 85; percent <= 120; percent += 5) {
      const int64_t work_ns = expected_ns * percent / 100;
      CAPTURE(expected_ns, percent);
      const Waited waited = WaitFor(work_ns, expected_ns);
      CHECK(waited.late_ns <= kAskNs + kWakeNs);  // the latter where it was over within the last sleep
      if (percent >= 90) CHECK(waited.late_ns <= kAskNs);
      CHECK(waited.slept_ns >= expected_ns * 7 / 10);
      CHECK(waited.longest_pause_ns <= kMs);
    }
  }
}

TEST_CASE("DeviceWait, WhatIsNotExpectedOrComesLateIsNoticedWithinADoze", "[exec]") {
  for (const int64_t expected_ns : {int64_t{0}, 10 * kUs, 100 * kUs}) {
    for (const int64_t work_ns : {int64_t{0}, kUs, 99 * kUs, 300 * kUs, 3 * kMs, 300 * kMs}) {
      CAPTURE(expected_ns, work_ns);
      const Waited waited = WaitFor(work_ns, expected_ns);
      const bool early = work_ns < expected_ns * 8 / 10;
      CHECK(waited.late_ns <= (early ? expected_ns : 26 * kUs));
      if (!early && work_ns < 100 * kUs) CHECK(waited.late_ns <= kAskNs);
    }
  }
}

// Of a thousandth of the wait nobody notices anything, but of a core that asks all the time.
TEST_CASE("DeviceWait, LongWorkIsNotAskedForWithoutPauses", "[exec]") {
  const Waited waited = WaitFor(900 * kMs, 900 * kMs);
  CHECK(waited.late_ns <= 26 * kUs);
  CHECK(waited.slept_ns >= 850 * kMs);
  CHECK(waited.longest_pause_ns <= kMs);
}

TEST_CASE("DeviceWait, WithMoreThreadsThanCoresItAsksForMicrosecondsAlone", "[exec]") {
  for (const int64_t expected_ns : {int64_t{0}, 300 * kUs}) {
    const Waited waited = WaitFor(400 * kUs, expected_ns, true);
    CHECK(waited.late_ns <= 26 * kUs);
    CHECK(waited.slept_ns >= 300 * kUs);
  }
}

// A plan says a tenth, half, twice or a hundred times what is so, in runs that one interruption has held up.
TEST_CASE("DeviceWait, WrongPredictionsAreLivedDownAndInterruptionsForgotten", "[exec]") {
  const int64_t work_ns = 400 * kUs;
  for (const int64_t predicted_ns : {int64_t{0}, 40 * kUs, 200 * kUs, 400 * kUs, 800 * kUs, 40 * kMs}) {
    CAPTURE(predicted_ns);
    int64_t measured_ns = 0;
    for (int run = 0; run < 40; ++run) {
      const int64_t now_ns = run == 20 ? 100 * work_ns : work_ns;
      const Waited waited = WaitFor(now_ns, ExpectedNs(predicted_ns, measured_ns));
      measured_ns = now_ns + waited.late_ns;
      if (run <= 20 || run > 38) CHECK(waited.late_ns <= 26 * kUs);
      if (predicted_ns <= work_ns) CHECK(waited.late_ns <= 26 * kUs);
    }
  }
}

TEST_CASE("DeviceWait, ThreadsHaveTheirTimerSlackBackAfterASleep", "[exec]") {
  std::thread([] {
    REQUIRE(prctl(PR_SET_TIMERSLACK, 60'000UL, 0, 0, 0) == 0);
    {
      const ScopedTimerSlack prompt(1);
      CHECK(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 1);
    }
    CHECK(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 60'000);
    SleepFor(1);
    SpinTimer::Doze();
    CHECK(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 60'000);
  }).join();
}

}  // namespace pt::testing::device_wait_test
