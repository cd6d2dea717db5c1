// Requests in virtual time: against formulas of queueing theory, and traces worked out by hand.
#include "lib/engine/request_simulation.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "partitiontuner/plan/plan.h"
#include "test/testing/test_machine.h"

namespace pt::testing::request_simulation_test {
namespace {

using Times = std::vector<int64_t>;

// As they were recorded, smallest first.
Times Sorted(const LatencyHistogram& histogram) {
  Times times;
  for (uint64_t k = 1; k <= histogram.count(); ++k) times.push_back(histogram.Ranked(k));
  return times;
}

// Requests every 10 ns.
SimulatedLoad EveryTenNs(uint64_t requests) {
  SimulatedLoad load;
  load.arrivals = ArrivalKind::kFixed;
  load.per_second = 1e8;
  load.requests = requests;
  return load;
}

// The mean time from arrival to start in runs, where the servers are busy for that share.
double MeanWait(const Times& run_ns, uint32_t servers, double busy) {
  double sum_ns = 0;
  for (const int64_t ns : run_ns) sum_ns += static_cast<double>(ns);
  const double mean_ns = sum_ns / static_cast<double>(run_ns.size());
  SimulatedLoad load;
  load.per_second = busy * servers * 1e9 / mean_ns;
  load.requests = 2'000'000;
  load.in_flight = servers;
  load.waiting = 1'000'000;
  const RequestTally tally = SimulateRequests({run_ns, servers}, load);
  REQUIRE(tally.refused == 0);
  REQUIRE(tally.latency.count() == load.requests);
  CHECK(std::abs(tally.waited.mean() / mean_ns - (tally.latency.mean() / mean_ns - 1)) < 0.01);
  return tally.latency.mean() / mean_ns - 1;
}

bool IsNear(double value, double expected) {
  CAPTURE(value, expected);
  return std::abs(value - expected) <= 0.03 * expected;
}

}  // namespace

// Pollaczek and Khinchine: half of busy / (1 - busy) for runs that all take the same.
TEST_CASE("RequestSimulation, OneServerWaitsAsMD1Says", "[engine]") {
  for (const double busy : {0.2, 0.5, 0.8, 0.9}) CHECK(IsNear(MeanWait({1'000'000}, 1, busy), busy / (1 - busy) / 2));
}

// The same formula with the second moment of what runs take.
TEST_CASE("RequestSimulation, RunsOfSeveralLengthsWaitAsMG1Says", "[engine]") {
  const Times run_ns = {100'000, 1'000'000, 1'000'000, 3'900'000};
  double square = 0;
  for (const int64_t ns : run_ns) square += std::pow(static_cast<double>(ns) / 1.5e6, 2) / 4;
  for (const double busy : {0.3, 0.7}) CHECK(IsNear(MeanWait(run_ns, 1, busy), busy * square / (1 - busy) / 2));
}

// Crommelin's mean waits, in runs: by his sum over the intervals of one run, which the table was made by.
TEST_CASE("RequestSimulation, SeveralServersWaitAsMDcSays", "[engine]") {
  struct Row {
    uint32_t servers;
    double busy, wait;
  };
  for (const Row& row : {Row{2, 0.5, 0.17674}, Row{2, 0.8, 0.90328}, Row{4, 0.8, 0.38609}, Row{8, 0.9, 0.44997}}) {
    CAPTURE(row.servers, row.busy);
    CHECK(IsNear(MeanWait({1'000'000}, row.servers, row.busy), row.wait));
  }
}

// Runs of 15 ns on one server, two in flight and one that waits. Due at 10, 20, ...: the first ends at 25, the second
// starts there, and so on; the fourth begins at 40, when the second ends. The eighth, at 80, finds three others.
TEST_CASE("RequestSimulation, ATraceByHand", "[engine]") {
  SimulatedLoad load = EveryTenNs(10);
  load.in_flight = 2;
  load.waiting = 1;
  const RequestTally tally = SimulateRequests({{15}, 1}, load);
  CHECK(tally.rate == 1e8);
  CHECK(tally.refused == 1);
  CHECK(Sorted(tally.latency) == Times{15, 20, 25, 30, 35, 40, 40, 45, 45});
  CHECK(Sorted(tally.waited) == Times{0, 0, 0, 0, 5, 10, 10, 15, 15});
  CHECK(tally.seconds == 145e-9);
}

TEST_CASE("RequestSimulation, RunsOnServersOfTheirOwnDoNotWait", "[engine]") {
  SimulatedLoad load = EveryTenNs(100);
  load.in_flight = 2;
  load.waiting = 0;
  const RequestTally two = SimulateRequests({{20}, 2}, load);
  CHECK(two.latency.min() == 20);
  CHECK(two.latency.max() == 20);
  CHECK(two.refused == 0);
  const RequestTally one = SimulateRequests({{20}, 1}, load);
  CHECK(one.refused > 0);
}

// By half of the run before, the next one may begin; one in flight waits for its end all the same.
TEST_CASE("RequestSimulation, ARunFollowsTheOneBeforeByItsHeadway", "[engine]") {
  SimulatedLoad load = EveryTenNs(100);
  load.in_flight = 2;
  const RequestTally follow = SimulateRequests({{20}, 1, 0.5}, load);
  CHECK(follow.latency.max() == 20);
  load.in_flight = 1;
  load.waiting = 1'000;
  const RequestTally one = SimulateRequests({{20}, 1, 0.5}, load);
  CHECK(one.latency.max() == 20 + 99 * 10);
  CHECK(one.waited.max() == 99 * 10);
}

TEST_CASE("RequestSimulation, TheSameSeedGivesTheSameNumbers", "[engine]") {
  const uint64_t seed = GENERATE(1u, 7u);
  SimulatedLoad load;
  load.per_second = 900'000;
  load.seed = seed;
  load.in_flight = 2;
  const ServiceModel service{{500, 1000, 1500}, 1, 0.9};
  const RequestTally one = SimulateRequests(service, load), two = SimulateRequests(service, load);
  CHECK(one.refused == two.refused);
  CHECK(one.latency.mean() == two.latency.mean());
  CHECK(Sorted(one.latency) == Sorted(two.latency));
  load.seed = seed + 1;
  CHECK(SimulateRequests(service, load).latency.mean() != one.latency.mean());
}

TEST_CASE("RequestSimulation, APredictionsIntervalIsWhatRunsTake", "[engine]") {
  Estimate makespan;
  makespan.ns = 1000;
  makespan.spread_ns = 100;
  const Times times = RunTimesOf(makespan);
  CHECK(times.front() == 900);
  CHECK(times.back() == 1100);
  CHECK(times[times.size() / 2] == 1000);
  makespan.spread_ns = 2000;
  CHECK(RunTimesOf(makespan).front() == 1);  // nothing takes no time
}

// Steps of 10 on each of two cores, one after another: the first core is free at half time.
TEST_CASE("RequestSimulation, HeadwayIsTheLongestStayOnOneCore", "[engine]") {
  const Platform platform = MakeTestPlatform(2, false);
  const auto plan = [&](const std::vector<std::pair<const char*, int64_t>>& starts) {
    Plan made;
    for (const auto& [unit, start] : starts) {
      Step step;
      step.unit = FindUnit(platform, unit);
      step.expected_start_ns = start;
      step.expected_ns = 10;
      made.steps.push_back(step);
    }
    return made;
  };
  CHECK(HeadwayOf(platform, plan({{"cpu[0]", 0}, {"cpu[1]", 10}})) == 0.5);
  CHECK(HeadwayOf(platform, plan({{"cpu[0]", 0}, {"cpu[1]", 10}, {"cpu[0]", 20}})) == 1);
  CHECK(HeadwayOf(platform, plan({{"cpu[0-1]", 0}, {"cpu[1]", 10}})) == 1);
  CHECK(HeadwayOf(platform, Plan()) == 1);
}

}  // namespace pt::testing::request_simulation_test
