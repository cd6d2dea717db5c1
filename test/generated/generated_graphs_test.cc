// Graphs that nobody has thought of: drawn from the definitions of operators, run by every library, every planner and
// every machine that tests have, with passes and without, against the reference library on the graph as it was drawn.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/planner/planner.h"
#include "test/testing/built_in.h"
#include "test/testing/generated/draw_graph.h"
#include "test/testing/generated/graph_check.h"
#include "test/testing/generated/prepared_case.h"
#include "test/testing/generated/setting.h"
#include "test/testing/generated/shrink.h"
#include "test/testing/rounds.h"
#include "test/testing/seeds.h"

namespace pt::testing::generated_graphs_test {
namespace {

std::string Repeat(uint64_t seed) {
  return "\nrepeat: PT_SEEDS=" + std::to_string(seed) + ":1 test_generated -r compact \"*ByThousands\"";
}

// The smallest graph found that fails in the same way.
std::string Smallest(GraphCheck& check, const std::string& text, const Setting& setting, const std::string& why) {
  const std::string kind = why.substr(0, why.find(':'));
  return Shrink(text, [&](const std::string& smaller) {
    const Result<PreparedCase> prepared = Prepare(smaller);
    return prepared.ok() && check.WhyWrong(*prepared, setting).starts_with(kind + ":");
  });
}

// Stops at so many graphs that fail: shrinking each takes its time.
constexpr int kMostFailures = 5;

// How many comparisons many roundings may excuse: few graphs have one, so that no wrong answer hides among them.
uint64_t MostExcused(Seeds seeds) { return 1 + seeds.count / 1000; }

void CheckGraphs(GraphCheck& check, Seeds seeds) {
  int failures = 0;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < kMostFailures; ++seed) {
    const DrawnGraph drawn = DrawGraph(seed);
    if (!drawn.refused.empty()) {
      FAIL_CHECK("seed " << seed << ": the reference library refuses\n" << drawn.refused << Repeat(seed));
      ++failures;
      continue;
    }
    const Result<PreparedCase> prepared = Prepare(drawn.text);
    INFO("seed " << seed << "\n" << drawn.text << (prepared.ok() ? "" : ToString(prepared.error())));
    REQUIRE(prepared.ok());
    for (const Setting& setting : SettingsOf(seed)) {
      INFO(ToString(setting));
      const std::string why = check.WhyWrong(*prepared, setting);
      if (why.empty()) continue;
      const std::string smallest = Smallest(check, drawn.text, setting, why);
      const Result<PreparedCase> shrunk = Prepare(smallest);
      FAIL_CHECK("seed " << seed << ", " << ToString(setting) << "\n"
                         << why << "\nshrunk to\n"
                         << smallest << (shrunk.ok() ? check.WhyWrong(*shrunk, setting) : "") << Repeat(seed));
      ++failures;
      break;
    }
  }
}

}  // namespace

TEST_CASE("Drawn graphs, EveryPlanOnEveryLibraryMakesWhatTheReferenceLibraryMakes", "[generated]") {
  GraphCheck check;
  const Seeds seeds{1, Rounds(200)};
  CheckGraphs(check, seeds);
  const GraphCheck::Tally& tally = check.tally();
  CAPTURE(tally.outputs_compared, tally.not_for_the_planner, tally.operators.size());
  CHECK(tally.outputs_compared > 5 * seeds.count);
  CHECK(tally.excused <= MostExcused(seeds));
  for (const char* library : {"reference", "onednn", "host", "recurrent", "simulated"}) {
    CAPTURE(library);
    if (HasLibrary(library)) CHECK(tally.libraries.contains(library));
  }
  if (seeds.count < 200) return;
  CHECK(tally.operators.size() > 100);
  for (const Planner& planner : Planners()) {
    CAPTURE(planner.name);
    CHECK(tally.planners.contains(std::string(planner.name)));
  }
}

// Twenty minutes; PT_SEEDS=FIRST:COUNT takes a part.
TEST_CASE("Drawn graphs, EveryPlanMakesTheSameOfThemByThousands", "[.nightly]") {
  GraphCheck check;
  const Seeds seeds = SeedsOfNight({1, 5000});
  CheckGraphs(check, seeds);
  WARN("seeds from " << seeds.first << ": " << seeds.count << " graphs of " << check.tally().operators.size()
                     << " operators, " << check.tally().outputs_compared << " outputs compared, "
                     << check.tally().excused << " excused");
  CHECK(check.tally().excused <= MostExcused(seeds));
}

}  // namespace pt::testing::generated_graphs_test
