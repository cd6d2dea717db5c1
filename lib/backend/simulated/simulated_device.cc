#include <atomic>
#include <map>
#include <utility>

#include "lib/backend/built_in.h"
#include "lib/backend/host/aligned_buffer.h"
#include "lib/backend/simulated/simulated_stream.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/platform/discover.h"

namespace pt {
namespace {

// Counts against the device's memory for as long as it lives.
class CountedBuffer : public DeviceBuffer {
 public:
  CountedBuffer(std::unique_ptr<DeviceBuffer> buffer, std::shared_ptr<std::atomic<uint64_t>> used)
      : buffer_(std::move(buffer)), used_(std::move(used)) {}
  ~CountedBuffer() override { used_->fetch_sub(buffer_->bytes()); }
  void* data() override { return buffer_->data(); }
  uint64_t bytes() const override { return buffer_->bytes(); }

 private:
  std::unique_ptr<DeviceBuffer> buffer_;
  std::shared_ptr<std::atomic<uint64_t>> used_;
};

SimulatedFaults FaultsOf(const Platform& platform, DeviceId id) {
  const auto rates = platform.simulated.find(id);
  return rates == platform.simulated.end() ? SimulatedFaults() : rates->second.faults;
}

class SimulatedDriver : public DeviceDriver {
 public:
  SimulatedDriver(const Platform& platform, DeviceId id, const SimulatedOptions& options)
      : id_(id),
        name_(platform.device(id).name),
        memory_bytes_(platform.device(id).memory_bytes),
        clock_(options.clock),
        calls_(options.calls),
        engine_(std::make_shared<SimulatedEngine>(name_, options.clock, FaultsOf(platform, id))) {
    for (const Link& link : platform.links) {
      if (link.from == id) links_[{link.to, CopyDirection::kFromDevice}] = link;
      if (link.to == id) links_[{link.from, CopyDirection::kToDevice}] = link;
    }
  }

  DeviceId id() const override { return id_; }

  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override {
    const uint64_t before = used_->fetch_add(bytes);
    const bool fits = memory_bytes_ == 0 || (before <= memory_bytes_ && bytes <= memory_bytes_ - before);
    Result<std::unique_ptr<DeviceBuffer>> buffer =
        fits ? MakeAlignedBuffer(bytes) : Result<std::unique_ptr<DeviceBuffer>>(OutOfMemory(bytes, before));
    if (!buffer.ok()) {
      used_->fetch_sub(bytes);
      return buffer;
    }
    return std::unique_ptr<DeviceBuffer>(new CountedBuffer(std::move(buffer).value(), used_));
  }

  Result<std::unique_ptr<DeviceBuffer>> AllocateHost(uint64_t bytes) override { return MakeAlignedBuffer(bytes); }

  Result<std::unique_ptr<Stream>> MakeStream() override {
    return std::unique_ptr<Stream>(std::make_unique<SimulatedStream>(engine_, streams_.fetch_add(1), calls_));
  }
  Result<std::unique_ptr<Event>> MakeEvent() override {
    return std::unique_ptr<Event>(std::make_unique<SimulatedEvent>(engine_));
  }

  Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                     DeviceId peer) override {
    SimulatedStream* simulated = AsSimulated(stream);
    if (simulated == nullptr || !simulated->is_of(*engine_)) {
      return MakeError(ErrorCode::kUsage, "simulated.other_device", "EnqueueCopy: the stream is of another device");
    }
    SimulatedWork copy;
    copy.to = to;
    copy.from = from;
    copy.bytes = bytes;
    if (direction != CopyDirection::kWithin) {
      const auto link = links_.find({peer, direction});
      if (link == links_.end()) return NoLink(peer);
      copy.ns = CopyNs(link->second, bytes);
    }
    return simulated->Enqueue(copy, direction == CopyDirection::kToDevice     ? "copy in"
                                    : direction == CopyDirection::kFromDevice ? "copy out"
                                                                              : "copy");
  }

  // Its memory is the host's behind its back, and so is that of every other simulated device it has a link with.
  bool CanReach(const DeviceDriver& other) const override {
    return dynamic_cast<const SimulatedDriver*>(&other) != nullptr &&
           (links_.contains({other.id(), CopyDirection::kToDevice}) ||
            links_.contains({other.id(), CopyDirection::kFromDevice}));
  }
  bool CanCapture() const override { return true; }
  bool HasVirtualClock() const override { return clock_ == SimulatedClock::kVirtual; }

 private:
  Error OutOfMemory(uint64_t bytes, uint64_t used) const {
    Error error =
        MakeError(ErrorCode::kOutOfMemory, "simulated.memory",
                  "device " + name_ + " has " + std::to_string(memory_bytes_) + " bytes, " + std::to_string(used) +
                      " are in use and " + std::to_string(bytes) + " more were asked for");
    error.device = name_;
    return error;
  }

  Error NoLink(DeviceId peer) const {
    Error error = MakeError(ErrorCode::kUsage, "simulated.link",
                            "device " + name_ + " has no such link with device " + std::to_string(peer.value));
    error.device = name_;
    return error;
  }

  DeviceId id_;
  std::string name_;
  uint64_t memory_bytes_;
  SimulatedClock clock_;
  SimulatedCalls* calls_;
  std::map<std::pair<DeviceId, CopyDirection>, Link> links_;  // by the device on the other side
  std::atomic<uint32_t> streams_{0};                          // made so far
  std::shared_ptr<SimulatedEngine> engine_;
  std::shared_ptr<std::atomic<uint64_t>> used_ = std::make_shared<std::atomic<uint64_t>>(0);
};

// There is nothing to find: all that exist were described.
Status AddDescribed(const DiscoverRequest& request, Platform& platform) {
  for (const DeviceDescription& described : request.described) {
    PT_CHECK_OK(AddSimulatedDevice(platform, described.json, described.what));
  }
  return {};
}

Result<std::unique_ptr<DeviceDriver>> MakeDriver(const Platform& platform, DeviceId id) {
  const auto rates = platform.simulated.find(id);
  const bool real = rates != platform.simulated.end() && rates->second.real_clock;
  return MakeSimulatedDriver(platform, id, {real ? SimulatedClock::kReal : SimulatedClock::kVirtual, nullptr});
}

}  // namespace

Backend SimulatedBackend() {
  return {"simulated",
          {{"simulated", "devices described by platform files", false, AddDescribed, MakeDriver}},
          {{"simulated", "simulated devices: reference math, times from the platform", MakeSimulatedLibrary}}};
}

void SimulatedCalls::Add(std::string call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
}

std::vector<std::string> SimulatedCalls::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(calls_, {});
}

std::unique_ptr<DeviceDriver> MakeSimulatedDriver(const Platform& platform, DeviceId id,
                                                  const SimulatedOptions& options) {
  return std::make_unique<SimulatedDriver>(platform, id, options);
}

}  // namespace pt
