#include "partitiontuner/support/quantile_interval.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace pt::quantile_interval_test {
namespace {

// From tables of the sign test.
TEST_CASE("MedianInterval, RanksAreThoseOfTheSignTest", "[support]") {
  for (size_t n = 0; n < 6; ++n) CHECK(MedianIntervalRank(n) == 0);
  CHECK(MedianIntervalRank(6) == 1);
  CHECK(MedianIntervalRank(8) == 1);
  CHECK(MedianIntervalRank(9) == 2);
  CHECK(MedianIntervalRank(20) == 6);
  CHECK(MedianIntervalRank(100) == 40);
}

TEST_CASE("MedianInterval, GrowsSlowerThanTheSamplesAndStaysBelowTheMiddle", "[support]") {
  for (size_t n = 6; n < 500; ++n) {
    CHECK(MedianIntervalRank(n) <= MedianIntervalRank(n + 1));
    CHECK(MedianIntervalRank(n) <= n / 2);
  }
}

// More samples than a double has room for the probability of none: the interval still narrows with their square root.
TEST_CASE("MedianInterval, OfManySamplesIsNotAPoint", "[support]") {
  for (const size_t n : {1000U, 1100U, 10'000U, 1'000'000U}) {
    INFO(n);
    const double expected = 0.98 * std::sqrt(static_cast<double>(n));  // of the normal distribution
    CHECK(std::abs(static_cast<double>(n / 2 - MedianIntervalRank(n)) - expected) < 2);
  }
}

TEST_CASE("QuantileInterval, HasNoEndWhereTheSamplesDoNotReach", "[support]") {
  CHECK(QuantileInterval(20, 0.99).low == 19);
  CHECK(QuantileInterval(20, 0.99).high == 21);
  CHECK(QuantileInterval(367, 0.99).high == 368);  // 0.99^367 > 2.5 %
  CHECK(QuantileInterval(368, 0.99).high == 368);
  CHECK(QuantileInterval(20, 0.01).low == 0);
  CHECK(QuantileInterval(0, 0.5).high == 1);
}

TEST_CASE("QuantileInterval, OfOneQuantileMirrorsThatOfTheOther", "[support]") {
  for (const size_t n : {1U, 7U, 50U, 333U, 5000U}) {
    for (const double quantile : {0.5, 0.75, 0.9, 0.99, 0.999}) {
      const QuantileRanks ranks = QuantileInterval(n, quantile), mirrored = QuantileInterval(n, 1 - quantile);
      INFO(n << " samples, " << quantile);
      CHECK(ranks.low == n + 1 - mirrored.high);
      CHECK(ranks.low <= ranks.high);
    }
  }
}

}  // namespace
}  // namespace pt::quantile_interval_test
