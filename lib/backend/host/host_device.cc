#include <chrono>
#include <cstring>
#include <string>

#include "lib/backend/built_in.h"
#include "lib/backend/host/aligned_buffer.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/platform/discover.h"

namespace pt {
namespace {

// Everything on the host is done when the call that asked for it returns.
class HostEvent : public Event {
 public:
  Result<bool> Ready() override { return true; }
  Result<int64_t> ElapsedNs(const Event& since) const override {
    const auto* other = dynamic_cast<const HostEvent*>(&since);
    if (other == nullptr) return OtherDevice("ElapsedNs");
    return std::chrono::duration_cast<std::chrono::nanoseconds>(recorded_ - other->recorded_).count();
  }
  void Record() { recorded_ = std::chrono::steady_clock::now(); }

  static Error OtherDevice(const char* call) {
    return MakeError(ErrorCode::kUsage, "host.event", std::string(call) + ": the event is of another device");
  }

 private:
  std::chrono::steady_clock::time_point recorded_;
};

class HostStream : public Stream {
 public:
  explicit HostStream(Team* team) : team_(team) {}
  Status Record(Event& event) override {
    auto* mine = dynamic_cast<HostEvent*>(&event);
    if (mine == nullptr) return HostEvent::OtherDevice("Record");
    mine->Record();
    return {};
  }
  Status Wait(Event& event) override {
    if (dynamic_cast<HostEvent*>(&event) == nullptr) return HostEvent::OtherDevice("Wait");
    return {};
  }
  Result<bool> Synchronize(std::chrono::nanoseconds) override { return true; }
  void Revoke() override {}
  Team* team() override { return team_; }

 private:
  Team* team_;
};

class SerialTeam : public Team {
 public:
  explicit SerialTeam(uint32_t width) : width_(width) {}
  uint32_t width() const override { return width_; }
  void ParallelFor(uint32_t n, ParallelBody body) override {
    for (uint32_t i = 0; i < n; ++i) body(i, n);
  }
  void OnEveryCore(ParallelBody body) override { ParallelFor(width_, body); }

 private:
  uint32_t width_;
};

class HostDriver : public DeviceDriver {
 public:
  explicit HostDriver(DeviceId id) : id_(id) {}
  DeviceId id() const override { return id_; }

  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override { return MakeAlignedBuffer(bytes); }
  void PlaceNear(DeviceBuffer& buffer, uint64_t offset, uint64_t bytes, uint32_t node) override {
    PlaceOnNode(buffer, offset, bytes, node);
  }
  Result<std::unique_ptr<Stream>> MakeStream() override { return MakeHostStream(serial_); }
  Result<std::unique_ptr<Event>> MakeEvent() override { return std::unique_ptr<Event>(std::make_unique<HostEvent>()); }
  Result<std::unique_ptr<DeviceBuffer>> AllocateHost(uint64_t bytes) override { return MakeAlignedBuffer(bytes); }
  Status EnqueueCopy(Stream&, void* to, const void* from, uint64_t bytes, CopyDirection, DeviceId) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return {};
  }

 private:
  DeviceId id_;
  SerialTeam serial_{1};
};

Status FindHost(const DiscoverRequest& request, Platform& platform) {
  if (!request.described.empty()) {
    return MakeError(ErrorCode::kInvalidInput, "platform.host",
                     request.described[0].what + ": the host is found, not described",
                     "a file of a whole machine (--print-platform writes one) may hold another host");
  }
  PT_ASSIGN(platform, DiscoverHost({request.max_cores}));
  return {};
}

Result<std::unique_ptr<DeviceDriver>> MakeDriver(const Platform&, DeviceId id) { return MakeHostDriver(id); }

}  // namespace

Backend HostBackend() {
  return {"host", {{"cpu", "the cores and the memory of this machine", true, FindHost, MakeDriver}}, {}};
}

std::unique_ptr<DeviceDriver> MakeHostDriver(DeviceId id) { return std::make_unique<HostDriver>(id); }

std::unique_ptr<Team> MakeSerialTeam(uint32_t width) { return std::make_unique<SerialTeam>(width); }

std::unique_ptr<Stream> MakeHostStream(Team& team) { return std::make_unique<HostStream>(&team); }

}  // namespace pt
