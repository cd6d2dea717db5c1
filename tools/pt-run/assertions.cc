#include "tools/pt-run/assertions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "partitiontuner/support/quantile_interval.h"
#include "tools/common/text.h"
#include "tools/pt-run/speedup.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

constexpr std::string_view kSpeedup = "speedup";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Error BadAssertion(const std::string& text, const std::string& why) {
  return MakeError(ErrorCode::kUsage, "usage.value", "--assert " + text + ": " + why,
                   "--assert 'p99<5ms' or, with --compare, --assert 'speedup>=1.05'");
}

struct Comparing {
  std::string_view sign;
  bool is_below, takes_bound;
};
constexpr std::array kComparing = {Comparing{"<=", true, true}, Comparing{">=", false, true},
                                   Comparing{"<", true, false}, Comparing{">", false, false}};

// What stands before and behind the sign, without spaces; the sign goes to the assertion.
Result<std::pair<std::string, std::string>> Sides(const std::string& text, Assertion& assertion) {
  std::string dense = text;
  std::erase(dense, ' ');
  for (const Comparing& row : kComparing) {
    const size_t at = dense.find(row.sign);
    if (at == std::string::npos) continue;
    assertion.is_below = row.is_below;
    assertion.takes_bound = row.takes_bound;
    return std::pair(dense.substr(0, at), dense.substr(at + row.sign.size()));
  }
  return BadAssertion(text, "there is no <, <=, > or >=");
}

Result<Assertion> AssertionFrom(const std::string& text, bool compares) {
  Assertion assertion;
  assertion.text = text;
  PT_ASSIGN(const auto sides, Sides(text, assertion));
  const auto& [name, bound] = sides;
  assertion.of_speedup = name == kSpeedup;
  if (assertion.of_speedup) {
    if (!compares) return BadAssertion(text, "there is a speedup with --compare only");
    PT_ASSIGN(assertion.bound, ParseNumber(bound, "--assert"));
    return assertion;
  }
  if (!name.starts_with('p')) return BadAssertion(text, "\"" + name + "\" is not a percentile or \"speedup\"");
  PT_ASSIGN(assertion.percent, ParseNumber(name.substr(1), "--assert"));
  if (assertion.percent <= 0 || assertion.percent >= 100)
    return BadAssertion(text, "a percentile lies between p0 and p100");
  PT_ASSIGN(const std::chrono::nanoseconds time, ParseDuration(bound, "--assert"));
  assertion.bound = static_cast<double>(time.count());
  return assertion;
}

// ranked: the k-th smallest of `count` times, the smallest being 1.
void JudgeLatency(size_t count, const std::function<int64_t(size_t)>& ranked, JudgedAssertion& judged) {
  const QuantileRanks ranks = QuantileInterval(count, judged.assertion.percent / 100);
  judged.low = ranks.low == 0 ? 0 : static_cast<double>(ranked(ranks.low));
  judged.high = ranks.high > count ? kInfinity : static_cast<double>(ranked(ranks.high));
}

void JudgeLatency(const MeasuredPlan& runner, JudgedAssertion& judged) {
  const std::vector<int64_t> sorted = LatencyOf(runner.times_ns).sorted;
  judged.value = static_cast<double>(PercentileOf(sorted, judged.assertion.percent));
  JudgeLatency(
      sorted.size(), [&](size_t k) { return sorted[k - 1]; }, judged);
}

void JudgeSpeedup(std::span<const MeasuredPlan> runners, JudgedAssertion& judged) {
  const Speedup speedup = SpeedupOver(runners.front(), runners.back());
  judged.value = speedup.median;
  judged.low = speedup.has_interval() ? speedup.low : 0;
  judged.high = speedup.has_interval() ? speedup.high : kInfinity;
}

AssertionVerdict VerdictOf(const JudgedAssertion& judged) {
  const bool low = Allows(judged.assertion, judged.low), high = Allows(judged.assertion, judged.high);
  if (low != high) return AssertionVerdict::kNotShown;
  return low ? AssertionVerdict::kHolds : AssertionVerdict::kFails;
}

