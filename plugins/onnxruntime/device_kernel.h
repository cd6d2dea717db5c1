// A group as a session of ONNX Runtime on a device of its own: enqueued as a call that the stream's thread makes.
#pragma once

#include <span>

#include "partitiontuner/backend/backend.h"
#include "plugins/onnxruntime/runtime.h"

namespace pt::onnxruntime {

class OrtDeviceKernel final : public Kernel {
 public:
  explicit OrtDeviceKernel(GroupSession session) : session_(std::make_shared<const GroupSession>(std::move(session))) {}
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override;

 private:
  const std::shared_ptr<const GroupSession> session_;  // outlives the bound kernels
};

}  // namespace pt::onnxruntime
