#include "plugins/openvino/device.h"

#include <openvino/runtime/tensor.hpp>

namespace pt::openvino {
namespace {

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

}  // namespace

Result<std::unique_ptr<DeviceBuffer>> OvDriver::Allocate(uint64_t bytes) {
  if (bytes > 0) {
    PT_ASSIGN(std::optional<ov::Tensor> shared, runtime_->SharedTensor(ov_device_, bytes));
    if (shared) return std::unique_ptr<DeviceBuffer>(std::make_unique<SharedMemory>(*std::move(shared), bytes));
  }
  return QueueDriver::Allocate(bytes);
}

}  // namespace pt::openvino
