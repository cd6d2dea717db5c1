// Flag and Latch, in every order of their threads: nobody sleeps for ever, and who was woken sees what came before.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <memory>

#include "lib/exec/flag.h"
#include "test/schedules/strategies.h"

namespace pt::schedules::flag_schedules_test {
namespace {

constexpr uint64_t kNoEnd = ~uint64_t{0};

// A value that is handed over by a flag, to any number of threads.
struct HandOver {
  World world;
  Flag flag;
  Plain<uint32_t> data;
  uint32_t round = 0;

  std::function<void()> Setter() {
    return [this] {
      data.write(round);
      flag.Set(round);
    };
  }
  std::function<void()> Waiter() {
    return [this] {
      flag.WaitEqual(round, false);
      if (data.read() != round) world.Fail("a waiter saw an old value");
    };
  }
  std::function<void()> NextRound() {
    return [this] { ++round; };
  }
};

}  // namespace

TEST_CASE("Schedules, AFlagWakesEverybodyInEveryOrder", "[schedules]") {
  const size_t waiters = GENERATE(1u, 2u);
  HandOver setting;
  std::vector<std::function<void()>> callers(waiters, setting.Waiter());
  callers.push_back(setting.Setter());
  EveryOrder orders;
  const Outcome outcome = Explore(setting.world, orders, callers, kNoEnd, setting.NextRound());
  CAPTURE(waiters, outcome.executions, orders.redundant());
  CHECK(outcome.failure == "");
  CHECK(outcome.executions > 4);
  CHECK(setting.flag.sleepers() == 0);
}

TEST_CASE("Schedules, AFlagWakesEverybodyHoweverLateStoresAre", "[schedules]") {
  HandOver setting;
  setting.world.BufferStores(true);
  FewDelays orders(4);
  const Outcome outcome = Explore(setting.world, orders, {setting.Waiter(), setting.Setter(), setting.Waiter()}, kNoEnd,
                                  setting.NextRound());
  CAPTURE(outcome.executions);
  CHECK(outcome.failure == "");
}

TEST_CASE("Schedules, FlagsHandToAndFroInEveryOrder", "[schedules]") {
  World world;
  Flag there, back;
  Plain<uint32_t> data;
  uint32_t round = 0;
  const auto first = [&] {
    data.write(2 * round);
    there.Set(round);
    back.WaitEqual(round, false);
    if (data.read() != 2 * round + 1) world.Fail("the answer is old");
  };
  const auto second = [&] {
    there.WaitEqual(round, false);
    if (data.read() != 2 * round) world.Fail("the question is old");
    data.write(2 * round + 1);
    back.Set(round);
  };
  EveryOrder orders;
  const Outcome outcome = Explore(world, orders, {first, second}, kNoEnd, [&] { ++round; });
  CAPTURE(outcome.executions);
  CHECK(outcome.failure == "");
}

TEST_CASE("Schedules, AFlagThatSeveralCountUpEndsTheWaitForAll", "[schedules]") {
  World world;
  Flag flag;
  std::array<Plain<uint32_t>, 2> data;
  uint32_t round = 0;
  const auto add = [&](size_t i) {
    return [&, i] {
      data[i].write(round);
      flag.Add();
    };
  };
  const auto wait = [&] {
    flag.WaitEqual(2 * round, false);
    if (data[0].read() != round || data[1].read() != round) world.Fail("not all had come");
  };
  EveryOrder orders;
  const Outcome outcome = Explore(world, orders, {wait, add(0), add(1)}, kNoEnd, [&] { ++round; });
  CAPTURE(outcome.executions);
  CHECK(outcome.failure == "");
}

TEST_CASE("Schedules, ALatchMayGoAsSoonAsItsWaiterIsBack", "[schedules]") {
  World world;
  std::unique_ptr<Latch> latch;
  Plain<uint32_t> data;
  uint32_t round = 0;
  const auto wait = [&] {
    latch->Wait(SpinTimer(false));
    if (data.read() != round) world.Fail("the waiter saw an old value");
    latch.reset();
  };
  const auto set = [&, address = &latch] {
    Latch& own = **address;
    data.write(round);
    own.Set();
  };
  EveryOrder orders;
  const Outcome outcome = Explore(world, orders, {wait, set}, kNoEnd, [&] {
    ++round;
    latch = std::make_unique<Latch>();
  });
  CAPTURE(outcome.executions);
  CHECK(outcome.failure == "");
}

TEST_CASE("Schedules, AWaitWithADeadlineEndsAtItOrAtTheSignal", "[schedules]") {
  World world;
  const bool buffered = GENERATE(false, true);
  world.BufferStores(buffered);
  world.LetTimePass(1000);
  Flag flag;
  Latch latch;
  uint32_t round = 0;
  uint64_t in_time = 0, late = 0;
  const auto wait = [&] {
    const RunLimits limits(std::chrono::nanoseconds(500), nullptr, World::NowNs());
    const auto ready = [&](uint32_t value) { return value == round; };
    (flag.WaitWithin(limits, ready, SpinTimer(false)) ? in_time : late)++;
    if (!latch.WaitWithin(limits, SpinTimer(false))) latch.Wait(SpinTimer(false));
  };
  const auto set = [&] {
    flag.Set(round);
    latch.Set();
  };
  FewDelays orders(4);
  const Outcome outcome = Explore(world, orders, {wait, set}, kNoEnd, [&] {
    ++round;
    latch.Reset();
  });
  CAPTURE(outcome.executions);
  CHECK(outcome.failure == "");
  CHECK(in_time > 0);
  CHECK(late > 0);
}

}  // namespace pt::schedules::flag_schedules_test
