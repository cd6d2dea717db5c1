// Which parts are lowered under an error budget, on made-up networks whose errors are known.
#include "lib/engine/precision_budget.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "partitiontuner/support/random.h"

namespace pt::precision_budget_test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct MadeUpPart {
  double error = 0;
  int64_t saved_ns = 0;
};

// Errors add up as their squares do and times as they are, unless a test says otherwise.
class MadeUpTrials : public LoweringTrials {
 public:
  explicit MadeUpTrials(std::vector<MadeUpPart> parts) : parts_(std::move(parts)) {}

  size_t parts() const override { return parts_.size(); }
  int64_t fp32_ns() const override { return 1000; }
  int64_t noise_ns() const override { return noise; }
  int64_t saved_ns(size_t part) const override { return parts_[part].saved_ns; }
  Result<double> ErrorAlone(size_t part) override {
    ++asked;
    return parts_[part].error;
  }
  Result<Outcome> Try(const Lowering& lowering) override {
    ++asked;
    ++tried;
    if (failure) return *failure;
    if (tried > tries_before_the_signal) return MakeError(ErrorCode::kInterrupted, "made_up", "interrupted");
    return OutcomeOf(lowering);
  }
  Result<double> Confirm(const Lowering& lowering) override {
    ++confirmed;
    return confirm ? confirm(lowering) : OutcomeOf(lowering).largest;
  }

  Outcome OutcomeOf(const Lowering& lowering) const {
    double squares = 0;
    int64_t saved = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (!lowering[i]) continue;
      squares += parts_[i].error * parts_[i].error;
      saved += parts_[i].saved_ns;
    }
    return adjust({std::sqrt(squares), std::sqrt(squares), fp32_ns() - saved}, lowering);
  }

  std::function<Outcome(Outcome, const Lowering&)> adjust = [](Outcome outcome, const Lowering&) { return outcome; };
  std::function<double(const Lowering&)> confirm;
  std::optional<Error> failure;
  int64_t noise = 0;
  size_t asked = 0, tried = 0, confirmed = 0;
  size_t tries_before_the_signal = std::numeric_limits<size_t>::max();

 private:
  std::vector<MadeUpPart> parts_;
};

LoweringChoice Chosen(MadeUpTrials& trials, double max_error) {
  const Result<LoweringChoice> choice = ChooseLowering(trials, max_error);
  if (!choice.ok()) FAIL(ToString(choice.error()));
  CHECK(trials.asked <= MostTrials(trials.parts()));
  CHECK(choice->confirmed <= max_error);
  return *choice;
}

TEST_CASE("ChooseLowering, LowersEverythingAtOnceWhereThatIsWithinTheBudget", "[engine]") {
  MadeUpTrials trials({{0.03, 100}, {0.04, 100}});
  const LoweringChoice choice = Chosen(trials, 0.1);
  CHECK(choice.lowering == Lowering{true, true});
  CHECK(choice.outcome.largest == 0.05);
  CHECK(choice.outcome.ns == 800);
  CHECK(choice.confirmed == 0.05);
  CHECK(trials.asked == 1);
  CHECK(trials.confirmed == 1);
}

TEST_CASE("ChooseLowering, LowersFirstWhatSavesMostForItsError", "[engine]") {
  // Saved by square of error: 100, 25,000, 10,000, 4,444. Within 0.8 of the budget there is room for the middle two and
  // not for the last beside them.
  MadeUpTrials trials({{1.0, 100}, {0.1, 250}, {0.1, 100}, {0.15, 100}});
  const LoweringChoice choice = Chosen(trials, 0.2);
  CHECK(choice.lowering == Lowering{false, true, true, false});
  CHECK(choice.outcome.ns == 650);
}

TEST_CASE("ChooseLowering, FitsSmallPartsBehindOneThatIsTooLarge", "[engine]") {
  // In order: 0, 1, 2; the second does not fit beside the first, the third does.
  MadeUpTrials trials({{0.1, 400}, {0.11, 300}, {0.05, 10}});
  CHECK(Chosen(trials, 0.15).lowering == Lowering{true, false, true});
}

