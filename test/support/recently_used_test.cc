// A bounded cache: what is counted, who waits for whom, and what makes room.
#include "partitiontuner/support/recently_used.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <list>
#include <random>
#include <stdexcept>
#include <thread>

namespace pt::recently_used_test {
namespace {

using Cache = RecentlyUsed<int, int>;

Result<Cache::Pointer> Ten(int key) { return std::make_shared<const int>(10 * key); }

int GetTen(Cache& cache, int key) {
  return *cache.Get(key, [&] { return Ten(key); }).value();
}

// All that the calling thread has to wait for comes from threads that run.
template <typename F>
void WaitUntil(const F& condition) {
  while (!condition()) std::this_thread::yield();
}

TEST_CASE("RecentlyUsed, CountsAsAListOfTheLatestKeysDoes", "[support]") {
  const auto seed = GENERATE(range(1U, 9U));
  const size_t most = GENERATE(1U, 2U, 5U);
  CAPTURE(seed, most);
  std::mt19937 random(seed);
  Cache cache(most);
  std::list<int> latest;  // first: the one used last
  UseCounts expected;
  for (int call = 0; call < 500; ++call) {
    const int key = static_cast<int>(random() % 8);
    const auto found = std::ranges::find(latest, key);
    if (found != latest.end()) {
      ++expected.hits;
      latest.erase(found);
    } else {
      ++expected.misses;
    }
    latest.push_front(key);
    if (latest.size() > most) {
      latest.pop_back();
      ++expected.dropped;
    }
    CHECK(GetTen(cache, key) == 10 * key);
  }
  const UseCounts counts = cache.counts();
  CHECK(counts.hits == expected.hits);
  CHECK(counts.misses == expected.misses);
  CHECK(counts.dropped == expected.dropped);
  CHECK(counts.failed == 0);
  CHECK(counts.kept == latest.size());
}

TEST_CASE("RecentlyUsed, CallersOfOneKeyWaitForTheOneThatMakesIt", "[support]") {
  const bool fails = GENERATE(false, true);
  CAPTURE(fails);
  Cache cache(2);
  std::atomic<int> made{0}, served{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto got = cache.Get(7, [&]() -> Result<Cache::Pointer> {
        ++made;
        WaitUntil([&] { return cache.counts().hits == 3; });
        if (fails) return MakeError(ErrorCode::kUnsupported, "test.seven", "not seven");
        return Ten(7);
      });
      if (got.ok() && **got == 70) ++served;
      if (!got.ok() && got.error().id == "test.seven") ++refused;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(made.load() == 1);
  CHECK(served.load() == (fails ? 0 : 4));
  CHECK(refused.load() == (fails ? 4 : 0));
  CHECK(cache.counts().failed == (fails ? 1 : 0));
  CHECK(GetTen(cache, 7) == 70);  // an error is not kept
  CHECK(cache.counts().misses == (fails ? 2 : 1));
}

TEST_CASE("RecentlyUsed, CallersOfOtherKeysGoOn", "[support]") {
  Cache cache(4);
  std::atomic<bool> other_done{false};
  std::thread slow([&] {
    (void)cache.Get(1, [&] {
      WaitUntil([&] { return other_done.load(); });
      return Ten(1);
    });
  });
  WaitUntil([&] { return cache.counts().misses == 1; });
  CHECK(GetTen(cache, 2) == 20);
  CHECK(cache.counts().kept == 1);
  other_done.store(true);
  slow.join();
  CHECK(cache.counts().kept == 2);
}

TEST_CASE("RecentlyUsed, WhoWaitsForAMakerThatThrowsGetsAnError", "[support]") {
  Cache cache(1);
  std::thread thrower([&] {
    CHECK_THROWS_AS(cache.Get(1,
                              [&]() -> Result<Cache::Pointer> {
                                WaitUntil([&] { return cache.counts().hits == 1; });
                                throw std::runtime_error("no");
                              }),
                    std::runtime_error);
  });
  WaitUntil([&] { return cache.counts().misses == 1; });
  const auto got = cache.Get(1, [] { return Ten(2); });
  thrower.join();
  REQUIRE_FALSE(got.ok());
  CHECK(got.error().id == "recently_used.thrown");
  CHECK(GetTen(cache, 1) == 10);
}

TEST_CASE("RecentlyUsed, WhatIsHeldOutlivesItsPlace", "[support]") {
  Cache cache(1);
  const Cache::Pointer held = cache.Get(1, [] { return Ten(1); }).value();
  const std::weak_ptr<const int> second = cache.Get(2, [] { return Ten(2); }).value();
  CHECK(cache.counts().dropped == 1);
  CHECK(*held == 10);
  CHECK_FALSE(second.expired());
  CHECK(GetTen(cache, 3) == 30);
  CHECK(second.expired());
}

TEST_CASE("RecentlyUsed, ManyCallersGetTheirOwnKeysValue", "[support]") {
  const size_t most = GENERATE(1U, 3U);
  Cache cache(most);
  constexpr int kCalls = 2000;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int call = 0; call < kCalls; ++call) {
        const int key = static_cast<int>(random() % 6);
        if (GetTen(cache, key) != 10 * key) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong.load() == 0);
  const UseCounts counts = cache.counts();
  CHECK(counts.hits + counts.misses == 4 * kCalls);
  CHECK(counts.kept <= most);
  CHECK(counts.misses == counts.dropped + counts.kept);
}

}  // namespace
}  // namespace pt::recently_used_test
