// Streams of the simulated device, without a session: overlap, sharing, capture. What every driver promises:
// test/devices.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <functional>
#include <thread>

#include "lib/backend/simulated/simulated_stream.h"
#include "partitiontuner/backend/devices.h"
#include "test/testing/test_machine.h"

namespace pt::testing::simulated_streams_test {
namespace {

using std::chrono::seconds;

class Task : public SimulatedTask {
 public:
  explicit Task(std::function<Status()> body = [] { return Status(); }) : body_(std::move(body)) {}
  Status Run() noexcept override { return body_(); }

 private:
  std::function<Status()> body_;
};

struct Lab {
  explicit Lab(SimulatedClock clock) : driver(MakeSimulatedDriver(platform, DeviceId(1u), {clock, &calls})) {}

  std::unique_ptr<Stream> MakeStream() const { return driver->MakeStream().value(); }
  std::unique_ptr<Event> MakeEvent() const { return driver->MakeEvent().value(); }
  // A kernel of the device, by itself.
  static void Enqueue(Stream& stream, Task& task, int64_t ns, double demand = 0) {
    SimulatedWork work;
    work.ns = ns;
    work.demand = demand;
    work.task = &task;
    REQUIRE(AsSimulated(stream)->Enqueue(work, "kernel").ok());
  }
  static void Finish(Stream& stream) {
    const Result<bool> idle = stream.Synchronize(seconds(60));
    if (!idle.ok()) FAIL(ToString(idle.error()));
    REQUIRE(*idle);
  }

