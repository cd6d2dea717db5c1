#include "lib/cost/predictor.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "test/cost/sample_problem.h"

namespace pt::predictor_test {
namespace {

// Rows whose keys say nothing but the method: flops and bytes alone describe them.
class Rows {
 public:
  void Add(double flops, double bytes, double ns, const std::string& family = "Relu",
           const std::string& library = "reference", const std::string& variant = "") {
    const MeasurementKey key = SampleKey("row " + std::to_string(count_++) + " " + variant + " | method " +
                                         std::to_string(kMeasurementMethodVersion));
    Measurement m = SampleMeasurement(key.text, std::llround(ns));
    m.family = family;
    m.library = library;
    m.flops = flops;
    m.bytes = bytes;
    profile.measurements[key.hash] = m;
  }
  Profile profile;

 private:
  int count_ = 0;
};

WorkToPredict Ask(double flops, double bytes, std::string family = "Relu", std::string library = "reference") {
  return {std::move(family), "processor A", "cpu/1", std::move(library), "fp32", FeaturesOf("", flops, bytes)};
}

TEST_CASE("Predictor, TheIntervalAndTheUpperTimeHoldWhatTheySay", "[cost]") {
  const uint32_t seed = 31;
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.1);
  Rows rows;
  for (int i = 0; i < 400; ++i) {
    const double bytes = std::exp(std::uniform_real_distribution(10.0, 16.0)(random));
    rows.Add(bytes / 8, bytes, (3000 + bytes / 4) * std::exp(noise(random)));
  }
  Predictor predictor(rows.profile);
  int within = 0, below = 0;
  for (int i = 0; i < 2000; ++i) {
    const double bytes = std::exp(std::uniform_real_distribution(10.0, 16.0)(random));
    const double ns = (3000 + bytes / 4) * std::exp(noise(random));
    const std::optional<Estimate> estimate = predictor.Predict(Ask(bytes / 8, bytes));
    REQUIRE(estimate.has_value());
    CHECK(estimate->provenance == Provenance::kEstimated);
    CHECK(estimate->low_ns < estimate->ns);
    CHECK(estimate->ns < estimate->high_ns);
    within += ns >= static_cast<double>(estimate->low_ns) && ns <= static_cast<double>(estimate->high_ns) ? 1 : 0;
    below += ns <= static_cast<double>(estimate->ns) ? 1 : 0;
    // The median of |N(0, 0.1)| is 0.067.
    CHECK(std::abs(estimate->relative_error - 0.067) < 0.02);
  }
  CHECK(std::abs(within / 2000.0 - 0.8) < 0.06);
  CHECK(std::abs(below / 2000.0 - 0.8) < 0.06);
}

TEST_CASE("Predictor, ExactLawsHaveNarrowIntervals", "[cost]") {
  Rows rows;
  for (int i = 0; i < 30; ++i) rows.Add(0, 1e5 * (i + 1), 2e4 * (i + 1));
  const std::optional<Estimate> estimate = Predictor(rows.profile).Predict(Ask(0, 1.55e6));
  REQUIRE(estimate.has_value());
  CHECK(std::abs(static_cast<double>(estimate->ns) / 3.1e5 - 1) < 0.01);
  CHECK(std::abs(static_cast<double>(estimate->high_ns) / 3.1e5 - 1) < 0.01);
  CHECK(std::abs(static_cast<double>(estimate->low_ns) / 3.1e5 - 1) < 0.01);
}

// Six works, each measured by forty variants of one style: the work that is odd is one in six, not one in 240.
TEST_CASE("Predictor, RepeatsOfAWorkAreNoFurtherEvidence", "[cost]") {
  Rows rows;
  for (int work = 1; work <= 6; ++work) {
    for (int repeat = 0; repeat < (work == 3 ? 2 : 40); ++repeat) {
      rows.Add(0, 1e5 * work, (work == 3 ? 3 : 1) * 1e4 * work, "Relu", "reference", "");
    }
  }
  const std::optional<Estimate> estimate = Predictor(rows.profile).Predict(Ask(0, 4.5e5));
  REQUIRE(estimate.has_value());
  CHECK(estimate->high_ns > 100'000);  // three times 45 us, or nearly so: it can happen again
}

// A few lucky measurements far below the rest must not make an estimate that wins over them.
TEST_CASE("Predictor, NoEstimateIsFasterThanTheRoofline", "[cost]") {
  Rows rows;
  for (const char* family : {"Conv", "Relu", "Add", "Mul", "Gemm"}) {
    for (int i = 1; i <= 12; ++i) rows.Add(1e5 * i, 2e3 * i, 1e3 * i, family);  // at best 100 flops a ns
  }
  // Of another library, so small that only overhead was seen: the law is flat.
  for (int i = 1; i <= 12; ++i) rows.Add(10 * i, 10 * i, 500, "Conv", "small");
  Predictor predictor(rows.profile);
  const std::optional<Estimate> estimate = predictor.Predict(Ask(1e9, 1e6, "Conv", "small"));
  REQUIRE(estimate.has_value());
  CHECK(estimate->low_ns == 10'000'000);
  CHECK(estimate->ns >= 10'000'000);
}

TEST_CASE("Predictor, AFamilyThatNobodyMeasuredIsAnsweredByTheOthersWithTheirSpread", "[cost]") {
  Rows rows;
  double factor = 1;
  for (const char* family : {"Conv", "Relu", "Add", "Mul", "Gemm", "Div"}) {
    // 2:1 between one family and the next, each exact in itself.
    for (int i = 1; i <= 15; ++i) rows.Add(7e4 * i, 1e4 * i + factor, 1e4 * i * factor, family);
    factor *= 2;
  }
  Predictor predictor(rows.profile);
  const std::optional<Estimate> known = predictor.Predict(Ask(7e4 * 7.5, 7.5e4 + 1, "Conv"));
  const std::optional<Estimate> unknown = predictor.Predict(Ask(7e4 * 7.5, 7.5e4, "Sigmoid"));
  REQUIRE(known.has_value());
  REQUIRE(unknown.has_value());
  CHECK(static_cast<double>(known->high_ns) / static_cast<double>(known->low_ns) < 1.2);
  CHECK(static_cast<double>(unknown->high_ns) / static_cast<double>(unknown->low_ns) > 4);
  // Of a library that nobody measured only the roofline is known.
  const std::optional<Estimate> roofline = predictor.Predict(Ask(7e4 * 7.5, 7.5e4, "Conv", "unheard of"));
  REQUIRE(roofline.has_value());
  CHECK(roofline->high_ns >= roofline->ns);
  WorkToPredict elsewhere = Ask(1e5, 1e5);
  elsewhere.unit_class = "cpu/2";
  CHECK_FALSE(predictor.Predict(elsewhere).has_value());
  elsewhere = Ask(1e5, 1e5);
  elsewhere.math = "int8";
  CHECK_FALSE(predictor.Predict(elsewhere).has_value());
}

TEST_CASE("PredictHeldOut, FindsTheErrorThatWasPutIn", "[cost]") {
  const uint32_t seed = 63;
  CAPTURE(seed);
  std::mt19937 random(seed);
  Rows rows;
  for (int i = 0; i < 500; ++i) {
    const double bytes = std::exp(std::uniform_real_distribution(10.0, 16.0)(random));
    rows.Add(0, bytes, bytes * (random() % 2 == 0 ? 1.1 : 1 / 1.1));
  }
  rows.Add(0, 1, 1, "Lonely", "lonely");
  rows.Add(0, 64, 1000, "copy", "");
  const std::vector<HeldOutPrediction> predictions = PredictHeldOut(rows.profile);
  CHECK(predictions.size() == 501);
  const std::vector<PredictionErrors> errors = ErrorsByFamily(predictions);
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].family == "Relu");
  CHECK(errors[0].count == 500);
  CHECK(errors[0].unpredicted == 0);
  CHECK(std::abs(errors[0].median - 0.1) < 0.03);
  CHECK(std::abs(errors[0].percentile_95 - 0.1) < 0.05);
  CHECK(errors[0].inside > 0.7);
  CHECK(errors[1].family == "Lonely");
  CHECK(errors[1].unpredicted == 1);
}