TEST_CASE("ChooseLowering, KeepsPartsInFp32ThatChangeWhatMustBeEqual", "[engine]") {
  MadeUpTrials trials({{0.01, 100}, {kInfinite, 500}, {0.01, 100}});
  trials.adjust = [](LoweringTrials::Outcome outcome, const Lowering& lowering) {
    if (lowering[1]) outcome.largest = outcome.typical = kInfinite;
    return outcome;
  };
  CHECK(Chosen(trials, 0.1).lowering == Lowering{true, false, true});
}

TEST_CASE("ChooseLowering, IsFp32WhereNothingIsFaster", "[engine]") {
  MadeUpTrials trials({{0.01, 100}, {0.01, 100}});
  trials.adjust = [](LoweringTrials::Outcome outcome, const Lowering&) {
    outcome.ns = 1000;
    return outcome;
  };
  const LoweringChoice choice = Chosen(trials, 0.1);
  CHECK(choice.lowering == Lowering{false, false});
  CHECK(choice.outcome.ns == 1000);
  CHECK(choice.confirmed == 0);
  CHECK(trials.confirmed == 0);
}

TEST_CASE("ChooseLowering, TakesNoErrorForAGainWithinTheNoise", "[engine]") {
  MadeUpTrials trials({{0.01, 5}, {0.01, 5}});
  trials.noise = 10;
  CHECK(Chosen(trials, 0.1).lowering == Lowering{false, false});
  trials.noise = 9;
  CHECK(Chosen(trials, 0.1).lowering == Lowering{true, true});
}

TEST_CASE("ChooseLowering, IsFp32WhereNothingFits", "[engine]") {
  MadeUpTrials trials({{0.5, 100}, {0.5, 100}});
  CHECK(Chosen(trials, 0.1).lowering == Lowering{false, false});
  CHECK(trials.asked == 3);  // all at once, and each
}

TEST_CASE("ChooseLowering, IsFp32WithoutParts", "[engine]") {
  MadeUpTrials trials({});
  CHECK(Chosen(trials, 0.1).lowering.empty());
  CHECK(trials.asked == 0);
}

TEST_CASE("ChooseLowering, TakesStepsBackWhereOtherDataShowsMore", "[engine]") {
  // Everything has 0.0798, and 0.1197 on the other data: too much. Within less there is room for the first and the
  // last, which have 0.0622, and 0.0933 on the other data.
  MadeUpTrials trials({{0.05, 300}, {0.05, 200}, {0.037, 50}});
  trials.confirm = [&](const Lowering& lowering) {
    return trials.OutcomeOf(lowering).largest * (lowering[2] ? 1.5 : 1);
  };
  const LoweringChoice choice = Chosen(trials, 0.1);
  CHECK(choice.lowering == Lowering{true, false, true});
  CHECK(trials.confirmed == 2);
}

TEST_CASE("ChooseLowering, HoldsTheLargestErrorOfAnyDataToTheBudget", "[engine]") {
  // The typical error is far below it all the time.
  MadeUpTrials trials({{0.01, 300}, {0.01, 200}, {0.01, 100}});
  trials.adjust = [](LoweringTrials::Outcome outcome, const Lowering& lowering) {
    outcome.largest = lowering[0] ? 0.09 : outcome.typical;
    return outcome;
  };
  const LoweringChoice choice = Chosen(trials, 0.1);
  CHECK_FALSE(choice.lowering[0]);
  CHECK(choice.outcome.largest <= 0.08);
}

TEST_CASE("ChooseLowering, EndsInFp32WhereNothingIsConfirmed", "[engine]") {
  for (const double seen : {0.2, kInfinite, std::numeric_limits<double>::quiet_NaN()}) {
    CAPTURE(seen);
    for (const double error : {0.0, 0.01}) {
      MadeUpTrials trials({{error, 100}, {error, 100}, {error, 100}});
      trials.confirm = [&](const Lowering&) { return seen; };
      const LoweringChoice choice = Chosen(trials, 0.1);
      CHECK(choice.lowering == Lowering{false, false, false});
      CHECK(choice.confirmed == 0);
      CHECK(trials.confirmed >= 1);
    }
  }
}

