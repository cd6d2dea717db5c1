// The explorer itself: it finds what is known to go wrong, and what it leaves out differs in nothing.
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "lib/exec/sync.h"
#include "test/schedules/strategies.h"

namespace pt::schedules::explorer_test {
namespace {

constexpr uint64_t kNoEnd = ~uint64_t{0};

using Ends = std::set<std::vector<uint32_t>>;

// How all executions of these callers end: what `look` sees then.
Ends EndsOf(Strategy& strategy, bool buffer, const std::vector<std::function<void()>>& callers,
            const std::function<void()>& clear, const std::function<std::vector<uint32_t>()>& look,
            uint64_t& executions) {
  World world;
  world.BufferStores(buffer);
  Ends ends;
  bool first = true;
  const Outcome outcome = Explore(world, strategy, callers, kNoEnd, [&] {
    if (!first) ends.insert(look());
    first = false;
    clear();
  });
  ends.insert(look());
  CHECK(outcome.failure == "");
  executions = outcome.executions;
  return ends;
}

}  // namespace

TEST_CASE("Explorer, ReducedAndPlainSearchSeeTheSameEnds", "[schedules]") {
  // Three threads on three words, with reads, writes and updates whose order shows in what they have seen.
  std::array<Atomic<uint32_t>, 3> words;
  std::array<uint32_t, 6> seen{};
  const std::vector<std::function<void()>> callers = {[&] {
                                                        words[0].store(1);
                                                        seen[0] = words[1].load();
                                                        seen[1] = words[2].exchange(1);
                                                      },
                                                      [&] {
                                                        words[1].store(1);
                                                        seen[2] = words[0].load();
                                                        seen[3] = words[2].exchange(2);
                                                      },
                                                      [&] {
                                                        seen[4] = words[2].load();
                                                        seen[5] = words[0].fetch_add(4) + words[1].load();
                                                      }};
  const auto clear = [&] {
    for (Atomic<uint32_t>& word : words) word.store(0);
    seen = {};
  };
  const auto look = [&] {
    std::vector<uint32_t> all(seen.begin(), seen.end());
    for (const Atomic<uint32_t>& word : words) all.push_back(word.in_memory());
    return all;
  };
  EveryOrder reduced;
  FewDelays plain(1000);  // more than there can be
  uint64_t reduced_executions = 0, plain_executions = 0;
  const Ends by_reduced = EndsOf(reduced, false, callers, clear, look, reduced_executions);
  const Ends by_plain = EndsOf(plain, false, callers, clear, look, plain_executions);
  CAPTURE(reduced_executions, plain_executions, by_plain.size());
  CHECK(by_reduced == by_plain);
  CHECK(reduced_executions < plain_executions / 2);
}

TEST_CASE("Explorer, StoresThatAreLateAreSeenLate", "[schedules]") {
  Atomic<uint32_t> a{0}, b{0};
  uint32_t saw_a = 0, saw_b = 0;
  const auto ends = [&](std::memory_order order, bool buffer) {
    FewDelays orders(6);
    uint64_t executions = 0;
    return EndsOf(
        orders, buffer,
        {[&] {
           a.store(1, order);
           saw_b = b.load();
         },
         [&] {
           b.store(1, order);
           saw_a = a.load();
         }},
        [&] {
          a.store(0);
          b.store(0);
        },
        [&] {
          return std::vector<uint32_t>{saw_a, saw_b};
        },
        executions);
  };
  CHECK_FALSE(ends(std::memory_order_seq_cst, true).contains({0, 0}));
  CHECK_FALSE(ends(std::memory_order_release, false).contains({0, 0}));
  CHECK(ends(std::memory_order_release, true).contains({0, 0}));
}

TEST_CASE("Explorer, LocksInTwoOrdersStandStill", "[schedules]") {
  World world;
  Mutex a, b;
  const auto lock = [](Mutex& first, Mutex& second) {
    return [&] {
      first.lock();
      second.lock();
      second.unlock();
      first.unlock();
    };
  };
  EveryOrder orders;
  const Outcome outcome = Explore(world, orders, {lock(a, b), lock(b, a)}, kNoEnd);
  CHECK(outcome.failure.find("nobody can go on") != std::string::npos);
}

TEST_CASE("Explorer, WhatNothingOrdersIsARace", "[schedules]") {
  const auto failure = [](std::memory_order store, std::memory_order load) {
    World world;
    Atomic<bool> there{false};
    Plain<int> data;
    EveryOrder orders;
    return Explore(world, orders,
                   {[&] {
                      data.write(1);
                      there.store(true, store);
                    },
                    [&] {
                      if (there.load(load)) data.read();
                    }},
                   kNoEnd, [&] { there.store(false); })
        .failure;
  };
  CHECK(failure(std::memory_order_release, std::memory_order_acquire) == "");
  CHECK(failure(std::memory_order_relaxed, std::memory_order_acquire) != "");
  CHECK(failure(std::memory_order_release, std::memory_order_relaxed) != "");
}

TEST_CASE("Explorer, AnUpdateInTwoStepsIsLostInOneOrder", "[schedules]") {
  Atomic<uint32_t> count{0};
  const auto add = [&] { count.store(count.load() + 1); };
  const auto look = [&] { return std::vector<uint32_t>{count.in_memory()}; };
  const auto clear = [&] { count.store(0); };
  uint64_t executions = 0;
  EveryOrder every;
  CHECK(EndsOf(every, false, {add, add}, clear, look, executions) == Ends{{1}, {2}});
  DrawnOrders drawn(1, 200, 2);
  CHECK(EndsOf(drawn, false, {add, add}, clear, look, executions) == Ends{{1}, {2}});
}

TEST_CASE("Explorer, ASeedDrawsTheSameOrderAgain", "[schedules]") {
  Atomic<uint32_t> word{0};
  std::vector<uint32_t> order;
  const auto caller = [&](uint32_t name) {
    return [&, name] {
      for (int i = 0; i < 5; ++i) {
        word.fetch_add(1);
        order.push_back(name);
      }
    };
  };
  const auto order_of = [&](uint64_t seed) {
    World world;
    order.clear();
    DrawnOrders drawn(seed, 1, 4);
    Explore(world, drawn, {caller(0), caller(1), caller(2)}, 1);
    return order;
  };
  std::set<std::vector<uint32_t>> all;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const std::vector<uint32_t> once = order_of(seed);
    CHECK(order_of(seed) == once);
    all.insert(once);
  }
  CHECK(all.size() > 5);
}

}  // namespace pt::schedules::explorer_test
