#include <cstring>

#include "lib/backend/host/aligned_buffer.h"
#include "partitiontuner/backend/devices.h"

namespace pt {
namespace {

// Everything on the host is done when the call that asked for it returns.
class HostEvent : public Event {
 public:
  Result<bool> Ready() override { return true; }
};

class HostStream : public Stream {
 public:
  explicit HostStream(Team* team) : team_(team) {}
  Status Record(Event&) override { return {}; }
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

 private:
  uint32_t width_;
};

class HostDriver : public DeviceDriver {
 public:
  explicit HostDriver(DeviceId id) : id_(id) {}
  DeviceId id() const override { return id_; }

  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override { return MakeAlignedBuffer(bytes); }
  Result<std::unique_ptr<Stream>> MakeStream() override { return MakeHostStream(serial_); }
  Result<std::unique_ptr<Event>> MakeEvent() override { return std::unique_ptr<Event>(std::make_unique<HostEvent>()); }
  Status EnqueueCopy(Stream&, void* to, const void* from, uint64_t bytes, CopyDirection) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return {};
  }

 private:
  DeviceId id_;
  SerialTeam serial_{1};
};

}  // namespace

std::unique_ptr<DeviceDriver> MakeHostDriver(DeviceId id) { return std::make_unique<HostDriver>(id); }

std::unique_ptr<Team> MakeSerialTeam(uint32_t width) { return std::make_unique<SerialTeam>(width); }

std::unique_ptr<Stream> MakeHostStream(Team& team) { return std::make_unique<HostStream>(&team); }

}  // namespace pt