// judge: fills in the value and its interval.
std::vector<JudgedAssertion> JudgeEach(std::span<const Assertion> assertions,
                                       const std::function<void(JudgedAssertion&)>& judge) {
  std::vector<JudgedAssertion> all;
  for (const Assertion& assertion : assertions) {
    JudgedAssertion& judged = all.emplace_back(JudgedAssertion{assertion});
    judge(judged);
    judged.verdict = VerdictOf(judged);
  }
  return all;
}

std::string_view NameOf(AssertionVerdict verdict) {
  switch (verdict) {
    case AssertionVerdict::kHolds:
      return "holds";
    case AssertionVerdict::kFails:
      return "fails";
    case AssertionVerdict::kNotShown:
      break;
  }
  return "not shown";
}

std::string NumberText(const JudgedAssertion& judged, double number) {
  if (judged.assertion.of_speedup) return Fixed(number, 3);
  return ShortTime(static_cast<int64_t>(number));
}

}  // namespace

bool Allows(const Assertion& assertion, double value) {
  if (value == assertion.bound) return assertion.takes_bound;
  return assertion.is_below ? value < assertion.bound : value > assertion.bound;
}

Result<std::vector<Assertion>> AssertionsFrom(std::span<const std::string> texts, bool compares) {
  std::vector<Assertion> assertions;
  for (const std::string& text : texts) {
    PT_ASSIGN(Assertion assertion, AssertionFrom(text, compares));
    assertions.push_back(std::move(assertion));
  }
  return assertions;
}

std::vector<JudgedAssertion> Judge(std::span<const Assertion> assertions, std::span<const MeasuredPlan> runners) {
  return JudgeEach(assertions, [&](JudgedAssertion& judged) {
    if (judged.assertion.of_speedup) {
      JudgeSpeedup(runners, judged);
    } else {
      JudgeLatency(runners.back(), judged);
    }
  });
}

std::vector<JudgedAssertion> Judge(std::span<const Assertion> assertions, const LatencyHistogram& latency) {
  return JudgeEach(assertions, [&](JudgedAssertion& judged) {
    judged.value = static_cast<double>(latency.Percentile(judged.assertion.percent));
    JudgeLatency(
        latency.count(), [&](size_t k) { return latency.Ranked(k); }, judged);
  });
}

std::string AssertionLines(std::span<const JudgedAssertion> judged) {
  std::string lines;
  for (const JudgedAssertion& j : judged) {
    lines += " assert " + j.assertion.text + ": " + std::string(NameOf(j.verdict)) + ": " + NumberText(j, j.value) +
             ", at 95 % from " + NumberText(j, j.low) + (std::isinf(j.high) ? " on" : " to " + NumberText(j, j.high));
    if (j.verdict == AssertionVerdict::kNotShown) lines += "; more runs tell (--duration)";
    lines += "\n";
  }
  return lines;
}

void AddAssertions(std::span<const JudgedAssertion> judged, Json& json) {
  if (judged.empty()) return;
  Json rows = Json::MakeArray();
  for (const JudgedAssertion& j : judged) {
    Json row = Json::MakeObject();
    row.Set("assert", j.assertion.text).Set("verdict", std::string(NameOf(j.verdict)));
    row.Set("value", j.value).Set("low", j.low);
    if (!std::isinf(j.high)) row.Set("high", j.high);
    rows.Push(std::move(row));
  }
  json.Set("assertions", std::move(rows));
}

int ExitCodeOf(std::span<const JudgedAssertion> judged) {
  const auto holds = [](const JudgedAssertion& j) { return j.verdict == AssertionVerdict::kHolds; };
  return std::ranges::all_of(judged, holds) ? 0 : static_cast<int>(ErrorCode::kAssertionFailed);
}

}  // namespace pt::tools
