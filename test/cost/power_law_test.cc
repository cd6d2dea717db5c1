#include "lib/cost/power_law.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <tuple>

#include "test/cost/law_samples.h"

namespace pt::power_law_test {
namespace {

TEST_CASE("PowerLaw, RecoversAKnownLaw", "[cost]") {
  const uint32_t seed = 4711;
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.02);
  for (const auto& [a, b, c] : {std::tuple{0.5, 1.0, 3000.0}, {20.0, 0.8, 0.0}, {0.001, 1.5, 500.0}}) {
    SampleList samples;
    for (int i = 0; i < 40; ++i) {
      const double n = 1000 * std::pow(1.25, i);
      double ns = (a * std::pow(n, b) + c) * std::exp(noise(random));
      if (i % 10 == 3) ns *= 4;  // outliers
      samples.Add(static_cast<double>(random() % 1000 + 1), n, ns);
    }
    const std::optional<PowerLaw> law = FitPowerLaw(samples.all());
    REQUIRE(law.has_value());
    CHECK_FALSE(law->by_flops);
    for (const double n : {1500.0, 50'000.0, 3e6}) {
      CHECK(std::abs(law->Predict(WorkOf(1, n)) / (a * std::pow(n, b) + c) - 1) < 0.08);
    }
  }
}

TEST_CASE("PowerLaw, TakesFlopsWhereTheyTellMoreAndRefusesFewSamples", "[cost]") {
  std::mt19937 random(3);
  SampleList samples;
  for (int i = 0; i < 20; ++i) {
    const double flops = 1e6 * (i + 1);
    samples.Add(flops, static_cast<double>(random() % 100000 + 1), 100 + flops / 50);
  }
  const std::optional<PowerLaw> law = FitPowerLaw(samples.all());
  REQUIRE(law.has_value());
  CHECK(law->by_flops);
  CHECK_FALSE(FitPowerLaw(samples.all().first(kLeastFitSamples - 1)).has_value());
  SampleList same, none;
  for (int i = 0; i < 12; ++i) same.Add(100, 100, 50), none.Add(0, 0, 50);
  REQUIRE(FitPowerLaw(same.all()).has_value());
  CHECK(std::abs(FitPowerLaw(same.all())->Predict(WorkOf(100, 100)) - 50) < 1);
  CHECK_FALSE(FitPowerLaw(none.all()).has_value());
}

}  // namespace
}  // namespace pt::power_law_test
