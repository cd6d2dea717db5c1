// A compiled group on a device of its own: enqueued as a request that calls back.
#pragma once

#include <openvino/runtime/compiled_model.hpp>
#include <span>

#include "partitiontuner/backend/backend.h"

namespace pt::openvino {

class DeviceKernel final : public Kernel {
 public:
  explicit DeviceKernel(ov::CompiledModel model) : model_(std::move(model)) {}
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override;

 private:
  mutable ov::CompiledModel model_;  // its const functions are not marked so
};

}  // namespace pt::openvino