  SimulatedCalls calls;
  Platform platform = MakeTestPlatform(2, true);
  std::unique_ptr<DeviceDriver> driver;
};

const auto kBothClocks = {SimulatedClock::kVirtual, SimulatedClock::kReal};

}  // namespace

TEST_CASE("SimulatedStreams, CopyAndComputeOverlapOnTheRealClock", "[backend]") {
  Lab lab(SimulatedClock::kReal);
  const auto compute = lab.MakeStream(), copy = lab.MakeStream();
  const auto gate = lab.MakeEvent();
  const auto kernel_begin = lab.MakeEvent(), kernel_end = lab.MakeEvent();
  const auto copy_begin = lab.MakeEvent(), copy_end = lab.MakeEvent();
  // Both begin when the gate opens, after everything is enqueued: nothing depends on how fast this thread is.
  std::atomic<bool> open{false};
  Task wait([&] {
    while (!open.load()) std::this_thread::yield();
    return Status();
  });
  Task kernel;
  Lab::Enqueue(*compute, wait, 0);
  REQUIRE(compute->Record(*gate).ok());
  REQUIRE(compute->Record(*kernel_begin).ok());
  Lab::Enqueue(*compute, kernel, 2'000'000, 1);
  REQUIRE(compute->Record(*kernel_end).ok());
  REQUIRE(copy->Wait(*gate).ok());
  REQUIRE(copy->Record(*copy_begin).ok());
  std::vector<char> from(64, 'x'), to(64, ' ');
  SimulatedWork bytes;
  bytes.ns = 2'000'000;
  bytes.to = to.data();
  bytes.from = from.data();
  bytes.bytes = 64;
  REQUIRE(AsSimulated(*copy)->Enqueue(bytes, "copy in").ok());
  REQUIRE(copy->Record(*copy_end).ok());
  open.store(true);
  Lab::Finish(*compute);
  Lab::Finish(*copy);
  CHECK(to == from);
  CHECK(kernel_end->ElapsedNs(*copy_begin).value() > 0);
  CHECK(copy_end->ElapsedNs(*kernel_begin).value() > 0);
  CHECK(kernel_end->ElapsedNs(*kernel_begin).value() >= 2'000'000);
  CHECK(copy_end->ElapsedNs(*copy_begin).value() >= 2'000'000);
}

TEST_CASE("SimulatedStreams, KernelsThatAskForTooMuchSlowEachOtherDown", "[backend]") {
  Lab lab(SimulatedClock::kVirtual);
  const auto one = lab.MakeStream(), two = lab.MakeStream(), link = lab.MakeStream();
  const auto begin = lab.MakeEvent(), one_end = lab.MakeEvent(), two_end = lab.MakeEvent(), link_end = lab.MakeEvent();
  Task task;
  REQUIRE(one->Record(*begin).ok());
  Lab::Enqueue(*one, task, 6000, 0.75);
  REQUIRE(one->Record(*one_end).ok());
  Lab::Enqueue(*two, task, 1000, 0.75);
  REQUIRE(two->Record(*two_end).ok());
  Lab::Enqueue(*link, task, 1000);  // asks for nothing
  REQUIRE(link->Record(*link_end).ok());
  for (Stream* stream : {one.get(), two.get(), link.get()}) Lab::Finish(*stream);
  CHECK(two_end->ElapsedNs(*begin).value() == 1500);
  CHECK(one_end->ElapsedNs(*begin).value() == 6500);
  CHECK(link_end->ElapsedNs(*begin).value() == 1000);
}

TEST_CASE("SimulatedStreams, AnExecutableRunsTheCapturedWorkAtEveryLaunch", "[backend]") {
  Lab lab(GENERATE(from_range(kBothClocks)));
  const auto origin = lab.MakeStream(), side = lab.MakeStream(), elsewhere = lab.MakeStream();
  const auto fork = lab.MakeEvent(), join = lab.MakeEvent(), after = lab.MakeEvent();
  std::vector<int> order;
  Task first([&] { return order.push_back(1), Status(); }), second([&] { return order.push_back(2), Status(); });
  Task third([&] { return order.push_back(3), Status(); });
  REQUIRE(origin->BeginCapture().ok());
  Lab::Enqueue(*origin, first, 1000);
  REQUIRE(origin->Record(*fork).ok());
  REQUIRE(side->Wait(*fork).ok());
  Lab::Enqueue(*side, second, 1000);
  REQUIRE(side->Record(*join).ok());
  REQUIRE(origin->Wait(*join).ok());
  Lab::Enqueue(*origin, third, 1000);
  Result<std::unique_ptr<Executable>> executable = origin->EndCapture();
  REQUIRE(executable.ok());
  Lab::Finish(*origin);
  CHECK(order.empty());
  for (int launch = 0; launch < 3; ++launch) {
    order.clear();
    REQUIRE((*executable)->Launch(launch == 2 ? *elsewhere : *origin).ok());
    REQUIRE(side->Wait(*join).ok());  // the launch records it anew
    REQUIRE(side->Record(*after).ok());
    Lab::Finish(*side);
    CHECK(order.size() >= 2);
    Lab::Finish(*origin);
    Lab::Finish(*elsewhere);
    CHECK(order == std::vector<int>{1, 2, 3});
  }
}

TEST_CASE("SimulatedStreams, CapturesThatCannotBeLaunchedAreRefused", "[backend]") {
  Lab lab(SimulatedClock::kVirtual), foreign(SimulatedClock::kVirtual);
  const auto origin = lab.MakeStream(), side = lab.MakeStream();
  const auto event = lab.MakeEvent(), outside = lab.MakeEvent();
  Task task;
  CHECK_FALSE(origin->EndCapture().ok());  // none was begun
  REQUIRE(side->Record(*outside).ok());
  REQUIRE(origin->BeginCapture().ok());
  CHECK_FALSE(origin->BeginCapture().ok());
  CHECK_FALSE(origin->Wait(*outside).ok());
  REQUIRE(origin->Record(*event).ok());
  REQUIRE(side->Wait(*event).ok());
  CHECK_FALSE(side->EndCapture().ok());  // not where it was begun
  Lab::Enqueue(*side, task, 1);
  const auto lost = origin->EndCapture();  // side has not come back
  REQUIRE_FALSE(lost.ok());
  // Both streams are out of it.
  Lab::Enqueue(*side, task, 1);
  Lab::Finish(*side);
  REQUIRE(origin->BeginCapture().ok());
  Lab::Enqueue(*origin, task, 1);
  const auto executable = origin->EndCapture();
  REQUIRE(executable.ok());
  CHECK_FALSE((*executable)->Launch(*foreign.MakeStream()).ok());
  const auto other_event = foreign.MakeEvent();
  CHECK_FALSE(origin->Wait(*other_event).ok());
  CHECK_FALSE(origin->Record(*other_event).ok());
  CHECK_FALSE(event->ElapsedNs(*other_event).ok());
}

}  // namespace pt::testing::simulated_streams_test
