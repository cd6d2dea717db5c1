// What --assert claims of measured runs, and whether they show it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "partitiontuner/support/latency_histogram.h"
#include "tools/pt-run/runner.h"

namespace pt::tools {

// "p99<5ms", "speedup>=1.05": a percentile of the runs of the last plan, or how many times as fast as the first one it
// is, against a bound.
struct Assertion {
  std::string text;  // as it was given
  bool of_speedup = false;
  double percent = 0;        // of a latency
  bool is_below = false;     // < or <=, else > or >=
  bool takes_bound = false;  // the bound itself is allowed: <= or >=
  double bound = 0;          // nanoseconds, or a quotient
};
// Whether the value, in the unit of the bound, is on the side of the bound that is claimed.
bool Allows(const Assertion& assertion, double value);
// compares: several plans are measured, which a speedup needs. Errors: kUsage.
Result<std::vector<Assertion>> AssertionsFrom(std::span<const std::string> texts, bool compares);

// By the 95 % interval of what is claimed. Too few runs have an interval without an end, and show nothing.
enum class AssertionVerdict : uint8_t { kHolds, kFails, kNotShown };
struct JudgedAssertion {
  Assertion assertion;
  double value = 0, low = 0, high = 0;  // nanoseconds, or a quotient; high may be infinite
  AssertionVerdict verdict = AssertionVerdict::kNotShown;
};
// runners: at least one; all have run.
std::vector<JudgedAssertion> Judge(std::span<const Assertion> assertions, std::span<const MeasuredPlan> runners);
// Of latencies alone.
std::vector<JudgedAssertion> Judge(std::span<const Assertion> assertions, const LatencyHistogram& latency);

// A line each.
std::string AssertionLines(std::span<const JudgedAssertion> judged);
// Sets "assertions" where there are any.
void AddAssertions(std::span<const JudgedAssertion> judged, Json& json);
// 0, or kAssertionFailed unless all hold.
int ExitCodeOf(std::span<const JudgedAssertion> judged);

}  // namespace pt::tools
