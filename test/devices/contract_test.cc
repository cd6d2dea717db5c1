// What every driver promises of its streams and events (backend/backend.h), each promise by a case of its own.
#include <cstring>
#include <numeric>

#include "test/devices/device_lab.h"

namespace pt::testing::contract_test {
namespace {

// One row of the table, by a device that is made anew for each case.
struct Scene {
  // For cases that hold work: says so of rows that cannot.
  void NeedsHeldWork() const {
    if (!row.works_by_itself) SKIP(row.name << " does nothing by itself: its work cannot be held");
  }

  // For cases with work that fails.
  void NeedsErrorsOfWork() const {
    if (!row.outlives_errors) SKIP(row.name << " is lost with the first piece of work that fails");
  }
  // For cases that record work.
  void NeedsCaptures() const {
    if (!lab->driver().CanCapture()) SKIP(row.name << " does not capture");
  }

  explicit Scene(uint64_t lost_after = 0) : lab(row.make(lost_after)) {}
  const DeviceRow row = GENERATE(from_range(DeviceLabs()));
  const std::unique_ptr<DeviceLab> lab;
  const std::unique_ptr<Stream> first = lab->MakeStream(), second = lab->MakeStream();
  const std::unique_ptr<Event> event = lab->MakeEvent(), later = lab->MakeEvent();
};

Status Fault() { return MakeError(ErrorCode::kRunFailed, "test.fail", "told to fail"); }

}  // namespace

TEST_CASE("DeviceMemory, IsAlignedAndOfTheSizeAskedFor", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  for (const uint64_t bytes : {0, 1, 63, 64, 65, 100'000}) {
    const auto there = scene.lab->driver().Allocate(bytes), here = scene.lab->driver().AllocateHost(bytes);
    REQUIRE((there.ok() && here.ok()));
    for (DeviceBuffer* buffer : {there->get(), here->get()}) {
      CHECK(buffer->bytes() == bytes);
      CHECK(reinterpret_cast<uintptr_t>(buffer->data()) % 64 == 0);
      if (bytes > 0) CHECK(buffer->data() != nullptr);
    }
  }
}

TEST_CASE("DeviceCopies, OfAnySizeKeepTheOrderOfTheirStream", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  DeviceDriver& driver = scene.lab->driver();
  for (const uint64_t bytes : {0, 1, 63, 64, 65, 100'000}) {
    const auto from = driver.AllocateHost(bytes).value(), to = driver.AllocateHost(bytes).value();
    const auto there = driver.Allocate(bytes).value(), beside = driver.Allocate(bytes).value();
    auto* const data = static_cast<uint8_t*>(from->data());
    std::iota(data, data + bytes, static_cast<uint8_t>(bytes));
    REQUIRE(driver.EnqueueCopy(*scene.first, there->data(), data, bytes, CopyDirection::kToDevice).ok());
    REQUIRE(driver.EnqueueCopy(*scene.first, beside->data(), there->data(), bytes, CopyDirection::kWithin).ok());
    REQUIRE(driver.EnqueueCopy(*scene.first, to->data(), beside->data(), bytes, CopyDirection::kFromDevice).ok());
    Finish(*scene.first);
    CHECK((bytes == 0 || std::memcmp(to->data(), data, bytes) == 0));
  }
}

TEST_CASE("DeviceStreams, WorkStartsWhenTheWorkBeforeItIsOver", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  scene.NeedsHeldWork();
  std::atomic<int> ran{0};
  Gate gate;
  gate.Close(*scene.lab, *scene.first);
  scene.lab->Count(*scene.first, ran);
  REQUIRE(scene.first->Record(*scene.event).ok());
  CHECK_FALSE(scene.event->Ready().value());
  CHECK_FALSE(scene.first->Synchronize(std::chrono::milliseconds(1)).value());
  CHECK(ran == 0);
  gate.Open();
  Finish(*scene.first);
  CHECK(ran == 1);
  CHECK(scene.event->Ready().value());
}

TEST_CASE("DeviceWaits, AStreamWaitsForAnEventOfAnother", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  std::atomic<int> made{0}, seen{-1};
  scene.lab->Count(*scene.first, made);
  REQUIRE(scene.first->Record(*scene.event).ok());
  REQUIRE(scene.second->Wait(*scene.event).ok());
  scene.lab->Enqueue(*scene.second, [&] { return seen = made.load(), Status(); });
  Finish(*scene.second);  // the stream that waits is asked first
  CHECK(seen == 1);
  CHECK(scene.event->Ready().value());
  Finish(*scene.first);
}

TEST_CASE("DeviceWaits, AnEventThatWasNeverRecordedIsNoWait", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  std::atomic<int> ran{0};
  REQUIRE(scene.first->Wait(*scene.event).ok());
  scene.lab->Count(*scene.first, ran);
  Finish(*scene.first);
  CHECK(ran == 1);
}

TEST_CASE("DeviceEvents, ElapsedIsTheTimeBetweenPointsThatWereReached", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  std::atomic<int> ran{0};
  REQUIRE(scene.first->Record(*scene.event).ok());
  scene.lab->Count(*scene.first, ran);
  REQUIRE(scene.first->Record(*scene.later).ok());
  Finish(*scene.first);
  const int64_t ns = scene.later->ElapsedNs(*scene.event).value();
  CHECK(ns >= 0);
  CHECK(scene.event->ElapsedNs(*scene.later).value() == -ns);
}

TEST_CASE("DeviceEvents, ElapsedOfAPointNotReachedIsAnErrorOfUse", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  scene.NeedsHeldWork();
  Gate gate;
  REQUIRE(scene.first->Record(*scene.event).ok());
  gate.Close(*scene.lab, *scene.first);
  REQUIRE(scene.first->Record(*scene.later).ok());
  const Result<int64_t> ns = scene.later->ElapsedNs(*scene.event);
  REQUIRE_FALSE(ns.ok());
  CHECK(ns.error().code == ErrorCode::kUsage);
  gate.Open();
  Finish(*scene.first);
}

TEST_CASE("DeviceErrors, ReachAllThatWaitForThemAndNothingElse", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  scene.NeedsErrorsOfWork();
  const auto apart = scene.lab->MakeStream();
  std::atomic<int> behind{0}, beside{0};
  scene.lab->Enqueue(*scene.first, Fault);
  scene.lab->Count(*scene.first, behind);
  REQUIRE(scene.first->Record(*scene.event).ok());
  REQUIRE(scene.second->Wait(*scene.event).ok());
  scene.lab->Count(*scene.second, behind);
  REQUIRE(scene.second->Record(*scene.later).ok());
  scene.lab->Count(*apart, beside);
  for (Stream* failed : {scene.first.get(), scene.second.get()}) {
    const Result<bool> idle = failed->Synchronize(kLong);
    REQUIRE_FALSE(idle.ok());
    CHECK(idle.error().id == "test.fail");
  }
  CHECK(scene.event->Ready().error().id == "test.fail");
  CHECK(scene.later->Ready().error().id == "test.fail");
  Finish(*apart);
  CHECK(behind == 0);
  CHECK(beside == 1);
}

TEST_CASE("DeviceErrors, AreToldOnceAndTheStreamIsUsableAgain", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  scene.NeedsErrorsOfWork();
  std::atomic<int> ran{0};
  scene.lab->Enqueue(*scene.first, Fault);
  CHECK_FALSE(scene.first->Synchronize(kLong).ok());
  Finish(*scene.first);
  scene.lab->Count(*scene.first, ran);
  Finish(*scene.first);
  CHECK(ran == 1);
}

TEST_CASE("DeviceRevocation, WorkThatHasNotBegunNeverRunsAndTheStreamsGoOn", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  scene.NeedsHeldWork();
  std::atomic<int> ran{0};
  Gate gate;
  gate.Close(*scene.lab, *scene.first);
  scene.lab->Count(*scene.first, ran);
  REQUIRE(scene.first->Record(*scene.event).ok());
  REQUIRE(scene.second->Wait(*scene.event).ok());
  scene.lab->Count(*scene.second, ran);
  scene.first->Revoke();
  CHECK_FALSE(scene.first->Synchronize(std::chrono::milliseconds(1)).value());  // what has begun goes on
  gate.Open();
  Finish(*scene.first);
  const Result<bool> ready = scene.event->Ready();
  REQUIRE_FALSE(ready.ok());
  CHECK(ready.error().id == "stream.revoked");
  Finish(*scene.second);
  CHECK(ran == 0);
  for (Stream* stream : {scene.first.get(), scene.second.get()}) {
    stream->Revoke();  // of nothing
    scene.lab->Count(*stream, ran);
    Finish(*stream);
  }
  CHECK(ran == 2);
}

TEST_CASE("DeviceDrivers, StreamsAndEventsOfAnotherDeviceAreErrorsOfUse", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  const auto other = scene.row.make(0);
  const auto event = other->MakeEvent();
  char to = ' ', from = 'x';
  CHECK(scene.lab->driver().CanWaitFor(scene.lab->driver()));
  std::vector<Status> refused = {scene.first->Record(*event), Status(scene.event->ElapsedNs(*event).error()),
                                 other->driver().EnqueueCopy(*scene.first, &to, &from, 1, CopyDirection::kToDevice)};
  if (!scene.lab->driver().CanWaitFor(other->driver())) refused.push_back(scene.first->Wait(*event));
  for (const Status& status : refused) {
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ErrorCode::kUsage);
  }
}

TEST_CASE("DeviceLoss, AllThatAreGivenOrWaitForWorkHearOfItAndOtherDevicesGoOn", "[devices]") {
  const Scene scene(/*lost_after=*/1);
  INFO(scene.row.name);
  const auto other = scene.row.make(0);
  const auto others_stream = other->MakeStream();
  std::atomic<int> ran{0}, beside{0};
  const auto tells_of_loss = [](const Error& error) {
    INFO(error.id << ": " << error.message);
    CHECK(error.code == ErrorCode::kRunFailed);
    CHECK(error.id.ends_with(".lost"));
    CHECK_FALSE(error.device.empty());
  };
  scene.lab->Count(*scene.first, ran);
  Finish(*scene.first);
  scene.lab->Count(*scene.first, ran);  // takes the device with it
  const Status recorded = scene.first->Record(*scene.event);
  if (!recorded.ok()) tells_of_loss(recorded.error());  // the device may be gone by now
  const Result<bool> idle = scene.first->Synchronize(kLong);
  REQUIRE_FALSE(idle.ok());
  tells_of_loss(idle.error());
  CHECK(ran == 1);
  if (recorded.ok()) {
    const Result<bool> ready = scene.event->Ready();
    REQUIRE_FALSE(ready.ok());
    tells_of_loss(ready.error());
  }
  char to[64] = {}, from[64] = {};
  for (Stream* stream : {scene.first.get(), scene.second.get()}) {
    const Status refused = scene.lab->driver().EnqueueCopy(*stream, to, from, sizeof(to), CopyDirection::kFromDevice);
    REQUIRE_FALSE(refused.ok());
    tells_of_loss(refused.error());
    stream->Revoke();  // of nothing
  }
  other->Count(*others_stream, beside);
  Finish(*others_stream);
  CHECK(beside == 1);
}

// By two streams that come together again.
TEST_CASE("DeviceCaptures, ARecordingRunsAtEachLaunchAndNeverBefore", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  scene.NeedsCaptures();
  std::atomic<int> forked{0}, joined{0}, out_of_order{0};
  REQUIRE(scene.first->BeginCapture().ok());
  scene.lab->Count(*scene.first, forked);
  REQUIRE(scene.first->Record(*scene.event).ok());
  REQUIRE(scene.second->Wait(*scene.event).ok());
  scene.lab->Enqueue(*scene.second, [&] {
    out_of_order += forked.load() == joined.load() + 1 ? 0 : 1;
    return ++joined, Status();
  });
  REQUIRE(scene.second->Record(*scene.later).ok());
  REQUIRE(scene.first->Wait(*scene.later).ok());
  const auto recording = scene.first->EndCapture();
  REQUIRE(recording.ok());
  Finish(*scene.first);
  CHECK(forked == 0);
  for (int launch = 1; launch <= 3; ++launch) {
    REQUIRE((*recording)->Launch(*scene.first).ok());
    Finish(*scene.first);
    CHECK(forked == launch);
    CHECK(joined == launch);
    CHECK(scene.later->Ready().value());
  }
  CHECK(out_of_order == 0);
}

TEST_CASE("DeviceCaptures, AnErrorEndsTheCaptureAndTheStreamsAreUsableAgain", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  scene.NeedsCaptures();
  std::atomic<int> ran{0};
  CHECK_FALSE(scene.first->EndCapture().ok());  // of nothing
  REQUIRE(scene.first->BeginCapture().ok());
  CHECK_FALSE(scene.first->BeginCapture().ok());
  REQUIRE(scene.first->Record(*scene.event).ok());
  REQUIRE(scene.second->Wait(*scene.event).ok());
  scene.lab->Count(*scene.second, ran);
  CHECK_FALSE(scene.first->EndCapture().ok());  // the second stream has not come back
  for (Stream* stream : {scene.first.get(), scene.second.get()}) {
    scene.lab->Count(*stream, ran);
    Finish(*stream);
  }
  CHECK(ran == 2);
}

TEST_CASE("DeviceCaptures, AreUnsupportedWhereTheDriverCannot", "[devices]") {
  const Scene scene;
  INFO(scene.row.name);
  if (scene.lab->driver().CanCapture()) SKIP(scene.row.name << " captures");
  CHECK(scene.first->BeginCapture().error().code == ErrorCode::kUnsupported);
  CHECK(scene.first->EndCapture().error().code == ErrorCode::kUnsupported);
}

}  // namespace pt::testing::contract_test
