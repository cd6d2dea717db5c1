#include "plugins/cuda/kernel.h"

#include <algorithm>

#include "partitiontuner/graph/half.h"

namespace pt::cuda {
namespace {

constexpr uint32_t kThreads = 256;
// Blocks for each multiprocessor: enough to keep it busy while others end.
constexpr int64_t kBlocksEach = 8;

struct Launch {
  std::shared_ptr<const DeviceProgram> program;
  uint32_t blocks = 0, threads = 0;
};

// Kept by whatever is bound to it, since a device that hangs may still be at it when its session is gone.
struct Compiled {
  std::vector<Launch> launches;
  std::vector<std::shared_ptr<DeviceBuffer>> constants, tables;
  uint64_t scratch_bytes = 0;
  uint64_t fault_code = 0;  // 0: no kernel meets bad data
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
    if (compiled_->fault_code != 0) {
      PT_ASSIGN(arguments_.fault, stream->fault().Address());
      arguments_.fault_code = compiled_->fault_code;
    }
    for (const Launch& launch : compiled_->launches) {
      PT_CHECK_OK(launch.program->Launch(*stream, launch.blocks, launch.threads, arguments_));
    }
    return {};
  }

 private:
  const std::shared_ptr<const Compiled> compiled_;
  Arguments arguments_;
};

class RoutineKernel : public Kernel {
 public:
  explicit RoutineKernel(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  uint64_t scratch_bytes() const override { return compiled_->scratch_bytes; }

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    Arguments arguments;
    size_t at = 0;
    for (const TensorView* const slot : in) arguments.at[at++] = DeviceAddress(slot->data);
    for (const auto& constant : compiled_->constants) arguments.at[at++] = DeviceAddress(constant->data());
    for (const TensorView* const slot : out) arguments.at[at++] = DeviceAddress(slot->data);
    for (const auto& table : compiled_->tables) arguments.at[at++] = DeviceAddress(table->data());
    if (compiled_->scratch_bytes > 0) arguments.at[at++] = DeviceAddress(scratch.data());
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

std::string StoredAs(const Tensor& tensor, DataType type) {
  if (type == tensor.type()) {
    return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()};
  }
  std::vector<uint16_t> narrowed;
  narrowed.reserve(static_cast<size_t>(tensor.element_count()));
  for (const float number : tensor.values<float>()) {
    narrowed.push_back(type == DataType::kFloat16 ? ToHalf(number).bits : ToBfloat16(number).bits);
  }
  return {reinterpret_cast<const char*>(narrowed.data()), narrowed.size() * sizeof(uint16_t)};
}

Result<std::shared_ptr<DeviceBuffer>> OnDevice(const Tensor& constant, CompileContext& context, DataType type) {
  PT_ASSIGN(CudaDriver* const driver, DriverOf(context));
  const auto upload = [&](DeviceBuffer& buffer, const void* from, uint64_t bytes) {
    return driver->context()->Upload(DeviceAddress(buffer.data()), from, bytes);
  };
  if (type == DataType::kUndefined || type == constant.type()) {
    return context.weights.Get(
        constant.content_hash(), "cuda row-major", context.device, constant.bytes().size(),
        [&](DeviceBuffer& buffer) { return upload(buffer, constant.bytes().data(), constant.bytes().size()); });
  }
  const std::string format = "cuda row-major " + std::string(DataTypeName(type));
  const uint64_t bytes = static_cast<uint64_t>(constant.element_count() * BytesOf(type));
  return context.weights.Get(constant.content_hash(), format, context.device, bytes, [&](DeviceBuffer& buffer) {
    const std::string narrowed = StoredAs(constant, type);
    return upload(buffer, narrowed.data(), bytes);
  });
}

Result<std::vector<std::shared_ptr<DeviceBuffer>>> ConstantsOnDevice(const CudaSite& site, CompileContext& context) {
  std::vector<std::shared_ptr<DeviceBuffer>> constants;
  for (const CudaOperand& operand : site.in) {
    if (operand.constant == nullptr) continue;
    PT_ASSIGN(std::shared_ptr<DeviceBuffer> buffer, OnDevice(*operand.constant, context));
    constants.push_back(std::move(buffer));
  }
  return constants;
}

Result<std::unique_ptr<Kernel>> CompileRoutine(const CudaSite& site, const CudaRoutine& routine,
                                               CompileContext& context) {
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
  for (const Tensor& table : routine.tables) {
    PT_ASSIGN(std::shared_ptr<DeviceBuffer> buffer, OnDevice(table, context));
    compiled->tables.push_back(std::move(buffer));
  }
  compiled->scratch_bytes = routine.scratch_bytes;
  if (!routine.fault.empty()) {
    compiled->fault_code =
        driver->context()->AddFault(NodeLabel(site.graph, site.nodes.front()) + ": " + routine.fault);
  }
  return std::unique_ptr<Kernel>(std::make_unique<RoutineKernel>(std::move(compiled)));
}

}  // namespace pt::cuda
