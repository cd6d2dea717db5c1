// A compiled group on host units.
#pragma once

#include <openvino/runtime/compiled_model.hpp>
#include <span>

#include "partitiontuner/backend/backend.h"

namespace pt::openvino {

class OpenVinoKernel final : public Kernel {
 public:
  OpenVinoKernel(ov::CompiledModel model, uint32_t threads) : model_(std::move(model)), threads_(threads) {}

  // One thread is the one that enqueues; more are OpenVINO's own.
  bool brings_threads() const override { return threads_ > 1; }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override;

 private:
  mutable ov::CompiledModel model_;  // its const functions are not marked so
  const uint32_t threads_;
};

}  // namespace pt::openvino
