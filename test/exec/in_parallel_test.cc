#include "lib/exec/in_parallel.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <vector>

namespace pt::in_parallel_test {
namespace {

TEST_CASE("InParallel, EveryPieceIsDoneOnce", "[exec]") {
  for (const uint32_t threads : {0U, 1U, 2U, 5U}) {
    for (const size_t count : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> done(count);
      REQUIRE(InParallel(count, threads, [&](size_t i) -> Status {
                ++done[i];
                return {};
              }).ok());
      for (const auto& times : done) REQUIRE(times == 1);
    }
  }
}

TEST_CASE("InParallel, TheErrorOfTheLeastPieceIsReturned", "[exec]") {
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> later_fails{false};
    const Status status = InParallel(1000, 4, [&](size_t i) -> Status {
      if (i == 10) later_fails.wait(false);
      if (i == 11) {
        later_fails = true;
        later_fails.notify_all();
      }
      if (i == 10 || i == 11) return MakeError(ErrorCode::kUnsupported, "piece", std::to_string(i));
      return {};
    });
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().message == "10");
  }
}

TEST_CASE("InParallel, NothingBeginsBehindAnError", "[exec]") {
  int begun = 0;
  const Status status = InParallel(10, 1, [&](size_t i) -> Status {
    ++begun;
    return i == 3 ? Status(MakeError(ErrorCode::kUnsupported, "piece", "3")) : Status();
  });
  CHECK_FALSE(status.ok());
  CHECK(begun == 4);
}

TEST_CASE("InParallel, WhatAPieceThrowsIsThrownToTheCaller", "[exec]") {
  const auto run = [] {
    (void)InParallel(8, 3, [](size_t i) -> Status {
      if (i == 5) throw std::runtime_error("five");
      return {};
    });
  };
  CHECK_THROWS_AS(run(), std::runtime_error);
}

}  // namespace
}  // namespace pt::in_parallel_test