TEST_CASE("ChooseLowering, TriesNothingTwice", "[engine]") {
  MadeUpTrials trials({{0.06, 100}, {0.06, 90}, {0.06, 80}, {0.06, 70}});
  std::vector<Lowering> seen;
  trials.adjust = [&](LoweringTrials::Outcome outcome, const Lowering& lowering) {
    CHECK(std::ranges::count(seen, lowering) == 0);
    seen.push_back(lowering);
    return outcome;
  };
  trials.confirm = [](const Lowering& lowering) { return std::ranges::count(lowering, true) > 1 ? 0.11 : 0.09; };
  Chosen(trials, 0.12);
}

TEST_CASE("ChooseLowering, PassesOnWhatFails", "[engine]") {
  MadeUpTrials trials({{0.01, 100}});
  trials.failure = MakeError(ErrorCode::kOutOfMemory, "made_up", "no memory");
  const Result<LoweringChoice> choice = ChooseLowering(trials, 0.1);
  REQUIRE_FALSE(choice.ok());
  CHECK(choice.error().code == ErrorCode::kOutOfMemory);
}

TEST_CASE("ChooseLowering, ConfirmsTheFastestThatWasTriedBeforeASignal", "[engine]") {
  // All of it has too much; then the first two, which fit, and the first three, which fit as well.
  const std::vector<MadeUpPart> parts = {{0.04, 400}, {0.04, 300}, {0.04, 200}, {0.04, 100}};
  for (const auto& [tries, lowering] : {std::pair<size_t, Lowering>(0, {false, false, false, false}),
                                        {1, {false, false, false, false}},
                                        {2, {true, true, false, false}},
                                        {3, {true, true, true, false}}}) {
    CAPTURE(tries);
    MadeUpTrials trials(parts);
    trials.tries_before_the_signal = tries;
    CHECK(Chosen(trials, 0.09).lowering == lowering);
    CHECK(trials.confirmed == (tries < 2 ? 0 : 1));
  }
  MadeUpTrials trials(parts);
  trials.tries_before_the_signal = 2;
  trials.confirm = [](const Lowering&) { return 0.2; };
  CHECK(Chosen(trials, 0.09).lowering == Lowering{false, false, false, false});
  CHECK(trials.confirmed == 1);  // nothing is tried after a signal
}

TEST_CASE("ChooseLowering, NeverExceedsTheBudgetOnOtherDataAndIsBounded", "[engine]") {
  // Errors that do not add up, times that do not either, other data that disagrees, parts that change integers.
  size_t lowered = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<MadeUpPart> parts(random.Below(33));
    for (MadeUpPart& part : parts) {
      part = {random.Below(10) == 0 ? kInfinite : std::exp(random.Uniform(-9, -2)),
              static_cast<int64_t>(random.Below(60)) - 10};
    }
    MadeUpTrials trials(parts);
    const uint64_t world = random.Next();
    const auto noise = [world](const Lowering& lowering, uint64_t salt) {
      const uint64_t bits = std::accumulate(lowering.begin(), lowering.end(), world + salt,
                                            [](uint64_t sum, bool bit) { return SplitMix(sum * 2 + (bit ? 1 : 0)); });
      return Random(bits).Uniform(0.4, 1.6);
    };
    trials.adjust = [&](LoweringTrials::Outcome outcome, const Lowering& lowering) {
      outcome.typical *= noise(lowering, 1);
      outcome.largest = outcome.typical * (1 + noise(lowering, 4));
      outcome.ns = static_cast<int64_t>(static_cast<double>(outcome.ns) * (0.9 + 0.1 * noise(lowering, 2)));
      return outcome;
    };
    trials.confirm = [&](const Lowering& lowering) {
      return trials.OutcomeOf(lowering).largest * noise(lowering, 3) * (random.Below(20) == 0 ? kInfinite : 1);
    };
    const double max_error = std::exp(random.Uniform(-8, -1));
    const LoweringChoice choice = Chosen(trials, max_error);
    const bool any = std::ranges::find(choice.lowering, true) != choice.lowering.end();
    lowered += any ? 1 : 0;
    CHECK(choice.lowering.size() == parts.size());
    if (any) {
      CHECK(choice.outcome.largest == trials.OutcomeOf(choice.lowering).largest);
      CHECK(choice.outcome.largest <= max_error);
      CHECK(choice.outcome.ns < trials.fp32_ns());
    } else {
      CHECK(choice.outcome.ns == trials.fp32_ns());
    }
  }
  CHECK(lowered > 500);
}

}  // namespace
}  // namespace pt::precision_budget_test