TEST_CASE("ErrorsByFamily, ExactFigures", "[cost]") {
  std::vector<HeldOutPrediction> predictions;
  for (int i = 1; i <= 20; ++i) {
    HeldOutPrediction p{"Conv", "reference", "cpu/1", "fp32", i <= 5 ? "polynomial" : "power law", 100, 0, 0, 0};
    p.predicted_ns = 100 + i;  // 1 % to 20 % too slow
    p.low_ns = p.predicted_ns - 10;
    p.high_ns = p.predicted_ns + 10;
    predictions.push_back(p);
  }
  predictions.push_back({"Conv", "reference", "cpu/1", "fp32", "", 100, 0, 0, 0});
  predictions.push_back({"Relu", "reference", "cpu/1", "fp32", "", 100, 0, 0, 0});
  const std::vector<PredictionErrors> errors = ErrorsByFamily(predictions);
  REQUIRE(errors.size() == 2);
  const PredictionErrors& conv = errors[0];
  CHECK(conv.count == 21);
  CHECK(conv.unpredicted == 1);
  CHECK(std::abs(conv.median - 0.10) < 1e-12);
  CHECK(std::abs(conv.percentile_95 - 0.19) < 1e-12);
  CHECK(std::abs(conv.bias - 0.10) < 1e-12);
  CHECK(conv.inside == 0.5);
  CHECK(conv.polynomial_share == 0.25);
  CHECK(errors[1].unpredicted == 1);
  CHECK(errors[1].median == 0);
  CHECK(ErrorsByFamily({}).empty());
}

}  // namespace
}  // namespace pt::predictor_test
