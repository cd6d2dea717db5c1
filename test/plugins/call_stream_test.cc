// Streams of a device whose runtime knows only calls that return when they are over.
#include "plugins/shared/call_stream.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <set>
#include <string>
#include <thread>

namespace pt::plugins {
namespace {

constexpr std::chrono::seconds kLong{30};

struct TestCall final : DeviceCall {
  explicit TestCall(std::function<Outcome()> what) : what(std::move(what)) {}
  Outcome Call() noexcept override { return what(); }
  void Cancel() noexcept override { cancelled = true; }

  std::function<Outcome()> what;
  std::atomic<bool> cancelled{false};
};

// A device with two streams.
struct Lab {
  CallDriver driver{DeviceId(1u), "fake", "fake:0", {}};
  std::unique_ptr<Stream> first = driver.MakeStream().value(), second = driver.MakeStream().value();

  static Status Enqueue(Stream& stream, DeviceCall& call) { return dynamic_cast<CallStream&>(stream).Enqueue(call); }
};

Error Fault() { return MakeError(ErrorCode::kRunFailed, "fake", "a fault"); }

TEST_CASE("CallStream, CallsOfAStreamAreMadeInOrderByOneThread", "[plugins]") {
  Lab lab;
  std::string order;
  std::set<std::thread::id> threads;
  const auto noting = [&](char letter) {
    return [&, letter] {
      order += letter;
      threads.insert(std::this_thread::get_id());
      return DeviceCall::Outcome();
    };
  };
  TestCall a(noting('a')), b(noting('b'));
  std::string copied(2, ' ');
  REQUIRE(Lab::Enqueue(*lab.first, a).ok());
  REQUIRE(Lab::Enqueue(*lab.first, b).ok());
  REQUIRE(lab.first->Synchronize(kLong).value());
  REQUIRE(
      lab.driver.EnqueueCopy(*lab.first, copied.data(), order.data(), 2, CopyDirection::kFromDevice, kHostDevice).ok());
  REQUIRE(Lab::Enqueue(*lab.first, a).ok());  // again
  REQUIRE(lab.first->Synchronize(kLong).value());
  CHECK(order == "aba");
  CHECK(copied == "ab");
  CHECK(threads.size() == 1);
  CHECK_FALSE(threads.contains(std::this_thread::get_id()));
}

// Each call waits for the other to have begun.
TEST_CASE("CallStream, StreamsOfADeviceGoOnSideBySide", "[plugins]") {
  Lab lab;
  std::atomic<int> begun{0};
  const auto meet = [&] {
    ++begun;
    while (begun < 2) std::this_thread::yield();
    return DeviceCall::Outcome();
  };
  TestCall a(meet), b(meet);
  REQUIRE(Lab::Enqueue(*lab.first, a).ok());
  REQUIRE(Lab::Enqueue(*lab.second, b).ok());
  CHECK(lab.first->Synchronize(kLong).value());
  CHECK(lab.second->Synchronize(kLong).value());
}

TEST_CASE("CallStream, AStreamWaitsForTheCallOfAnother", "[plugins]") {
  Lab lab;
  const auto event = lab.driver.MakeEvent().value();
  std::atomic<bool> may_end{false};
  std::atomic<int> seen{0};
  TestCall a([&] {
    while (!may_end) std::this_thread::yield();
    seen = 1;
    return DeviceCall::Outcome();
  });
  int before = -1;
  TestCall b([&] {
    before = seen;
    return DeviceCall::Outcome();
  });
  REQUIRE(Lab::Enqueue(*lab.first, a).ok());
  REQUIRE(lab.first->Record(*event).ok());
  REQUIRE(lab.second->Wait(*event).ok());
  REQUIRE(Lab::Enqueue(*lab.second, b).ok());
  CHECK_FALSE(event->Ready().value());
  may_end = true;
  REQUIRE(lab.second->Synchronize(kLong).value());
  CHECK(before == 1);
  CHECK(event->Ready().value());
}

TEST_CASE("CallStream, AFailedCallEndsWhatFollowsAndTheStreamIsUsableAgain", "[plugins]") {
  Lab lab;
  bool followed = false;
  TestCall fails([] { return DeviceCall::Outcome{Fault()}; });
  TestCall follows([&] {
    followed = true;
    return DeviceCall::Outcome();
  });
  // Held until both are in the list.
  std::atomic<bool> may_go{false};
  TestCall first([&] {
    while (!may_go) std::this_thread::yield();
    return DeviceCall::Outcome();
  });
  for (TestCall* call : {&first, &fails, &follows}) REQUIRE(Lab::Enqueue(*lab.first, *call).ok());
  may_go = true;
  CHECK(lab.first->Synchronize(kLong).error().message == "a fault");
  CHECK_FALSE(followed);
  REQUIRE(Lab::Enqueue(*lab.first, follows).ok());
  CHECK(lab.first->Synchronize(kLong).value());
  CHECK(followed);
}

TEST_CASE("CallStream, ADeviceThatACallLosesTakesNothingAnyMore", "[plugins]") {
  Lab lab;
  TestCall loses([] { return DeviceCall::Outcome{Fault(), true}; });
  REQUIRE(Lab::Enqueue(*lab.first, loses).ok());
  CHECK(lab.first->Synchronize(kLong).error().id == "fake.lost");
  const Status refused = Lab::Enqueue(*lab.second, loses);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().id == "fake.lost");
  CHECK(refused.error().device == "fake:0");
}

TEST_CASE("CallStream, ARevokedCallIsAskedToEnd", "[plugins]") {
  Lab lab;
  std::atomic<bool> begun{false};
  TestCall* self = nullptr;
  TestCall call([&] {
    begun = true;
    while (!self->cancelled) std::this_thread::yield();
    return DeviceCall::Outcome{Fault()};
  });
  self = &call;
  REQUIRE(Lab::Enqueue(*lab.first, call).ok());
  while (!begun) std::this_thread::yield();
  lab.first->Revoke();
  CHECK(lab.first->Synchronize(kLong).ok());
  CHECK(call.cancelled);
}

}  // namespace
}  // namespace pt::plugins
