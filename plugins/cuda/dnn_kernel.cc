#include "plugins/cuda/dnn_kernel.h"

#include <algorithm>
#include <tuple>

#include "partitiontuner/candidate/run_time_sizes.h"
#include "plugins/cuda/reorder.h"

namespace pt::cuda {
namespace {

constexpr uint64_t kWorkspaceAlignment = 256;

// A tensor that cuDNN reads or writes elsewhere than where it lies: copied there before, or back behind.
struct Stage {
  LayoutCopy copy;
  CUdeviceptr from = 0, to = 0;
  bool is_result = false;
};

// One of the tensors that the plan is bound to.
struct BoundTensor {
  std::shared_ptr<DeviceBuffer> constant;  // null: it is an input or the result
  bool is_result = false;
  uint32_t input = 0;          // of the kernel
  TensorLayout lies, planned;  // where it lies, and where the plan wants it
};

struct Compiled {
  std::shared_ptr<Context> context;
  CudaDriver* driver = nullptr;
  std::shared_ptr<const DnnPlan> plan;
  uint64_t alignment = 1;  // of the addresses that it takes
  std::vector<BoundTensor> tensors;
};

class BoundDnn : public BoundKernel {
 public:
  BoundDnn(std::shared_ptr<const Compiled> compiled, std::vector<Stage> stages,
           std::vector<std::unique_ptr<DeviceBuffer>> staging, std::unique_ptr<DnnCall> call)
      : compiled_(std::move(compiled)),
        stages_(std::move(stages)),
        staging_(std::move(staging)),
        call_(std::move(call)) {}

  Status Enqueue(const RunContext& run) noexcept override {
    CudaStream* const stream = AsCuda(run.stream);
    if (stream == nullptr) {
      return MakeError(ErrorCode::kInternal, "cuda.stream", "a CUDA kernel needs its device's stream");
    }
    Context& context = *compiled_->context;
    if (context.is_lost()) return context.Judge("cudnnBackendExecute", CUDA_ERROR_CONTEXT_IS_DESTROYED);
    PT_CHECK_OK(Copy(*stream, false));
    {
      const Context::Scope scope(context);
      PT_CHECK_OK(context.Judge("cuCtxPushCurrent", scope.code()));
      PT_CHECK_OK(call_->Enqueue(stream->handle()));
    }
    return Copy(*stream, true);
  }

 private:
  Status Copy(CudaStream& stream, bool results) const {
    for (const Stage& stage : stages_) {
      if (stage.is_result == results) PT_CHECK_OK(stage.copy.Enqueue(stream, stage.from, stage.to));
    }
    return {};
  }

  const std::shared_ptr<const Compiled> compiled_;  // kept: see kernel.cc
  const std::vector<Stage> stages_;
  const std::vector<std::unique_ptr<DeviceBuffer>> staging_;
  const std::unique_ptr<DnnCall> call_;
};

class DnnKernel : public Kernel {
 public:
  explicit DnnKernel(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  uint64_t scratch_bytes() const override { return DnnScratchBytes(compiled_->plan->workspace_bytes()); }

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    std::vector<CUdeviceptr> addresses;
    std::vector<Stage> stages;
    std::vector<std::unique_ptr<DeviceBuffer>> staging;
    for (const BoundTensor& tensor : compiled_->tensors) {
      if (tensor.constant != nullptr) {
        addresses.push_back(DeviceAddress(tensor.constant->data()));
      } else {
        addresses.push_back(DeviceAddress((tensor.is_result ? *out[0] : *in[tensor.input]).data));
        PT_CHECK_OK(StageIfNeeded(tensor, addresses.back(), stages, staging));
      }
    }
    const CUdeviceptr workspace =
        (DeviceAddress(scratch.data()) + kWorkspaceAlignment - 1) & ~(kWorkspaceAlignment - 1);
    const Context::Scope scope(*compiled_->context);
    PT_CHECK_OK(compiled_->context->Judge("cuCtxPushCurrent", scope.code()));
    PT_ASSIGN(std::unique_ptr<DnnCall> call, compiled_->plan->Bind(addresses, workspace));
    return std::unique_ptr<BoundKernel>(
        std::make_unique<BoundDnn>(compiled_, std::move(stages), std::move(staging), std::move(call)));
  }

 private:
  // Slices may lie at addresses, or with strides, that the plan was not made for. That is rare: mostly the number of
  // elements before a slice is a multiple of four.
  Status StageIfNeeded(const BoundTensor& tensor, CUdeviceptr& address, std::vector<Stage>& stages,
                       std::vector<std::unique_ptr<DeviceBuffer>>& staging) const {
    const bool fits = tensor.lies.strides == tensor.planned.strides;
    if (fits && address % compiled_->alignment == 0) return {};
    PT_ASSIGN(const uint64_t bytes, BytesOf(tensor.planned));
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> buffer, compiled_->driver->Allocate(bytes));
    const CUdeviceptr there = DeviceAddress(buffer->data());
    Stage stage;
    stage.is_result = tensor.is_result;
    stage.from = tensor.is_result ? there : address;
    stage.to = tensor.is_result ? address : there;
    const auto& [from, to] =
        tensor.is_result ? std::tie(tensor.planned, tensor.lies) : std::tie(tensor.lies, tensor.planned);
    PT_ASSIGN(stage.copy, LayoutCopy::Make(*compiled_->driver, from, to));
    stages.push_back(std::move(stage));
    staging.push_back(std::move(buffer));
    address = there;
    return {};
  }

