// Shares of a trace, worked out by hand.
#include "partitiontuner/exec/trace.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "test/testing/test_machine.h"

namespace pt::testing::trace_test {

TEST_CASE("Trace, SharesAddUpToTheCoresTimesTheMakespan", "[exec]") {
  const Platform platform = MakeTestPlatform(2, true);
  const UnitId one = FindUnit(platform, "cpu[0]"), two = FindUnit(platform, "cpu[1]");
  const UnitId both = FindUnit(platform, "cpu[0-1]"), link = FindUnit(platform, "cpu>fake:0");
  Plan plan;
  plan.steps.resize(4);
  plan.steps[0].work = RunGroup{};
  plan.steps[1].work = Reorder{};
  plan.steps[2].work = RunGroup{};
  plan.steps[3].work = Copy{};
  Trace trace;
  trace.run_ns = 100;
  trace.events = {{StepId(0u), one, 0, 10, 40, false},         // core 0: 10 dispatch, 30 kernel
                  {StepId(1u), two, 15, 20, 30, false},        // core 1: 5 dispatch, 15 wait, 10 reorder
                  {StepId(2u), both, 5, 50, 90, false},        // core 0: 5 wait, 5 dispatch; core 1: 20 wait; 80 kernel
                  {StepId(3u), link, 0, 60, 95, false}};       // on no core
  const TraceShares shares = SharesOf(trace, platform, plan);  // both cores idle for the last 10
  CHECK(shares.kernels == Catch::Approx(110.0 / 200));
  CHECK(shares.reorders == Catch::Approx(10.0 / 200));
  CHECK(shares.copies == 0);
  CHECK(shares.waits == Catch::Approx((15 + 5 + 20 + 20) / 200.0));
  CHECK(shares.overhead == Catch::Approx((10 + 5 + 5) / 200.0));
  CHECK(SharesOf(Trace(), platform, Plan()).kernels == 0);
}

}  // namespace pt::testing::trace_test
