#include "lib/exec/alone_choice.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>
#include <random>
#include <string>

namespace pt::testing::alone_choice_test {
namespace {

using Way = AloneChoice::Way;

constexpr int64_t kMs = 1'000'000, kSecond = 1000 * kMs;

// Runs one after another on a clock that passes by their times alone.
struct Caller {
  int64_t waited_ns = 0;
  AloneChoice choice{[this] { return waited_ns; }};
  using Times = std::function<int64_t(Way)>;

  Way RunOnce(int64_t& took_ns, const Times& time) {
    const Way way = choice.Next();
    took_ns = time(way);
    choice.Note(way, took_ns);
    return way;
  }

  struct Share {
    int64_t alone_runs = 0, runs = 0, alone_ns = 0, all_ns = 0;
  };
  Share RunFor(int64_t ns, const Times& time) {
    Share share;
    while (share.all_ns < ns) {
      int64_t took = 0;
      const bool alone = RunOnce(took, time) == Way::kAlone;
      ++share.runs;
      share.all_ns += took;
      share.alone_runs += alone ? 1 : 0;
      share.alone_ns += alone ? took : 0;
    }
    return share;
  }

  // A letter a run: together or alone.
  std::string WaysOf(int runs, const Times& time) {
    std::string ways;
    for (int64_t took = 0; runs > 0; --runs) ways += RunOnce(took, time) == Way::kAlone ? 'a' : 't';
    return ways;
  }
};

std::string Times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("AloneChoice, WhereThreadsHaveTheirCoresNothingIsTried", "[exec]") {
  const int64_t together = GENERATE(10'000, 100'000, 5'000'000, 200'000'000);
  CAPTURE(together);
  Caller caller;
  // Waking helpers and the system's own work take a core now and then: less than a fifth of the time.
  const auto quiet = [&](Way way) {
    caller.waited_ns += together / 6;
    return way == Way::kAlone ? together / 2 : together;
  };
  CHECK(caller.RunFor(60 * kSecond, quiet).alone_runs == 0);
  const auto disturbed = [&](Way way) {
    caller.waited_ns += together / 4;
    return way == Way::kAlone ? together / 2 : together;
  };
  const Caller::Share share = caller.RunFor(4 * kSecond, disturbed);
  CHECK(share.alone_ns * 2 > share.all_ns);
}

// Windows of at least 10 ms and two runs; three disturbed ones; two clear pairs; then a trial after 12, 24, ... lengths
// of a trial.
TEST_CASE("AloneChoice, TakesTheFasterWayAfterTwoPairsAndComesBackToTheOtherEverLater", "[exec]") {
  Caller caller;
  const auto busy = [&](Way way) {
    caller.waited_ns += 2 * kMs;
    return (way == Way::kAlone ? 3 : 6) * kMs;
  };
  const std::string expected = std::string("t") + Times(3, "tt")    // cold; three disturbed windows
                               + "aaaa" + "tt" + "aaaa"             // two pairs
                               + Times(24, "aaaa") + "tt"           // 288 ms; running together loses
                               + Times(48, "aaaa") + "tt"           // twice as long
                               + Times(96, "aaaa") + "tt"           // four times
                               + Times(96, "aaaa") + "tt" + "aaa";  // never longer
  CHECK(caller.WaysOf(static_cast<int>(expected.size()), busy) == expected);
  CHECK(caller.choice.switches() == 1);
}

TEST_CASE("AloneChoice, ALongRunIsAWindowAndOneNoisyOneDecidesNothing", "[exec]") {
  const bool noise_in_alone = GENERATE(false, true);
  const int64_t alone = noise_in_alone ? 15 * kMs : 40 * kMs;
  Caller caller;
  int runs = 0;
  // The last window before the trial, or the first of the caller alone, takes ten times as long as others of its kind.
  const auto noisy = [&](Way way) {
    caller.waited_ns += 50 * kMs;
    const bool noise = ++runs == (noise_in_alone ? 5 : 4);
    return (way == Way::kAlone ? alone : 25 * kMs) * (noise ? 10 : 1);
  };
  if (noise_in_alone) {
    // It loses, and wins the next trial: two shorter runs are a window.
    CHECK(caller.WaysOf(60, noisy) ==
          "tttt"
          "a" +
              Times(48, "t") +
              "aa"
              "t"
              "aa"
              "aa");
  } else {
    // Pairs: +0.3 -0.3 -0.3.
    CHECK(caller.WaysOf(16, noisy) ==
          "tttt"
          "a"
          "t"
          "a"
          "t"
          "a"
          "ttttttt");
  }
  CHECK(caller.choice.switches() == (noise_in_alone ? 1 : 0));
}

TEST_CASE("AloneChoice, WhereOthersAreBusyAndTheCallerAloneIsNoSlowerItRunsAlone", "[exec]") {
  Caller caller;
  caller.RunFor(2 * kSecond, [&](Way way) {
    caller.waited_ns += way == Way::kAlone ? 0 : kMs;
    return way == Way::kAlone ? 900'000 : 1'000'000;
  });
  CHECK(caller.choice.Next() == Way::kAlone);
  CHECK(caller.choice.switches() == 1);
}

TEST_CASE("AloneChoice, FollowsABusyProcessThatComesAndGoes", "[exec]") {
  const int64_t together = GENERATE(50'000, 100'000, 1'000'000, 20'000'000, 60'000'000);
  CAPTURE(together);
  const int64_t alone = together * 15 / 10;
  std::mt19937 random(2);
  const auto quiet = [=](Way way) { return way == Way::kAlone ? alone : together; };
  Caller caller;
  // Helpers lose their core for a tick in one run of so many, in all long ones.
  const uint32_t one_of = together < kMs ? 20 : 1;
  const int64_t late = std::max(4 * kMs, together);
  const auto busy = [&](Way way) {
    if (way == Way::kAlone) return alone;
    const bool taken = random() % one_of == 0;
    caller.waited_ns += taken ? late : 0;
    return together + (taken ? late : 0);
  };
  caller.RunFor(5 * kSecond, quiet);
  REQUIRE(caller.choice.Next() == Way::kTogether);
  caller.RunFor(2 * kSecond + 20 * together, busy);
  const Caller::Share beside = caller.RunFor(20 * kSecond, busy);
  CAPTURE(caller.choice.switches(), beside.all_ns / beside.runs);
  CHECK(beside.alone_ns * 10 > beside.all_ns * 8);         // nearly all of the time
  CHECK(beside.all_ns * 100 < beside.runs * alone * 115);  // at the cost of the trials
  caller.RunFor(4 * kSecond + 100 * together, quiet);
  CHECK(caller.choice.Next() == Way::kTogether);
  const uint64_t before = caller.choice.switches();
  caller.RunFor(20 * kSecond, quiet);
  CHECK(caller.choice.switches() == before);
}

TEST_CASE("AloneChoice, EqualTimesDoNotMakeItGoToAndFro", "[exec]") {
  std::mt19937 random(3);
  Caller caller;
  const auto equal = [&](Way) {
    caller.waited_ns += 2 * kMs;
    return kMs + static_cast<int64_t>(random() % 30'000);
  };
  caller.RunFor(60 * kSecond, equal);
  CHECK(caller.choice.switches() == 0);
}

// Two callers whose runs overlap: together they take twice the time of one such run, alone each what it takes by
// itself, but for four runs behind each change, which wait a tick for those of the other way.
TEST_CASE("AloneChoice, WhatDisturbsTheFirstOverlappingRunsIsNotCounted", "[exec]") {
  const auto shares_alone = [](const AloneChoice::Windows& windows) {
    Caller caller;
    caller.choice = AloneChoice([&caller] { return caller.waited_ns; }, windows);
    Way before = Way::kTogether;
    int left = 0;
    const auto overlapping = [&](Way way) -> int64_t {
      caller.waited_ns += kSecond;
      if (way != before) left = 4;
      before = way;
      if (left-- > 0) return 4 * kMs;
      return way == Way::kAlone ? 730'000 : 910'000;
    };
    const Caller::Share share = caller.RunFor(20 * kSecond, overlapping);
    return static_cast<double>(share.alone_ns) / static_cast<double>(share.all_ns);
  };
  CHECK(shares_alone(AloneChoice::kOverlapping) > 0.8);
  CHECK(shares_alone(AloneChoice::kSingle) < 0.2);
}

// Trials are rarer than one run in a hundred, so that a 99th percentile tells nothing of them.
TEST_CASE("AloneChoice, OverlappingRunsBeginAloneAndAreSeldomTogetherUnlessThatIsFaster", "[exec]") {
  const auto share_together = [](int64_t together_ns) {
    Caller caller;
    caller.choice = AloneChoice([&caller] { return caller.waited_ns; }, AloneChoice::kOverlapping);
    CHECK(caller.choice.Next() == Way::kAlone);
    const Caller::Share share = caller.RunFor(400 * kSecond, [&](Way way) {
      caller.waited_ns += kSecond;
      return way == Way::kAlone ? 2 * kMs : together_ns;
    });
    return 1 - static_cast<double>(share.alone_ns) / static_cast<double>(share.all_ns);
  };
  for (const int64_t together_ns : {2 * kMs, 3 * kMs, 8 * kMs}) {
    CAPTURE(together_ns);
    CHECK(share_together(together_ns) > 0);  // it is tried
    CHECK(share_together(together_ns) < 0.01);
  }
  CHECK(share_together(kMs) > 0.8);
}

TEST_CASE("AloneChoice, RunsOfTheOtherWayThatEndLateAreNotCounted", "[exec]") {
  Caller caller;
  for (int i = 0; i < 100; ++i) caller.choice.Note(Way::kAlone, kSecond);
  CHECK(caller.WaysOf(3, [](Way) { return 3 * kMs; }) == "ttt");
  CHECK(caller.choice.switches() == 0);
}

}  // namespace pt::testing::alone_choice_test
