// A device for executor tests whose streams are threads: enqueued work runs later, events become ready later. Its only
// order is the one it was told, without locks on the way from one stream to another, so that ThreadSanitizer sees a
// wait that is missing. test/devices holds it to the contract of backend/backend.h.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "partitiontuner/backend/backend.h"

namespace pt::testing {

struct FakeDeviceControl {
  std::atomic<bool> lose{false};   // the next piece of work takes the device with it, until this is reset
  std::atomic<bool> stall{false};  // nothing is worked on while set
  std::atomic<int> begun{0};       // pieces of work that streams have taken up, which nothing revokes
  std::atomic<bool> lost{false};   // set by the device
};

// control must outlive the driver.
std::unique_ptr<DeviceDriver> MakeFakeDriver(DeviceId id, FakeDeviceControl& control);

// Enqueues work to a stream of a fake device; nothing (false) where `stream` is another's. Errors: "fake.lost".
Result<bool> EnqueueOnFakeDevice(Stream& stream, std::function<Status()> work);

}  // namespace pt::testing
