// Drivers of the built-in devices, and what is needed to run kernels outside a session.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt {

// The host: 64-byte aligned memory; copies run at once on the calling core.
std::unique_ptr<DeviceDriver> MakeHostDriver(DeviceId id);

enum class SimulatedClock : uint8_t {
  kVirtual,  // jumps from one end of work to the next; nothing is waited for
  kReal,     // the wall clock: a thread of the device works, and takes the file's time for it
};

// The calls that a simulated device's streams received, in their order: "stream 0: kernel", "stream 1: wait for stream
// 0", "stream 0: launch". Streams are numbered as they were made. Thread-safe.
class SimulatedCalls {
 public:
  void Add(std::string call);
  std::vector<std::string> Take();  // and forgets them

 private:
  std::mutex mutex_;
  std::vector<std::string> calls_;
};

// How a simulated device passes its time.
struct SimulatedOptions {
  SimulatedClock clock = SimulatedClock::kVirtual;
  SimulatedCalls* calls = nullptr;  // outlives the driver
};

// A simulated device of the platform: host memory behind its back, and the arithmetic of the CPU. On the virtual clock
// it computes when it is asked for its events; on the real one a thread of its own computes, and work takes the file's
// time (longer where the arithmetic does). Kernels that run at once share the device by their demand; copies cost what
// the link of their direction says.
std::unique_ptr<DeviceDriver> MakeSimulatedDriver(const Platform& platform, DeviceId id,
                                                  const SimulatedOptions& options = {});

// A team of that width that runs every body on the calling core, one index after the other: for compiling,
// for tests and for evaluating constants.
std::unique_ptr<Team> MakeSerialTeam(uint32_t width = 1);

// The host's stream on that team (borrowed).
std::unique_ptr<Stream> MakeHostStream(Team& team);

// For kernels on their own whose outputs are all static: asking for storage of an output is an error, temporary memory
// comes from the heap, nothing stops them.
RunContext StaticRun(Stream& stream);

// Slots of views that the caller keeps in place for as long as the bound kernel lives.
std::vector<const TensorView*> SlotsOf(std::span<const TensorView> views);

}  // namespace pt
