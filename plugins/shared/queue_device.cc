#include "plugins/shared/queue_device.h"

#include "partitiontuner/support/aligned_bytes.h"

namespace pt::plugins {
namespace {

class HostMemory final : public DeviceBuffer {
 public:
  explicit HostMemory(AlignedBytes memory) : memory_(std::move(memory)) {}
  void* data() override { return memory_.bytes.data(); }
  uint64_t bytes() const override { return memory_.bytes.size(); }

 private:
  AlignedBytes memory_;
};

Error OtherDevice(const DeviceQueue& queue, const char* call, const char* what) {
  return MakeError(ErrorCode::kUsage, queue.backend() + ".other_device",
                   std::string(call) + ": the " + what + " is of another device");
}

}  // namespace

Result<int64_t> QueueEvent::ElapsedNs(const Event& since) const {
  const auto* other = dynamic_cast<const QueueEvent*>(&since);
  if (other == nullptr || other->queue_ != queue_) return OtherDevice(*queue_, "ElapsedNs", "event");
  const auto begin = queue_->ReachedAt(other->mark_), end = queue_->ReachedAt(mark_);
  if (begin && end) return std::chrono::duration_cast<std::chrono::nanoseconds>(*end - *begin).count();
  return MakeError(ErrorCode::kUsage, queue_->backend() + ".not_ready", "ElapsedNs: an event is not ready yet");
}

Status QueueStream::Record(Event& event) {
  auto* mine = dynamic_cast<QueueEvent*>(&event);
  if (mine == nullptr || mine->queue_ != queue_) return OtherDevice(*queue_, "Record", "event");
  queue_->Record(number_, mine->mark_);
  return {};
}

Status QueueStream::Wait(Event& event) {
  auto* mine = dynamic_cast<QueueEvent*>(&event);
  if (mine == nullptr || mine->queue_ != queue_) return OtherDevice(*queue_, "Wait", "event");
  queue_->Wait(number_, mine->mark_);
  return {};
}

Result<std::unique_ptr<DeviceBuffer>> QueueDriver::Allocate(uint64_t bytes) {
  PT_ASSIGN(AlignedBytes memory, AllocateAligned(bytes));
  return std::unique_ptr<DeviceBuffer>(std::make_unique<HostMemory>(std::move(memory)));
}

Result<std::unique_ptr<Stream>> QueueDriver::MakeStream() {
  return std::unique_ptr<Stream>(std::make_unique<QueueStream>(queue_));
}

Result<std::unique_ptr<Event>> QueueDriver::MakeEvent() {
  return std::unique_ptr<Event>(std::make_unique<QueueEvent>(queue_));
}

Status QueueDriver::EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                                DeviceId peer) {
  auto* const mine = dynamic_cast<QueueStream*>(&stream);
  if (mine == nullptr || &mine->queue() != queue_.get()) return OtherDevice(*queue_, "EnqueueCopy", "stream");
  if (direction != CopyDirection::kWithin && !IsHost(peer)) {
    Error error = MakeError(ErrorCode::kUsage, queue_->backend() + ".link",
                            "device " + queue_->device() + " has no link with device " + std::to_string(peer.value) +
                                ", only with the host");
    error.device = queue_->device();
    return error;
  }
  return mine->Copy(to, from, bytes);
}

}  // namespace pt::plugins
