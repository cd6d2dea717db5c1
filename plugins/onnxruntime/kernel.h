// A group as a session of ONNX Runtime, on host units.
#pragma once

#include <span>

#include "partitiontuner/backend/backend.h"
#include "plugins/onnxruntime/runtime.h"

namespace pt::onnxruntime {

class OnnxRuntimeKernel final : public Kernel {
 public:
  OnnxRuntimeKernel(GroupSession session, bool brings_threads)
      : session_(std::make_shared<const GroupSession>(std::move(session))), brings_threads_(brings_threads) {}

  bool brings_threads() const override { return brings_threads_; }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override;

 private:
  const std::shared_ptr<const GroupSession> session_;  // outlives the bound kernels
  const bool brings_threads_;
};

}  // namespace pt::onnxruntime
