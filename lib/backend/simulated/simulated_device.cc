#include <atomic>
#include <cmath>
#include <cstring>

#include "lib/backend/built_in.h"
#include "lib/backend/host/aligned_buffer.h"
#include "lib/backend/simulated/simulated_stream.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/platform/discover.h"

namespace pt {
namespace {

// Ready as soon as it is recorded: the work was done when it was enqueued, only its time is virtual.
class SimulatedEvent : public Event {
 public:
  Result<bool> Ready() override { return true; }
  Result<int64_t> ElapsedNs(const Event& since) const override {
    const auto* other = dynamic_cast<const SimulatedEvent*>(&since);
    if (other == nullptr) return MakeError(ErrorCode::kUsage, "simulated.event", "the event is of another device");
    return recorded_ns_ - other->recorded_ns_;
  }
  std::optional<int64_t> virtual_ns() const override { return recorded_ns_; }
  void Record(int64_t ns) { recorded_ns_ = ns; }

 private:
  int64_t recorded_ns_ = 0;
};

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

class SimulatedDriver : public DeviceDriver {
 public:
  SimulatedDriver(const Platform& platform, DeviceId id)
      : id_(id), name_(platform.device(id).name), memory_bytes_(platform.device(id).memory_bytes) {
    const LinkId to = FindLink(platform, kHostDevice, id);
    const LinkId from = FindLink(platform, id, kHostDevice);
    if (to.valid()) to_device_ = platform.link(to);
    if (from.valid()) from_device_ = platform.link(from);
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
    return std::unique_ptr<Stream>(std::make_unique<SimulatedStream>());
  }
  Result<std::unique_ptr<Event>> MakeEvent() override {
    return std::unique_ptr<Event>(std::make_unique<SimulatedEvent>());
  }

  Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                     DeviceId) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
    if (direction == CopyDirection::kWithin) return {};
    const Link& link = direction == CopyDirection::kToDevice ? to_device_ : from_device_;
    const double transfer = link.bytes_per_ns > 0 ? static_cast<double>(bytes) / link.bytes_per_ns : 0;
    static_cast<SimulatedStream&>(stream).Spend(link.latency_ns + std::llround(transfer));
    return {};
  }

 private:
  Error OutOfMemory(uint64_t bytes, uint64_t used) const {
    Error error =
        MakeError(ErrorCode::kOutOfMemory, "simulated.memory",
                  "device " + name_ + " has " + std::to_string(memory_bytes_) + " bytes, " + std::to_string(used) +
                      " are in use and " + std::to_string(bytes) + " more were asked for");
    error.device = name_;
    return error;
  }

  DeviceId id_;
  std::string name_;
  uint64_t memory_bytes_;
  Link to_device_, from_device_;
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
  return MakeSimulatedDriver(platform, id);
}

}  // namespace

Backend SimulatedBackend() {
  return {"simulated",
          {{"simulated", "devices described by platform files", false, AddDescribed, MakeDriver}},
          {{"simulated", "simulated devices: reference math, times from the platform", MakeSimulatedLibrary}}};
}

Status SimulatedStream::Record(Event& event) {
  static_cast<SimulatedEvent&>(event).Record(clock_ns_);
  return {};
}

Status SimulatedStream::Wait(Event& event) {
  clock_ns_ = std::max(clock_ns_, *static_cast<SimulatedEvent&>(event).virtual_ns());
  return {};
}

std::unique_ptr<DeviceDriver> MakeSimulatedDriver(const Platform& platform, DeviceId id) {
  return std::make_unique<SimulatedDriver>(platform, id);
}

}  // namespace pt
