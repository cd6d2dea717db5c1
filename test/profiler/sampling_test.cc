#include "lib/profiler/sampling.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

namespace pt::sampling_test {
namespace {

TEST_CASE("Sampling, NothingAndOneSampleSayNothing", "[profiler]") {
  CHECK(Summarise({}).samples == 0);
  CHECK(Summarise({}).noise() == 1.0);
  CHECK(Summarise({50}).median_ns == 50);
  CHECK(Summarise({50}).noise() == 1.0);
}

TEST_CASE("Sampling, FewSamplesSpreadOverTheirRange", "[profiler]") {
  const SampleSummary summary = Summarise({104, 100, 102, 98, 101});
  CHECK(summary.median_ns == 101);
  CHECK(summary.spread_ns == 3);
  CHECK(summary.samples == 5);
  CHECK(Summarise({10, 20}).median_ns == 15);
}

TEST_CASE("Sampling, AnInterruptedSampleIsAnOutlier", "[profiler]") {
  const SampleSummary summary = Summarise({100, 101, 99, 100, 5000, 102, 100, 101});
  CHECK(summary.outliers == 1);
  CHECK(summary.median_ns == 100);
  CHECK(summary.noise() < 0.03);
}

TEST_CASE("Sampling, ABimodalSeriesKeepsItsSpread", "[profiler]") {
  std::vector<int64_t> samples;
  for (int i = 0; i < 20; ++i) samples.push_back(i % 2 == 0 ? 100 : 200);
  const SampleSummary summary = Summarise(samples);
  CHECK(summary.outliers <= 5);
  CHECK(summary.noise() > 0.2);
}

// The interval holds the true median about 95 times in a hundred, never much less often.
TEST_CASE("Sampling, TheIntervalHoldsTheMedian", "[profiler]") {
  const uint32_t seed = 99;
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::lognormal_distribution<double> noise(0, 0.1);
  for (const int count : {6, 10, 25, 60}) {
    int held = 0;
    constexpr int kRounds = 500;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<int64_t> samples;
      for (int i = 0; i < count; ++i) samples.push_back(std::llround(1e6 * noise(random)));
      const SampleSummary summary = Summarise(samples);
      if (std::abs(summary.median_ns - 1'000'000) <= 2 * summary.spread_ns) ++held;
    }
    CAPTURE(count);
    CHECK(held > kRounds * 95 / 100);
  }
}

TEST_CASE("Sampling, WhatIsFarFromTheFastestMayBeNoisier", "[profiler]") {
  const NoiseTarget fastest = TargetOf(0.02, 1, 0), twice = TargetOf(0.02, 2, 0), slow = TargetOf(0.02, 1.25, 8e6);
  CHECK(fastest.share == 0.02);
  CHECK(fastest.ns == kClockGrainNs);
  CHECK(std::abs(twice.share - 0.1) < 1e-12);
  CHECK(std::abs(slow.share - 0.04) < 1e-12);
  CHECK(slow.ns == 200);  // of a network of 8 ms
  SampleSummary summary;
  summary.samples = 9;
  summary.median_ns = 10'000;
  summary.spread_ns = 300;
  CHECK(IsNoisy(summary, fastest));
  CHECK_FALSE(IsNoisy(summary, slow));
  summary.spread_ns = 500;
  CHECK(IsNoisy(summary, slow));
  CHECK_FALSE(IsNoisy(summary, twice));
  summary.median_ns = 1000;
  summary.spread_ns = 150;
  CHECK(IsNoisy(summary, fastest));
  CHECK_FALSE(IsNoisy(summary, slow));
}

}  // namespace
}  // namespace pt::sampling_test
