// An asynchronous device for tests whose memory no host can reach: what it hands out as addresses ends whoever follows
// them. It works when somebody asks an event or a stream how far it is, and its clock counts only its work, so that
// every time is exact.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "partitiontuner/backend/backend.h"

namespace pt::testing {

struct RemoteControl {
  int64_t copy_ns = 1'000;        // each copy, besides a nanosecond for every 16 bytes
  int64_t wait_ns = 0;            // from an event of another stream to the work that waits for it
  std::atomic<bool> lost{false};  // every event reports an error
  std::atomic<int> copies_in{0}, copies_out{0}, copies_within{0}, launches{0}, pinned{0};
  std::atomic<int64_t> live_bytes{0}, most_bytes{0};  // of device memory
};

// The control must outlive the driver.
std::unique_ptr<DeviceDriver> MakeRemoteDriver(DeviceId id, RemoteControl& control);

// For kernels of that device: queues work that takes so long.
Status LaunchOnRemote(Stream& stream, int64_t ns, std::function<void()> work);
// What lies at such an address, for the work of kernels only.
void* InRemoteMemory(void* address);

}  // namespace pt::testing
