#include "plugins/cuda/reorder.h"

#include <algorithm>

#include "plugins/cuda/index_space.h"

namespace pt::cuda {
namespace {

constexpr uint32_t kThreads = 256;
constexpr int64_t kBlocksEach = 8;  // for each multiprocessor

// Dims in the order in which they lie in `to`, so that neighbouring threads write neighbouring elements.
std::vector<size_t> OrderOf(std::span<const int64_t> strides) {
  std::vector<size_t> order(strides.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t d) { return strides[d]; });
  return order;
}

class BoundReorder : public BoundKernel {
 public:
  BoundReorder(LayoutCopy copy, CUdeviceptr from, CUdeviceptr to) : copy_(std::move(copy)), from_(from), to_(to) {}

  Status Enqueue(const RunContext& run) noexcept override {
    CudaStream* const stream = AsCuda(run.stream);
    if (stream == nullptr) {
      return MakeError(ErrorCode::kInternal, "cuda.stream", "a CUDA kernel needs its device's stream");
    }
    return copy_.Enqueue(*stream, from_, to_);
  }

 private:
  const LayoutCopy copy_;
  const CUdeviceptr from_, to_;
};

class ReorderKernel : public Kernel {
 public:
  explicit ReorderKernel(LayoutCopy copy) : copy_(std::move(copy)) {}

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const override {
    return std::unique_ptr<BoundKernel>(
        std::make_unique<BoundReorder>(copy_, DeviceAddress(in[0]->data), DeviceAddress(out[0]->data)));
  }

 private:
  const LayoutCopy copy_;
};

bool IsKnown(const Form& form, size_t rank) {
  return IsReal(form.storage) && !form.quantisation.valid() &&
         (form.layout == RowMajor(rank) || (rank > 2 && form.layout == ChannelsLast(rank)));
}

}  // namespace

bool CanReorderOnCuda(std::span<const int64_t> dims, const Form& from, const Form& to) {
  const bool widens = from.storage == DataType::kFloat32 || to.storage == DataType::kFloat32;
  const bool alike = from.storage == to.storage || (widens && from.layout != to.layout);
  return alike && IsKnown(from, dims.size()) && IsKnown(to, dims.size());
}

Result<std::unique_ptr<Kernel>> CompileReorderOnCuda(const TensorLayout& from, const TensorLayout& to,
                                                     CompileContext& context) {
  if (!CanReorderOnCuda(from.dims, {from.layout, from.type}, {to.layout, to.type}) || from.dims != to.dims) {
    return MakeError(ErrorCode::kUnsupported, "cuda.unsupported",
                     "no kernel takes a tensor from " + ToString(from.layout) + " to " + ToString(to.layout));
  }
  PT_ASSIGN(CudaDriver* const driver, DriverOf(context));
  PT_ASSIGN(LayoutCopy copy, LayoutCopy::Make(*driver, from, to));
  return std::unique_ptr<Kernel>(std::make_unique<ReorderKernel>(std::move(copy)));
}

Result<LayoutCopy> LayoutCopy::Make(CudaDriver& driver, const TensorLayout& from, const TensorLayout& to) {
  std::vector<int64_t> ordered_dims;
  std::vector<std::vector<int64_t>> strides(2);
  for (const size_t d : OrderOf(to.strides)) {
    ordered_dims.push_back(to.dims[d]);
    strides[0].push_back(from.strides[d]);
    strides[1].push_back(to.strides[d]);
  }
  const IndexSpace space(ordered_dims, std::move(strides));
  LayoutCopy copy;
  if (space.count() == 0) return copy;
  const std::string type(space.index_type()), count = std::to_string(space.count()), read(CTypeOf(from.type)),
                                              written(CTypeOf(to.type)), number = from.type == to.type ? "" : "(float)";
  const std::string text = "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n  const " + read +
                           "* const from = (const " + read + "*)arguments.at[0];\n  " + written + "* const to = (" +
                           written + "*)arguments.at[1];\n  for (" + type + " i = (" + type +
                           ")blockIdx.x * blockDim.x + threadIdx.x; i < " + count + "; i += (" + type +
                           ")gridDim.x * blockDim.x) {\n" + space.CoordinatesText("i") + "    to[" +
                           space.OffsetText(1) + "] = " + number + "from[" + space.OffsetText(0) + "];\n  }\n}\n";
  PT_ASSIGN(copy.program_, driver.programs().Get(text));
  copy.blocks_ = static_cast<uint32_t>(
      std::min<int64_t>((space.count() + kThreads - 1) / kThreads, kBlocksEach * driver.context()->multiprocessors()));
  return copy;
}

Status LayoutCopy::Enqueue(CudaStream& stream, CUdeviceptr from, CUdeviceptr to) const {
  if (program_ == nullptr) return {};
  Arguments arguments;
  arguments.at[0] = from;
  arguments.at[1] = to;
  return program_->Launch(stream, blocks_, kThreads, arguments);
}

}  // namespace pt::cuda
