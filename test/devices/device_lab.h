// The drivers that test/devices holds to the contract of backend/backend.h: one adapter each (DeviceLab), one row each
// (DeviceLabs). What a driver cannot do its row says; cases that need it skip the row.
#pragma once

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::testing {

inline constexpr std::chrono::hours kLong{1};  // machines are stopped now and then

// One device and what a test must be able to do to it.
class DeviceLab {
 public:
  // lost_after: pieces of work that begin before one is not done and takes the device with it; 0: it is never lost.
  explicit DeviceLab(uint64_t lost_after) : lost_after_(lost_after) {}
  virtual ~DeviceLab() = default;
  virtual DeviceDriver& driver() = 0;
  // Enqueues work that calls `body` when it begins and ends with its status. `body` lives as long as the lab.
  virtual void Enqueue(Stream& stream, std::function<Status()> body) = 0;

  std::unique_ptr<Stream> MakeStream() { return driver().MakeStream().value(); }
  std::unique_ptr<Event> MakeEvent() { return driver().MakeEvent().value(); }
  // Enqueues work that counts.
  void Count(Stream& stream, std::atomic<int>& count) {
    Enqueue(stream, [&count] { return ++count, Status(); });
  }

 protected:
  // Of a piece of work that begins: the device is lost instead.
  bool IsLostNow() { return lost_after_ > 0 && ++begun_ > lost_after_; }

 private:
  const uint64_t lost_after_;
  std::atomic<uint64_t> begun_{0};
};

struct DeviceRow {
  std::string_view name;
  std::unique_ptr<DeviceLab> (*make)(uint64_t lost_after);
  // Work goes on while nobody asks for it, so that a test can hold it. A device on a virtual clock lives on the thread
  // that asks.
  bool works_by_itself = true;
  // Work that fails is an error of its stream; else the device is lost with it.
  bool outlives_errors = true;
};

template <typename Lab>
std::unique_ptr<DeviceLab> MakeLab(uint64_t lost_after) {
  return std::make_unique<Lab>(lost_after);
}

const std::vector<DeviceRow>& DeviceLabs();

// Work that has begun and does not end before it is let go.
class Gate {
 public:
  void Close(DeviceLab& lab, Stream& stream) {
    lab.Enqueue(stream, [this] {
      begun_ = true;
      while (!open_) std::this_thread::yield();
      return Status();
    });
    while (!begun_) std::this_thread::yield();
  }
  void Open() { open_ = true; }
  ~Gate() { Open(); }

 private:
  std::atomic<bool> begun_{false}, open_{false};
};

inline void Finish(Stream& stream) {
  const Result<bool> idle = stream.Synchronize(kLong);
  if (!idle.ok()) FAIL(ToString(idle.error()));
  REQUIRE(*idle);
}

}  // namespace pt::testing
