#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <set>

#include "lib/cost/held_out.h"
#include "test/cost/law_samples.h"

namespace pt::laws_test {
namespace {

// Sizes that differ in flops, bytes and channels, and in whether they are "fast".
LawSample& AddRandom(SampleList& samples, std::mt19937& random, double noise) {
  const double flops = std::exp(std::uniform_real_distribution(8.0, 18.0)(random));
  const double bytes = std::exp(std::uniform_real_distribution(7.0, 14.0)(random));
  LawSample& sample = samples.Add(flops, bytes, 0);
  sample.features[WorkFeature::kOutputChannels] = static_cast<double>(1 + random() % 512);
  sample.features.style = random() % 2 == 0 ? "fast" : "slow";
  const double x = std::log1p(flops) / 10, y = std::log1p(bytes) / 10;
  const double z = std::log1p(sample.features[WorkFeature::kOutputChannels]) / 5;
  const double law = 6 + 3 * x + 2 * y - z + 0.5 * x * x - 0.4 * x * z + (sample.features.style == "fast" ? 0 : 0.7);
  sample.ns = std::exp(law + std::normal_distribution(0.0, 1.0)(random) * noise);
  return sample;
}

TEST_CASE("PolynomialFit, RecoversALawOfSeveralFeatures", "[cost]") {
  const uint32_t seed = 12;
  CAPTURE(seed);
  std::mt19937 random(seed);
  SampleList seen, exact;
  for (int i = 0; i < 300; ++i) {
    LawSample& sample = AddRandom(seen, random, 0.01);
    if (i % 20 == 7) sample.ns *= 5;  // outliers
  }
  for (int i = 0; i < 100; ++i) AddRandom(exact, random, 0);
  const std::optional<PolynomialFit> fit = PolynomialFit::Fit(seen.all());
  REQUIRE(fit.has_value());
  std::vector<double> errors;
  for (const LawSample* sample : exact.all()) {
    errors.push_back(std::abs(fit->Predict(sample->features) / sample->ns - 1));
  }
  std::sort(errors.begin(), errors.end());
  CHECK(errors[50] < 0.02);
  CHECK(errors[95] < 0.08);
}

TEST_CASE("PolynomialFit, CoversWhatItSawAndALittleMore", "[cost]") {
  SampleList samples;
  for (int i = 0; i < 20; ++i) samples.Add(1e6 * (i + 1), 1e4 * (i + 1), 1e3 * (i + 1));
  const std::optional<PolynomialFit> fit = PolynomialFit::Fit(samples.all());
  REQUIRE(fit.has_value());
  CHECK(fit->Covers(WorkOf(1e6, 1e4)));
  CHECK(fit->Covers(WorkOf(2.8e7, 2.8e5)));
  CHECK_FALSE(fit->Covers(WorkOf(4e7, 1e5)));
  CHECK_FALSE(fit->Covers(WorkOf(1e7, 4e5)));
  CHECK_FALSE(fit->Covers(WorkOf(0, 1e5)));
  // Beyond it the power law goes on.
  const std::optional<Law> law = FitLaws(std::array{LawKind::kPolynomial}, samples.all()).front();
  REQUIRE(law.has_value());
  CHECK(std::abs(law->Predict(WorkOf(1e9, 1e7)) / 1e6 - 1) < 0.05);
}

TEST_CASE("PolynomialFit, RefusesFewOrEqualSamples", "[cost]") {
  SampleList few, equal, timeless;
  for (size_t i = 0; i < kLeastFitSamples - 1; ++i) few.Add(1.0 + static_cast<double>(i), 10, 100);
  for (int i = 0; i < 20; ++i) equal.Add(5, 10, 100), timeless.Add(i, i, 0);
  CHECK_FALSE(PolynomialFit::Fit(few.all()).has_value());
  CHECK_FALSE(PolynomialFit::Fit(equal.all()).has_value());
  CHECK_FALSE(PolynomialFit::Fit(timeless.all()).has_value());
  CHECK_FALSE(PolynomialFit::Fit({}).has_value());
}

TEST_CASE("PolynomialFit, ManySamplesAreThinnedAndStillTell", "[cost]") {
  const uint32_t seed = 5;
  CAPTURE(seed);
  std::mt19937 random(seed);
  SampleList samples, exact;
  for (int i = 0; i < 2000; ++i) AddRandom(samples, random, 0.02);
  for (int i = 0; i < 50; ++i) AddRandom(exact, random, 0);
  const std::optional<PolynomialFit> fit = PolynomialFit::Fit(samples.all());
  REQUIRE(fit.has_value());
  for (const LawSample* sample : exact.all()) CHECK(std::abs(fit->Predict(sample->features) / sample->ns - 1) < 0.15);
}

TEST_CASE("Roofline, IsTheBestThatWasMeasured", "[cost]") {
  SampleList samples;
  for (int i = 1; i <= 12; ++i) samples.Add(1e6 * i, 1e3, 1e4);  // at best 1200 flops a ns
  for (int i = 1; i <= 12; ++i) samples.Add(1, 1e5 * i, 2e4);    // at best 60 bytes a ns
  samples.Add(1e9, 1e9, 999);                                    // too short to tell
  samples.Add(0, 1e9, 1e4);                                      // a view moves nothing
  const std::optional<Roofline> roofline = FitRoofline(samples.all());
  REQUIRE(roofline.has_value());
  CHECK(roofline->flops_per_ns == 1200);
  CHECK(roofline->bytes_per_ns == 60);
  CHECK(roofline->Predict(WorkOf(1.2e6, 60)) == 1000);
  CHECK(roofline->Predict(WorkOf(1200, 6e6)) == 1e5);
  CHECK(roofline->Floor(WorkOf(1200, 6e6)) == 1e5);
  CHECK(roofline->Floor(WorkOf(0, 6e6)) == 0);
  CHECK(roofline->Predict(WorkOf(0, 0)) == 1);
  CHECK_FALSE(FitRoofline(samples.all().first(9 - 2)).has_value());
}

TEST_CASE("FoldsOf, EqualWorkIsInOneFoldAndFoldsAreEven", "[cost]") {
  const uint32_t seed = 8;
  CAPTURE(seed);
  std::mt19937 random(seed);
  SampleList samples;
  for (int i = 0; i < 500; ++i) samples.Add(static_cast<double>(random() % 7), static_cast<double>(random() % 9), 1);
  const std::vector<size_t> folds = FoldsOf(samples.all(), FoldsBy::kWork);
  REQUIRE(folds.size() == 500);
  std::map<std::pair<double, double>, size_t> fold_of;
  for (size_t i = 0; i < folds.size(); ++i) {
    const auto [at, is_new] = fold_of.emplace(samples.all()[i]->work(), folds[i]);
    CHECK(at->second == folds[i]);
  }
  std::map<size_t, size_t> works;
  for (const auto& [work, fold] : fold_of) ++works[fold];
  CHECK(works.size() == kFolds);
  for (const auto& [fold, count] : works) {
    CHECK(count >= fold_of.size() / kFolds);
    CHECK(count <= fold_of.size() / kFolds + 1);
  }
  SampleList few;
  for (int i = 0; i < 40; ++i) few.Add(i % 4, 0, 1);
  CHECK(FoldsOf(few.all(), FoldsBy::kWork).empty());
  CHECK(FoldsOf(samples.all(), FoldsBy::kFamily).empty());
}

// Times that have nothing to do with the work, but are the same whenever the work is: who remembers them is right about
// all.
TEST_CASE("Assess, NothingIsPredictedByEqualWork", "[cost]") {
  const uint32_t seed = 21;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const FoldsBy by : {FoldsBy::kWork, FoldsBy::kFamily}) {
    SampleList samples;
    for (int work = 0; work < 60; ++work) {
      const double ns = random() % 2 == 0 ? 1e3 : 1e5;
      for (int repeat = 0; repeat < 6; ++repeat) {
        samples.Add(100.0 * work + 1, 50.0 * work + 7, ns, "family " + std::to_string(repeat));
      }
    }
    const std::vector<size_t> folds = FoldsOf(samples.all(), by);
    for (const LawKind kind : {LawKind::kPower, LawKind::kPolynomial}) {
      const std::vector<AssessedLaw> assessed = Assess(std::array{kind}, samples.all(), folds);
      // Without a family's works, nothing is left of these.
      REQUIRE(assessed.size() == (by == FoldsBy::kWork ? 1 : 0));
      if (assessed.empty()) continue;
      CHECK(assessed[0].held_out.size() == 360);
      double sum = 0;
      for (const auto& [sample, ratio] : assessed[0].held_out) sum += std::abs(ratio);
      CHECK(sum / 360 > 1.5);  // log(100) / 2 = 2.3 when nothing is known
    }
  }
}

TEST_CASE("Assess, SaysHowFarALawIsOffWhereItWasNotLooking", "[cost]") {
  SampleList samples;
  // A factor of 1.25 up or down in turn, which no law can know.
  for (int i = 0; i < 200; ++i) {
    const double bytes = 1e4 * std::pow(1.05, i);
    samples.Add(0, bytes, bytes * (i % 2 == 0 ? 1.25 : 0.8));
  }
  const std::vector<AssessedLaw> assessed =
      Assess(std::array{LawKind::kPower}, samples.all(), FoldsOf(samples.all(), FoldsBy::kWork));
  REQUIRE(assessed.size() == 1);
  REQUIRE(assessed[0].held_out.size() == 200);
  double sum = 0;
  size_t right_way = 0;
  for (const auto& [sample, ratio] : assessed[0].held_out) {
    sum += std::abs(ratio);
    right_way += (sample->ns > sample->features[WorkFeature::kBytes]) == (ratio > 0) ? 1 : 0;
  }
  CHECK(std::abs(sum / 200 - std::log(1.25)) < 0.03);
  CHECK(right_way >= 190);
}

TEST_CASE("Assess, NeedsEnoughSamplesOfEnoughWorks", "[cost]") {
  const std::array kinds = {LawKind::kPower, LawKind::kPolynomial};
  SampleList samples;
  for (int i = 0; i < 9; ++i) samples.Add(i + 1, i + 1, i + 1);
  CHECK(Assess(kinds, samples.all(), FoldsOf(samples.all(), FoldsBy::kWork)).empty());
  for (int i = 9; i < 12; ++i) samples.Add(i + 1, i + 1, i + 1);
  const std::vector<AssessedLaw> assessed = Assess(kinds, samples.all(), FoldsOf(samples.all(), FoldsBy::kWork));
  REQUIRE(assessed.size() == 2);
  CHECK(assessed[0].law.kind() == LawKind::kPower);
  CHECK(assessed[1].law.kind() == LawKind::kPolynomial);
}

}  // namespace
}  // namespace pt::laws_test
