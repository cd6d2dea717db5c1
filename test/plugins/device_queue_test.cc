// The order of work on a device without streams of its own, with tasks that a test ends by hand.
#include "plugins/shared/device_queue.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>
#include <vector>

#include "plugins/shared/queue_device.h"

namespace pt::plugins {
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

TEST_CASE("DeviceQueue, WorkOfAStreamBeginsWhenTheWorkBeforeItIsOver", "[plugins]") {
  Lab lab;
  ManualTask a, b;
  EventMark mark;
  REQUIRE(lab.queue.Do(lab.first, a).ok());
  REQUIRE(lab.queue.Do(lab.first, b).ok());
  lab.queue.Record(lab.first, mark);
  CHECK(a.begun == 1);
  CHECK(b.begun == 0);
  CHECK_FALSE(lab.queue.IsReady(mark).value());
  CHECK_FALSE(lab.queue.Synchronize(lab.first, kNone).value());
  a.End();
  b.AwaitBegun(1);
  CHECK_FALSE(lab.queue.IsReady(mark).value());
  b.End();
  CHECK(lab.queue.Synchronize(lab.first, kLong).value());
  CHECK(lab.queue.IsReady(mark).value());
}

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

TEST_CASE("DeviceQueue, AnErrorReachesAllThatWaitForItAndNothingElse", "[plugins]") {
  Lab lab;
  ManualTask a, behind, waiting, other;
  EventMark mark;
  const uint32_t third = lab.queue.AddStream();
  REQUIRE(lab.queue.Do(lab.first, a).ok());
  REQUIRE(lab.queue.Do(lab.first, behind).ok());
  lab.queue.Record(lab.first, mark);
  lab.queue.Wait(lab.second, mark);
  REQUIRE(lab.queue.Do(lab.second, waiting).ok());
  REQUIRE(lab.queue.Do(third, other).ok());
  a.End(Fault());
  CHECK(lab.queue.Synchronize(lab.second, kLong).error().message == "a fault");
  CHECK(behind.begun == 0);
  CHECK(waiting.begun == 0);
  const Result<bool> ready = lab.queue.IsReady(mark);
  REQUIRE_FALSE(ready.ok());
  CHECK(ready.error().message == "a fault");
  CHECK(lab.queue.Synchronize(lab.first, kLong).error().message == "a fault");
  for (const uint32_t stream : {lab.first, lab.second}) {
    CHECK(lab.queue.Synchronize(stream, kLong).value());  // usable again
    ManualTask next;
    REQUIRE(lab.queue.Do(stream, next).ok());
    next.AwaitBegun(1);
    next.End();
    CHECK(lab.queue.Synchronize(stream, kLong).value());
  }
  other.End();
  CHECK(lab.queue.Synchronize(third, kLong).value());
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

TEST_CASE("DeviceQueue, RevokedWorkNeverBeginsAndWhatHasBegunIsAskedToEnd", "[plugins]") {
  Lab lab;
  ManualTask a, b;
  EventMark mark;
  REQUIRE(lab.queue.Do(lab.first, a).ok());
  REQUIRE(lab.queue.Do(lab.first, b).ok());
  lab.queue.Record(lab.first, mark);
  lab.queue.Revoke(lab.first);
  CHECK(a.cancelled == 1);
  CHECK_FALSE(lab.queue.Synchronize(lab.first, kNone).value());
  a.End();
  CHECK(lab.queue.Synchronize(lab.first, kLong).value());  // being revoked is no error of the device
  CHECK(b.begun == 0);
  CHECK(lab.queue.IsReady(mark).error().id == "stream.revoked");
  lab.queue.Revoke(lab.first);  // of nothing
  ManualTask next;
  REQUIRE(lab.queue.Do(lab.first, next).ok());
  next.AwaitBegun(1);
  next.End();
  CHECK(lab.queue.Synchronize(lab.first, kLong).value());
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

TEST_CASE("DeviceQueue, OfOtherDevicesNothingIsTaken", "[plugins]") {
  QueueDriver one(DeviceId(1u), "fake", "fake:1"), two(DeviceId(2u), "fake", "fake:2");
  const auto stream = one.MakeStream().value();
  const auto mine = one.MakeEvent().value(), event = two.MakeEvent().value();
  char byte = 'x', other = 'y';
  CHECK(stream->Record(*event).error().id == "fake.other_device");
  CHECK(stream->Wait(*event).error().id == "fake.other_device");
  CHECK(mine->ElapsedNs(*event).error().id == "fake.other_device");
  CHECK(two.EnqueueCopy(*stream, &byte, &other, 1, CopyDirection::kToDevice, kHostDevice).error().id ==
        "fake.other_device");
  CHECK(one.EnqueueCopy(*stream, &byte, &other, 1, CopyDirection::kToDevice, DeviceId(2u)).error().id == "fake.link");
  REQUIRE(one.EnqueueCopy(*stream, &byte, &other, 1, CopyDirection::kToDevice, kHostDevice).ok());
  CHECK(stream->Synchronize(kLong).value());
  CHECK(byte == 'y');
}

}  // namespace pt::plugins