  const std::shared_ptr<const Compiled> compiled_;
};

// The site on dense tensors of the same layouts.
Result<CudaSite> Densified(const CudaSite& site) {
  CudaSite dense = site;
  for (std::vector<CudaOperand>* const operands : {&dense.in, &dense.out}) {
    for (CudaOperand& operand : *operands) {
      PT_ASSIGN(operand.layout, DenseLayout(operand.type(), operand.dims(), operand.layout.layout));
    }
  }
  return dense;
}

// What the source's constant holds, as that type.
Result<std::shared_ptr<DeviceBuffer>> ConstantOnDevice(const CudaSite& site, const DnnSource& source, DataType type,
                                                       CompileContext& context) {
  const Tensor& constant = *site.in[source.argument].constant;
  if (source.content == DnnContent::kAsItIs) return OnDevice(constant, context, type);
  if (source.content != DnnContent::kChannelsLast) {
    PT_ASSIGN(const Tensor folded, ContentOf(site, source));
    return OnDevice(folded, context, type);
  }
  PT_ASSIGN(CudaDriver* const driver, DriverOf(context));
  const std::string format = "cudnn channels-last " + std::string(DataTypeName(type));
  const auto bytes = static_cast<uint64_t>(constant.element_count() * BytesOf(type));
  return context.weights.Get(constant.content_hash(), format, context.device, bytes,
                             [&](DeviceBuffer& buffer) -> Status {
                               PT_ASSIGN(const Tensor turned, ContentOf(site, source));
                               const std::string stored = StoredAs(turned, type);
                               return driver->context()->Upload(DeviceAddress(buffer.data()), stored.data(), bytes);
                             });
}

}  // namespace

uint64_t DnnScratchBytes(uint64_t workspace_bytes) {
  return workspace_bytes == 0 ? 0 : workspace_bytes + kWorkspaceAlignment;
}

Result<CudaSite> DnnDenseSite(const Graph& graph, std::span<const NodeId> nodes, bool channels_last, MathMode math) {
  const DataType real = math == MathMode::kBf16   ? DataType::kBfloat16
                        : math == MathMode::kFp16 ? DataType::kFloat16
                                                  : DataType::kFloat32;
  const auto unsupported = [&](const char* why) {
    return MakeError(ErrorCode::kUnsupported, "cuda.unsupported", graph.node(nodes.front()).op + ": " + why);
  };
  if (!IsSizedBeforeRun(graph, nodes)) return unsupported("it has tensors whose size is not known until run time");
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  if (read.empty() || made.empty()) return unsupported("all its inputs are constant, or its output is unused");
  const size_t image = graph.value(made[0]).type.dims.size();
  const auto layouts_of = [&](const std::vector<ValueId>& values) -> Result<std::vector<TensorLayout>> {
    std::vector<TensorLayout> layouts;
    for (const ValueId value : values) {
      const ValueType& type = graph.value(value).type;
      const size_t rank = type.dims.size();
      const bool turned = channels_last && rank == image && rank > 2;
      PT_ASSIGN(TensorLayout layout, DenseLayout(StorageOf(graph, value, real), *type.static_dims(),
                                                 turned ? ChannelsLast(rank) : RowMajor(rank)));
      layouts.push_back(std::move(layout));
    }
    return layouts;
  };
  if (channels_last && image < 3) return unsupported("it has no channels");
  PT_ASSIGN(const std::vector<TensorLayout> in, layouts_of(read));
  PT_ASSIGN(const std::vector<TensorLayout> out, layouts_of(made));
  return CudaSite::Make(graph, nodes, in, out);
}

Result<std::unique_ptr<Kernel>> CompileDnn(const CudaSite& site, MathMode math, const DnnEngine& engine,
                                           CompileContext& context) {
  PT_ASSIGN(CudaDriver* const driver, DriverOf(context));
  PT_ASSIGN(const std::shared_ptr<const DnnDevice> device, driver->dnn());
  PT_ASSIGN(const CudaSite dense, Densified(site));
  PT_ASSIGN(DnnSite made, MakeDnnSite(dense, math));
  const CudaSite* planned = &dense;
  auto compiled = std::make_shared<Compiled>();
  compiled->context = driver->context();
  compiled->driver = driver;
  // An engine that was offered for dense tensors may not take slices.
  Result<DnnSite> sliced = MakeDnnSite(site, math);
  if (sliced.ok()) {
    Result<std::shared_ptr<const DnnPlan>> plan = device->Build(sliced->graph, engine);
    if (plan.ok()) {
      compiled->plan = std::move(plan).value();
      planned = &site;
      made = std::move(sliced).value();
    }
  }
  if (compiled->plan == nullptr) {
    PT_ASSIGN(compiled->plan, device->Build(made.graph, engine));
  }
  compiled->alignment = static_cast<uint64_t>(made.graph.alignment);
  for (size_t i = 0; i < made.sources.size(); ++i) {
    const DnnSource& source = made.sources[i];
    BoundTensor tensor;
    tensor.is_result = source.argument >= site.in.size();
    const auto operand_of = [&](const CudaSite& of) -> const CudaOperand& {
      return tensor.is_result ? of.out.front() : of.in[source.argument];
    };
    tensor.lies = operand_of(site).layout;
    tensor.planned = operand_of(*planned).layout;
    if (operand_of(site).constant != nullptr) {
      PT_ASSIGN(tensor.constant, ConstantOnDevice(site, source, made.graph.tensors[made.graph.bound[i]].type, context));
    }
    tensor.input =
        static_cast<uint32_t>(std::count_if(site.in.begin(), site.in.begin() + (tensor.is_result ? 0 : source.argument),
                                            [](const CudaOperand& operand) { return operand.constant == nullptr; }));
    compiled->tensors.push_back(std::move(tensor));
  }
  return std::unique_ptr<Kernel>(std::make_unique<DnnKernel>(std::move(compiled)));
}

}  // namespace pt::cuda
