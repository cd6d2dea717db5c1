// A device whose runtime has no streams, as the project's seam has it: streams, events, copies and memory of the host
// over a DeviceQueue.
#pragma once

#include <memory>
#include <string>

#include "partitiontuner/backend/backend.h"
#include "plugins/shared/device_queue.h"

namespace pt::plugins {

class QueueEvent final : public Event {
 public:
  explicit QueueEvent(std::shared_ptr<DeviceQueue> queue) : queue_(std::move(queue)) {}
  ~QueueEvent() override { queue_->Forget(mark_); }
  Result<bool> Ready() override { return queue_->IsReady(mark_); }
  Result<int64_t> ElapsedNs(const Event& since) const override;

 private:
  friend class QueueStream;
  const std::shared_ptr<DeviceQueue> queue_;
  EventMark mark_;
};

class QueueStream : public Stream {
 public:
  explicit QueueStream(std::shared_ptr<DeviceQueue> queue) : queue_(std::move(queue)), number_(queue_->AddStream()) {}
  ~QueueStream() override { queue_->RemoveStream(number_); }
  QueueStream(const QueueStream&) = delete;
  QueueStream& operator=(const QueueStream&) = delete;

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

// Thread-safe. Allocates memory of the host; whoever has better overrides that.
class QueueDriver : public DeviceDriver {
 public:
  // backend, device: as DeviceQueue has them.
  QueueDriver(DeviceId id, std::string backend, std::string device)
      : id_(id), queue_(std::make_shared<DeviceQueue>(std::move(backend), std::move(device))) {}

  DeviceId id() const override { return id_; }
  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override;
  Result<std::unique_ptr<DeviceBuffer>> AllocateHost(uint64_t bytes) override { return Allocate(bytes); }
  Result<std::unique_ptr<Stream>> MakeStream() override;
  Result<std::unique_ptr<Event>> MakeEvent() override;
  Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                     DeviceId peer) override;

 protected:
  const std::shared_ptr<DeviceQueue>& queue() const { return queue_; }

 private:
  const DeviceId id_;
  const std::shared_ptr<DeviceQueue> queue_;
};

}  // namespace pt::plugins
