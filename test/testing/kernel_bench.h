// What running single kernels on the host takes, without plans or sessions.
#pragma once

#include <memory>
#include <span>

#include "partitiontuner/backend/backend.h"

namespace pt::testing {

// The team runs inline, whatever its width.
struct KernelBench {
  explicit KernelBench(const Platform& platform, uint32_t width = 1);

  Status Run(const Kernel& kernel, std::span<const TensorView> in, std::span<const TensorView> out);

  std::unique_ptr<DeviceDriver> driver;
  std::unique_ptr<WeightStore> weights;
  std::unique_ptr<Team> team;
  std::unique_ptr<Stream> stream;
  CompileContext context;
};

}  // namespace pt::testing
