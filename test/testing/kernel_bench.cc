#include "test/testing/kernel_bench.h"

#include <algorithm>
#include <cstring>

#include "partitiontuner/backend/devices.h"

namespace pt::testing {

KernelBench::KernelBench(const Platform& platform, uint32_t width)
    : driver(MakeHostDriver(DeviceId(0U))),
      weights(MakeWeightStore()),
      team(MakeSerialTeam(width)),
      stream(MakeHostStream(*team)),
      context{platform, *driver, team.get(), *weights} {}

Status KernelBench::Run(const Kernel& kernel, std::span<const TensorView> in, std::span<const TensorView> out) {
  PT_ASSIGN(const std::unique_ptr<DeviceBuffer> scratch,
            driver->Allocate(std::max<uint64_t>(1, kernel.scratch_bytes())));
  // What scratch holds before is anything: here numbers that are none, in every floating-point type.
  std::memset(scratch->data(), 0xFF, static_cast<size_t>(kernel.scratch_bytes()));
  PT_ASSIGN(const std::unique_ptr<BoundKernel> bound,
            kernel.Bind(SlotsOf(in), SlotsOf(out),
                        {static_cast<std::byte*>(scratch->data()), static_cast<size_t>(kernel.scratch_bytes())}));
  return bound->Enqueue(StaticRun(*stream));
}

}  // namespace pt::testing
