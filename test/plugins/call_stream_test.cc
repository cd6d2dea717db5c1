// Streams of a device whose runtime knows only calls that return when they are over.
#include "plugins/shared/call_stream.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <set>
#include <string>
#include <thread>

namespace pt::plugins::call_stream_test {
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
}  // namespace pt::plugins::call_stream_test
