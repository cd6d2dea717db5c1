// Requests that are sent at their own times, whatever became of those before.
#include "partitiontuner/engine/open_loop.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/graph_text.h"
#include "test/testing/host_lab.h"

namespace pt::testing::open_loop_test {
namespace {

struct Scene {
  HostLab lab;
  std::unique_ptr<Session> session =
      lab.Open(TypedGraph("input x float32[4]\ns = Add(x, x)\ny = Relu(s)\noutput y\n"), 1);
  RunBuffers inputs =
      RunBuffers::ForInputs(*session, std::vector<Tensor>{Tensor::Float32({4}, {1, -2, 3, -4})}).value();
};

}  // namespace

TEST_CASE("OpenLoop, EveryRequestIsServedOrRefusedWithTheBitsOfARunByItself", "[engine]") {
  Scene scene;
  uint64_t sent = 0;
  OpenLoopOptions options;
  options.queue = {.in_flight = 2, .waiting = 3};
  options.arrivals = ArrivalKind::kFixed;
  options.progress = [&](uint64_t n) { sent = n; };
  OpenLoop loop(*scene.session, scene.inputs.tensors(), options);
  const IdleRuns idle = loop.RunIdle().value();
  CHECK(idle.latency.count() > 0);
  CHECK_FALSE(idle.last.simulated);
  for (const double rate : {1000.0, 1e7}) {
    const RequestTally tally = loop.Run(rate, {std::chrono::seconds(1), 300}).value();
    CHECK(tally.rate == rate);
    CHECK(tally.latency.count() + tally.refused == 300);
    CHECK(tally.late == 0);
    CHECK(tally.sent_late.count() == 300);
    CHECK(tally.latency.count() > 0);
    CHECK(tally.waited.max() <= tally.latency.max());
    CHECK(tally.seconds > 0);
    CHECK(sent == 300);
  }
  CHECK(loop.CheckBits().ok());
}

TEST_CASE("OpenLoop, EndsByItsTokenWithTheRequestsSoFar", "[engine]") {
  Scene scene;
  CancelToken cancel;
  OpenLoopOptions options;
  options.queue.waiting = 1000;
  options.cancel = &cancel;
  options.progress = [&](uint64_t n) {
    if (n == 20) cancel.Cancel();
  };
  OpenLoop loop(*scene.session, scene.inputs.tensors(), options);
  REQUIRE(loop.RunIdle().ok());
  const RequestTally tally = loop.Run(1e6, {std::chrono::hours(1), 0}).value();
  CHECK(tally.sent_late.count() == 20);
  CHECK(tally.latency.count() <= 20);
}

TEST_CASE("OpenLoop, ARequestsErrorEndsItAndADeadlineDoesNot", "[engine]") {
  Scene scene;
  OpenLoopOptions options;
  options.queue.waiting = 1000;
  options.deadline = std::chrono::nanoseconds(1);
  OpenLoop late(*scene.session, scene.inputs.tensors(), options);
  const RequestTally tally = late.Run(1e6, {std::chrono::seconds(1), 50}).value();
  CHECK(tally.late == 50);
  CHECK_FALSE(tally.all_served());
  OpenLoop wrong(*scene.session, {}, {});
  CHECK(wrong.Run(1e6, {std::chrono::seconds(1), 50}).error().id == "run.count");
}

TEST_CASE("OpenLoop, TrialsAreLongEnoughForTheirPercentile", "[engine]") {
  using std::chrono::seconds;
  CHECK(TrialLength(99, 1000, seconds(2)).requests == 2000);
  CHECK(TrialLength(99, 100, seconds(2)).requests == 300);
  CHECK(TrialLength(99, 1, seconds(2)).requests == 20);  // ten times as long at most
}

}  // namespace pt::testing::open_loop_test
