// The order of work on a device without streams of its own, with tasks that a test ends by hand.
#include "plugins/shared/device_queue.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>

#include "plugins/shared/queue_device.h"

namespace pt::plugins::device_queue_test {
namespace {

constexpr std::chrono::nanoseconds kNone{0};
constexpr std::chrono::seconds kLong{30};

// Ends when it is told to, as a device would from a thread of its own.
struct ManualTask final : DeviceTask {
  Status Begin(const WorkTicket& given) noexcept override {
    ++begun;
    ticket = given;
    return refuses ? Status(MakeError(ErrorCode::kRunFailed, "fake", "no such luck")) : Status();
  }
  void Cancel() noexcept override { ++cancelled; }
  void End(Status status = {}, bool lost = false) const {
    std::thread([&] { ticket.queue->End(ticket, status, lost); }).join();
  }

  // Returns when it has begun that often: lists go on on a thread of the queue.
  void AwaitBegun(int times) const {
    while (begun < times) std::this_thread::yield();
  }

  std::atomic<int> begun{0}, cancelled{0};
  bool refuses = false;
  WorkTicket ticket;
};

struct Lab {
  DeviceQueue queue{"fake", "fake:0"};
  uint32_t first = queue.AddStream(), second = queue.AddStream();
};

Error Fault() { return MakeError(ErrorCode::kRunFailed, "fake", "a fault"); }

}  // namespace

TEST_CASE("DeviceQueue, AStreamWaitsForWhatAnotherHadRecorded", "[plugins]") {
  Lab lab;
  ManualTask a, b, later;
  EventMark mark;
  lab.queue.Wait(lab.second, mark);  // never recorded: no wait
  REQUIRE(lab.queue.Do(lab.first, a).ok());
  lab.queue.Record(lab.first, mark);
  lab.queue.Wait(lab.second, mark);
  REQUIRE(lab.queue.Do(lab.second, b).ok());
  REQUIRE(lab.queue.Do(lab.first, later).ok());
  lab.queue.Record(lab.first, mark);  // a later record does not hold up those who wait for the earlier one
  CHECK(b.begun == 0);
  a.End();
  b.AwaitBegun(1);
  later.AwaitBegun(1);
  CHECK_FALSE(lab.queue.IsReady(mark).value());
  b.End();
  later.End();
  CHECK(lab.queue.Synchronize(lab.first, kLong).value());
  CHECK(lab.queue.IsReady(mark).value());
}

TEST_CASE("DeviceQueue, CopiesKeepTheOrder", "[plugins]") {
  Lab lab;
  ManualTask a;
  std::string from = "0123456789", between(10, ' '), to(10, ' ');
  REQUIRE(lab.queue.Do(lab.first, a).ok());
  REQUIRE(lab.queue.Copy(lab.first, between.data(), from.data(), 10).ok());
  REQUIRE(lab.queue.Copy(lab.first, to.data(), between.data(), 10).ok());
  REQUIRE(lab.queue.Copy(lab.first, nullptr, nullptr, 0).ok());
  CHECK(between == "          ");
  from = "abcdefghij";  // read when its turn comes
  a.End();
  CHECK(lab.queue.Synchronize(lab.first, kLong).value());
  CHECK(to == "abcdefghij");
}

TEST_CASE("DeviceQueue, WorkThatCannotBeginIsAnErrorOfItsStream", "[plugins]") {
  Lab lab;
  ManualTask a, b;
  a.refuses = true;
  REQUIRE(lab.queue.Do(lab.first, a).ok());
  REQUIRE(lab.queue.Do(lab.first, b).ok());
  CHECK(lab.queue.Synchronize(lab.first, kLong).error().message == "no such luck");
  CHECK(b.begun == 0);
}

TEST_CASE("DeviceQueue, WhatHasBegunIsAskedToEndWhenItsStreamIsRevoked", "[plugins]") {
  Lab lab;
  ManualTask a;
  REQUIRE(lab.queue.Do(lab.first, a).ok());
  lab.queue.Revoke(lab.first);
  CHECK(a.cancelled == 1);
  a.End();
  CHECK(lab.queue.Synchronize(lab.first, kLong).value());  // being revoked is no error of the device
}

TEST_CASE("DeviceQueue, ALostDeviceTakesNothingAnyMore", "[plugins]") {
  Lab lab;
  ManualTask a, b, other, never;
  EventMark mark;
  REQUIRE(lab.queue.Do(lab.first, a).ok());
  REQUIRE(lab.queue.Do(lab.second, other).ok());
  REQUIRE(lab.queue.Do(lab.second, b).ok());
  lab.queue.Record(lab.second, mark);
  a.End(Fault(), true);
  CHECK(lab.queue.Synchronize(lab.first, kLong).error().id == "fake.lost");
  other.End();
  CHECK(lab.queue.Synchronize(lab.second, kLong).error().id == "fake.lost");
  CHECK(b.begun == 0);
  CHECK(lab.queue.IsReady(mark).error().id == "fake.lost");
  const Status refused = lab.queue.Do(lab.first, never);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().id == "fake.lost");
  CHECK(refused.error().device == "fake:0");
}

TEST_CASE("DeviceQueue, CopiesGoBetweenTheDeviceAndTheHostAlone", "[plugins]") {
  QueueDriver driver(DeviceId(1u), "fake", "fake:1");
  const auto stream = driver.MakeStream().value();
  char byte = 'x', other = 'y';
  CHECK(driver.EnqueueCopy(*stream, &byte, &other, 1, CopyDirection::kToDevice, DeviceId(2u)).error().id ==
        "fake.link");
}

}  // namespace pt::plugins::device_queue_test
