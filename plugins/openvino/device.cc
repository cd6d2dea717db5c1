#include "plugins/openvino/device.h"

#include <algorithm>
#include <openvino/runtime/tensor.hpp>

#include "partitiontuner/support/aligned_bytes.h"

namespace pt::openvino {
namespace {

class HostMemory final : public DeviceBuffer {
 public:
  explicit HostMemory(AlignedBytes memory) : memory_(std::move(memory)) {}
  void* data() override { return memory_.bytes.data(); }
  uint64_t bytes() const override { return memory_.bytes.size(); }

 private:
  AlignedBytes memory_;
};

// A tensor that OpenVINO allocated where its device reads and writes it in place.
class SharedMemory final : public DeviceBuffer {
 public:
  explicit SharedMemory(ov::Tensor tensor, uint64_t bytes) : tensor_(std::move(tensor)), bytes_(bytes) {}
  void* data() override { return tensor_.data(); }
  uint64_t bytes() const override { return bytes_; }

 private:
  ov::Tensor tensor_;
  const uint64_t bytes_;
};

Error OtherDevice(const char* call, const char* what) {
  return MakeError(ErrorCode::kUsage, "openvino.other_device",
                   std::string(call) + ": the " + what + " is of another device");
}

}  // namespace

Result<int64_t> OvEvent::ElapsedNs(const Event& since) const {
  const auto* other = dynamic_cast<const OvEvent*>(&since);
  if (other == nullptr || other->queue_ != queue_) return OtherDevice("ElapsedNs", "event");
  const auto begin = queue_->ReachedAt(other->mark_), end = queue_->ReachedAt(mark_);
  if (begin && end) return std::chrono::duration_cast<std::chrono::nanoseconds>(*end - *begin).count();
  return MakeError(ErrorCode::kUsage, "openvino.not_ready", "ElapsedNs: an event is not ready yet");
}

Status OvStream::Record(Event& event) {
  auto* mine = dynamic_cast<OvEvent*>(&event);
  if (mine == nullptr || mine->queue_ != queue_) return OtherDevice("Record", "event");
  queue_->Record(number_, mine->mark_);
  return {};
}

Status OvStream::Wait(Event& event) {
  auto* mine = dynamic_cast<OvEvent*>(&event);
  if (mine == nullptr || mine->queue_ != queue_) return OtherDevice("Wait", "event");
  queue_->Wait(number_, mine->mark_);
  return {};
}

Result<std::unique_ptr<DeviceBuffer>> OvDriver::Allocate(uint64_t bytes) {
  if (runtime_ != nullptr && bytes > 0) {
    PT_ASSIGN(std::optional<ov::Tensor> shared, runtime_->SharedTensor(ov_device_, bytes));
    if (shared) return std::unique_ptr<DeviceBuffer>(std::make_unique<SharedMemory>(*std::move(shared), bytes));
  }
  PT_ASSIGN(AlignedBytes memory, AllocateAligned(bytes));
  return std::unique_ptr<DeviceBuffer>(std::make_unique<HostMemory>(std::move(memory)));
}

Result<std::unique_ptr<Stream>> OvDriver::MakeStream() {
  return std::unique_ptr<Stream>(std::make_unique<OvStream>(queue_));
}

Result<std::unique_ptr<Event>> OvDriver::MakeEvent() {
  return std::unique_ptr<Event>(std::make_unique<OvEvent>(queue_));
}

Status OvDriver::EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                             DeviceId peer) {
  OvStream* const mine = AsOpenVino(stream);
  if (mine == nullptr || &mine->queue() != queue_.get()) return OtherDevice("EnqueueCopy", "stream");
  if (direction != CopyDirection::kWithin && !IsHost(peer)) {
    Error error = MakeError(ErrorCode::kUsage, "openvino.link",
                            "device " + queue_->device() + " has no link with device " + std::to_string(peer.value) +
                                ", only with the host");
    error.device = queue_->device();
    return error;
  }
  return mine->Copy(to, from, bytes);
}

}  // namespace pt::openvino
