#include "partitiontuner/support/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <vector>

#include "partitiontuner/support/random.h"

namespace pt::testing::latency_histogram_test {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

bool IsWithin(int64_t found, int64_t exact) {
  return found >= exact && static_cast<double>(found - exact) <= 0.0079 * static_cast<double>(exact);
}

}  // namespace

TEST_CASE("LatencyHistogram, RanksAreThoseOfTheSortedListToLessThanOnePercent", "[support]") {
  const uint64_t seed = 20261128;
  CAPTURE(seed);
  Random random(seed);
  for (int length : {1, 2, 3, 100, 5000}) {
    std::vector<int64_t> values;
    LatencyHistogram histogram;
    double sum = 0;
    for (int i = 0; i < length; ++i) {
      values.push_back(static_cast<int64_t>(random.Next() >> (1 + random.Below(63))));  // all magnitudes
      histogram.Record(values.back());
      sum += static_cast<double>(values.back());
    }
    std::ranges::sort(values);
    CHECK(histogram.count() == values.size());
    CHECK(histogram.min() == values.front());
    CHECK(histogram.max() == values.back());
    CHECK(histogram.mean() == sum / length);
    for (size_t k = 1; k <= values.size(); ++k) {
      if (!IsWithin(histogram.Ranked(k), values[k - 1])) FAIL(k << ": " << histogram.Ranked(k));
    }
    CHECK(histogram.Percentile(0) == histogram.Ranked(1));
    CHECK(histogram.Percentile(100) == values.back());
    CHECK(histogram.Percentile(50) == histogram.Ranked((values.size() + 1) / 2));
  }
}

TEST_CASE("LatencyHistogram, EveryEdgeOfABucketIsKeptApart", "[support]") {
  for (int bit = 0; bit < 63; ++bit) {
    const int64_t power = int64_t{1} << bit;
    for (int64_t value : {power - 1, power, power + 1, power + power / 2, power + (power - 1)}) {
      LatencyHistogram histogram;
      histogram.Record(value);
      histogram.Record(kMost);  // or the value itself is the greatest there is
      CAPTURE(value);
      CHECK(IsWithin(histogram.Ranked(1), value));
      CHECK(histogram.Ranked(2) == kMost);
    }
  }
  for (int64_t value = 0; value < 256; ++value) {  // exact
    LatencyHistogram histogram;
    histogram.Record(value);
    histogram.Record(kMost);
    CHECK(histogram.Ranked(1) == value);
  }
}

TEST_CASE("LatencyHistogram, TimesBelowZeroAndNoTimesAtAllAreZero", "[support]") {
  LatencyHistogram histogram;
  CHECK(histogram.Percentile(50) == 0);
  CHECK(histogram.mean() == 0);
  histogram.Record(-5);
  CHECK(histogram.count() == 1);
  CHECK(histogram.min() == 0);
  CHECK(histogram.Percentile(99) == 0);
}

TEST_CASE("LatencyHistogram, AddedHistogramsAreThatOfAllTimes", "[support]") {
  LatencyHistogram one, other, both, none;
  for (int64_t value : {5, 70, 900}) {
    one.Record(value);
    both.Record(value);
  }
  for (int64_t value : {1, 800, 100'000}) {
    other.Record(value);
    both.Record(value);
  }
  LatencyHistogram sum;
  for (const LatencyHistogram* part : {&none, &one, &other, &none}) sum.Add(*part);
  CHECK(sum.count() == both.count());
  CHECK(sum.min() == both.min());
  CHECK(sum.max() == both.max());
  CHECK(sum.mean() == both.mean());
  for (uint64_t k = 1; k <= 6; ++k) CHECK(sum.Ranked(k) == both.Ranked(k));
}

}  // namespace pt::testing::latency_histogram_test
