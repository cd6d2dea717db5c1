// What stands for cuDNN on the fake GPU.
#pragma once

#include <memory>

#include "plugins/cuda/dnn.h"

namespace pt::testing {

struct FakeGpuState;
std::shared_ptr<const cuda::Dnn> MakeFakeDnn(const std::shared_ptr<FakeGpuState>& state);

}  // namespace pt::testing
