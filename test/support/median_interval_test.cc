#include "partitiontuner/support/median_interval.h"

#include <catch2/catch_test_macros.hpp>

namespace pt {
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

}  // namespace
}  // namespace pt
