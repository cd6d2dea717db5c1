// pt-run --rate: requests at their own times.
#include <catch2/catch_test_macros.hpp>

#include "test/cli/tools.h"

namespace pt::testing::rate_test {
namespace {

Json RowsOf(const Workplace& place, const std::vector<std::string>& flags, int exit_code = 0) {
  const CommandResult result =
      RunTool("pt-run", Joined({place.Branchy(), "--db", "none", "--format", "json", "--arrivals", "fixed"}, flags));
  CAPTURE(result.err);
  REQUIRE(result.exit_code == exit_code);
  return Parsed(result.out);
}

}  // namespace

TEST_CASE("PtRunRate, EveryRequestIsServedRefusedOrLate", "[cli]") {
  const Workplace place;
  const Json json = RowsOf(place, {"--rate", "2000,1000000", "--iterations", "300", "--queue", "3", "--inflight", "2"});
  CHECK(*json.find("arrivals")->as_string() == "fixed");
  CHECK(*json.find("in_flight")->as_int() == 2);
  CHECK(*json.find("queue")->as_int() == 3);
  CHECK(*json.find("idle_ns")->find("p50")->as_int() > 0);
  const Json* const rows = json.find("rates");
  REQUIRE(rows != nullptr);
  REQUIRE(rows->as_array()->size() == 2);
  for (const Json& row : *rows->as_array()) {
    const int64_t served = *row.find("served")->as_int();
    CHECK(served > 0);
    CHECK(served + *row.find("refused")->as_int() + *row.find("late")->as_int() == 300);
    CHECK(*row.find("served_per_s")->as_number() > 0);
    const Json* const latency = row.find("latency_ns");
    CHECK(*latency->find("min")->as_int() > 0);
    CHECK(*latency->find("min")->as_int() <= *latency->find("p50")->as_int());
    CHECK(*latency->find("p50")->as_int() <= *latency->find("p99.9")->as_int());
    CHECK(*latency->find("p99.9")->as_int() <= *latency->find("max")->as_int());
    CHECK(*row.find("waited_ns")->find("max")->as_int() <= *latency->find("max")->as_int());
  }
}

TEST_CASE("PtRunRate, RequestsBeyondTheirDeadlineAreLateAndTheRestGoOn", "[cli]") {
  const Workplace place;
  const Json json = RowsOf(place, {"--rate", "100000", "--iterations", "200", "--queue", "200", "--deadline", "1h"});
  CHECK(*json.find("rates")->as_array()->at(0).find("late")->as_int() == 0);
  CHECK(*json.find("rates")->as_array()->at(0).find("served")->as_int() == 200);
}

TEST_CASE("PtRunRate, AssertionsHoldOrFailByTheLastRate", "[cli]") {
  const Workplace place;
  const std::vector<std::string> flags = {"--rate", "1000", "--iterations", "500", "--queue", "500"};
  const Json holds = RowsOf(place, Joined(flags, {"--assert", "p90<1h"}));
  CHECK(*holds.find("assertions")->as_array()->at(0).find("verdict")->as_string() == "holds");
  const Json fails = RowsOf(place, Joined(flags, {"--assert", "p50<1ns"}), 10);
  CHECK(*fails.find("assertions")->as_array()->at(0).find("verdict")->as_string() == "fails");
}

TEST_CASE("PtRunRate, TheTableHasARowARateAndOneOfTheIdleMachine", "[cli]") {
  const Workplace place;
  const CommandResult result = RunTool("pt-run", {place.Branchy(), "--db", "none", "--rate", "500,1000", "--iterations",
                                                  "50", "--percentiles", "50,99.9"});
  REQUIRE(result.exit_code == 0);
  for (const char* part : {"requests/s", "served/s", "refused", "late", "p99.9", "idle", "500.0", "1000.0"}) {
    CAPTURE(part);
    CHECK(result.out.find(part) != std::string::npos);
  }
}

// A bound of an hour holds at any rate that the queue takes, one of a nanosecond at none.
TEST_CASE("PtRunRate, TheHighestRateIsFoundOrThereIsNone", "[cli]") {
  const Workplace place;
  const Json found = RowsOf(place, {"--find-rate", "p90<1h", "--duration", "50ms"});
  const double highest = *found.find("highest_rate")->as_number();
  CHECK(highest > 0);
  const Json& last = found.find("rates")->as_array()->back();
  CHECK(*last.find("rate")->as_number() == highest);
  CHECK(*last.find("refused")->as_int() == 0);
  CHECK(*last.find("served")->as_int() >= 30);
  const Json none = RowsOf(place, {"--find-rate", "p50<1ns", "--duration", "10ms"}, 10);
  CHECK(*none.find("highest_rate")->as_number() == 0);
}

TEST_CASE("PtRunRate, WhatIsNotARateOrBelongsToOneIsRefused", "[cli]") {
  const Workplace place;
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{{"--rate", "0"},
                                                                                     {"--rate", "-3"},
                                                                                     {"--rate", "1e9"},
                                                                                     {"--rate", "x"},
                                                                                     {"--rate", "nan"},
                                                                                     {"--rate", "5", "--arrivals", "a"},
                                                                                     {"--rate", "5", "--inflight", "0"},
                                                                                     {"--rate", "5", "--queue", "-1"},
                                                                                     {"--find-rate", "p99>5ms"},
                                                                                     {"--find-rate", "speedup<2"},
                                                                                     {"--find-rate", "5"},
                                                                                     {"--inflight", "2"},
                                                                                     {"--queue", "2"},
                                                                                     {"--arrivals", "fixed"}}) {
    CAPTURE(flags);
    CHECK(RunTool("pt-run", Joined({place.Branchy(), "--db", "none"}, flags)).exit_code == 2);
  }
}

}  // namespace pt::testing::rate_test
