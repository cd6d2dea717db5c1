#include "plugins/cuda/kernel.h"

#include <algorithm>

namespace pt::cuda {
namespace {

constexpr uint32_t kThreads = 256;
// Blocks for each multiprocessor: enough to keep it busy while others end.
constexpr int64_t kBlocksEach = 8;

struct Launch {
  std::shared_ptr<const Program> program;
  uint32_t blocks = 0, threads = 0;
};

// Kept by whatever is bound to it, since a device that hangs may still be at it when its session is gone.
struct Compiled {
  std::vector<Launch> launches;
  std::vector<std::shared_ptr<DeviceBuffer>> constants;
};

class BoundRoutine : public BoundKernel {
 public:
  BoundRoutine(std::shared_ptr<const Compiled> compiled, const Arguments& arguments)
      : compiled_(std::move(compiled)), arguments_(arguments) {}

  Status Enqueue(const RunContext& run) noexcept override {
    CudaStream* const stream = AsCuda(run.stream);
    if (stream == nullptr) {
      return MakeError(ErrorCode::kInternal, "cuda.stream", "a CUDA kernel needs its device's stream");
    }
    for (const Launch& launch : compiled_->launches) {
      PT_CHECK_OK(launch.program->Launch(*stream, launch.blocks, launch.threads, arguments_));
    }
    return {};
  }

 private:
  const std::shared_ptr<const Compiled> compiled_;
  const Arguments arguments_;
};

class RoutineKernel : public Kernel {
 public:
  explicit RoutineKernel(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    Arguments arguments;
    size_t at = 0;
    for (const TensorView* const slot : in) arguments.at[at++] = DeviceAddress(slot->data);
    for (const auto& constant : compiled_->constants) arguments.at[at++] = DeviceAddress(constant->data());
    for (const TensorView* const slot : out) arguments.at[at++] = DeviceAddress(slot->data);
    return std::unique_ptr<BoundKernel>(std::make_unique<BoundRoutine>(compiled_, arguments));
  }

 private:
  const std::shared_ptr<const Compiled> compiled_;
};

}  // namespace

Result<CudaDriver*> DriverOf(const CompileContext& context) {
  auto* const driver = dynamic_cast<CudaDriver*>(&context.device);
  if (driver != nullptr) return driver;
  return MakeError(ErrorCode::kInternal, "cuda.driver", "a CUDA kernel needs its device's driver");
}

Result<std::shared_ptr<DeviceBuffer>> OnDevice(const Tensor& constant, CompileContext& context) {
  PT_ASSIGN(CudaDriver* const driver, DriverOf(context));
  return context.weights.Get(constant.content_hash(), "cuda row-major", context.device, constant.bytes().size(),
                             [&](DeviceBuffer& buffer) {
                               return driver->context()->Upload(DeviceAddress(buffer.data()), constant.bytes().data(),
                                                                constant.bytes().size());
                             });
}

Result<std::vector<std::shared_ptr<DeviceBuffer>>> ConstantsOnDevice(const Site& site, CompileContext& context) {
  std::vector<std::shared_ptr<DeviceBuffer>> constants;
  for (const Operand& operand : site.in) {
    if (operand.constant == nullptr) continue;
    PT_ASSIGN(std::shared_ptr<DeviceBuffer> buffer, OnDevice(*operand.constant, context));
    constants.push_back(std::move(buffer));
  }
  return constants;
}

Result<std::unique_ptr<Kernel>> CompileRoutine(const Site& site, const Routine& routine, CompileContext& context) {
  PT_ASSIGN(CudaDriver* const driver, DriverOf(context));
  const int64_t most = kBlocksEach * driver->context()->multiprocessors();
  auto compiled = std::make_shared<Compiled>();
  for (const KernelText& kernel : routine.kernels) {
    if (kernel.elements == 0) continue;
    Launch launch;
    PT_ASSIGN(launch.program, driver->programs().Get(kernel.text));
    const bool alone = kernel.threads_an_element == 0;
    launch.threads = alone ? kThreads : kernel.threads_an_element;
    const int64_t wanted = alone ? (kernel.elements + kThreads - 1) / kThreads : kernel.elements;
    launch.blocks = static_cast<uint32_t>(std::min(wanted, most));
    compiled->launches.push_back(std::move(launch));
  }
  PT_ASSIGN(compiled->constants, ConstantsOnDevice(site, context));
  return std::unique_ptr<Kernel>(std::make_unique<RoutineKernel>(std::move(compiled)));
}

}  // namespace pt::cuda
