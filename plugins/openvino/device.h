// A device of OpenVINO as the project's seam has it: memory that the host sees, streams, events, copies.
#pragma once

#include <memory>
#include <string>

#include "partitiontuner/backend/backend.h"
#include "plugins/openvino/queue.h"
#include "plugins/openvino/runtime.h"

namespace pt::openvino {

inline constexpr const char* kDeviceKind = "openvino";

class OvEvent final : public Event {
 public:
  explicit OvEvent(std::shared_ptr<DeviceQueue> queue) : queue_(std::move(queue)) {}
  ~OvEvent() override { queue_->Forget(mark_); }
  Result<bool> Ready() override { return queue_->IsReady(mark_); }
  Result<int64_t> ElapsedNs(const Event& since) const override;

 private:
  friend class OvStream;
  const std::shared_ptr<DeviceQueue> queue_;
  EventMark mark_;
};

class OvStream final : public Stream {
 public:
  explicit OvStream(std::shared_ptr<DeviceQueue> queue) : queue_(std::move(queue)), number_(queue_->AddStream()) {}
  ~OvStream() override { queue_->RemoveStream(number_); }

  Status Record(Event& event) override;
  Status Wait(Event& event) override;
  Result<bool> Synchronize(std::chrono::nanoseconds patience) override {
    return queue_->Synchronize(number_, patience);
  }
  void Revoke() override { queue_->Revoke(number_); }

  DeviceQueue& queue() const { return *queue_; }
  // The task stays valid until it is over.
  Status Do(DeviceTask& task) { return queue_->Do(number_, task); }
  Status Copy(void* to, const void* from, uint64_t bytes) { return queue_->Copy(number_, to, from, bytes); }

 private:
  const std::shared_ptr<DeviceQueue> queue_;
  const uint32_t number_;
};

// The stream of a device of OpenVINO, or null when it is another backend's.
inline OvStream* AsOpenVino(Stream& stream) { return dynamic_cast<OvStream*>(&stream); }

class OvDriver final : public DeviceDriver {
 public:
  // runtime: may be null, for memory of the host alone.
  OvDriver(DeviceId id, const std::string& name, std::shared_ptr<Runtime> runtime, std::string ov_device)
      : id_(id),
        runtime_(std::move(runtime)),
        ov_device_(std::move(ov_device)),
        queue_(std::make_shared<DeviceQueue>(name)) {}

  DeviceId id() const override { return id_; }
  // Memory that device and host share, from the device's context where it has one, else from the host.
  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override;
  Result<std::unique_ptr<DeviceBuffer>> AllocateHost(uint64_t bytes) override { return Allocate(bytes); }
  Result<std::unique_ptr<Stream>> MakeStream() override;
  Result<std::unique_ptr<Event>> MakeEvent() override;
  Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                     DeviceId peer) override;

 private:
  const DeviceId id_;
  const std::shared_ptr<Runtime> runtime_;
  const std::string ov_device_;
  const std::shared_ptr<DeviceQueue> queue_;
};

}  // namespace pt::openvino
