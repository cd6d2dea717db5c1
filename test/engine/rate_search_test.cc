// The highest rate of requests, found by trials whose outcome is known.
#include "partitiontuner/engine/rate_search.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

namespace pt::testing::rate_search_test {
namespace {

struct Tried {
  std::vector<double> rates;
  std::vector<bool> confirms;
  RateTrial Below(double limit) {
    return [this, limit](double rate, bool confirm) -> Result<bool> {
      rates.push_back(rate);
      confirms.push_back(confirm);
      return rate < limit;
    };
  }
};

}  // namespace

TEST_CASE("RateSearch, FindsTheLimitFromAboveAndFromBelow", "[engine]") {
  for (const double first : {1.0, 90.0, 110.0, 5000.0}) {
    Tried tried;
    RateSearch search;
    search.first_rate = first;
    search.most_trials = 40;
    const double found = FindHighestRate(search, tried.Below(100)).value();
    CAPTURE(first, found);
    CHECK(found < 100);
    CHECK(found * search.nearness * search.nearness >= 100);
    CHECK(tried.rates.front() == first);
    CHECK(tried.confirms.back());
    CHECK(tried.rates.back() == found);
  }
}

// What held by luck once does not hold again: a little less does.
TEST_CASE("RateSearch, WhatItFoundMustHoldOnceMore", "[engine]") {
  RateSearch search;
  search.first_rate = 64;
  const double found = FindHighestRate(search, [](double rate, bool confirms) -> Result<bool> {
                         return rate < (confirms ? 80 : 100);
                       }).value();
  CHECK(found < 80);
  CHECK(found > 70);
}

TEST_CASE("RateSearch, NothingHoldsOrTrialsAreOver", "[engine]") {
  Tried tried;
  RateSearch search;
  search.first_rate = 100;
  search.least_rate = 1;
  CHECK(FindHighestRate(search, tried.Below(0)).value() == 0);
  CHECK(tried.rates == std::vector<double>{100, 25, 6.25, 1.5625});
  Tried without_end;
  search.most_trials = 10;
  CHECK(FindHighestRate(search, without_end.Below(1e300)).value() == 0);  // never confirmed
  CHECK(without_end.rates.size() == 10);
  CancelToken cancel;
  cancel.Cancel();
  search.cancel = &cancel;
  CHECK(FindHighestRate(search, tried.Below(1e300)).value() == 0);
}

TEST_CASE("RateSearch, ATrialsErrorEndsIt", "[engine]") {
  const auto failed = FindHighestRate(
      {}, [](double, bool) -> Result<bool> { return MakeError(ErrorCode::kRunFailed, "run.failed", "it failed"); });
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().id == "run.failed");
}

}  // namespace pt::testing::rate_search_test
