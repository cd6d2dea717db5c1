#include "plugins/onnxruntime/kernel.h"

#include "partitiontuner/support/aligned_bytes.h"
#include "plugins/onnxruntime/element_types.h"
#include "plugins/shared/strided_copy.h"

namespace pt::onnxruntime {
namespace {

// A slice with its dense twin.
struct Detour {
  plugins::StridedCopy copy;
  void* slot;
  AlignedBytes dense;
};

// ONNX Runtime refuses data that it meets in the run, such as indices, with this code.
ErrorCode CodeOf(const OrtApi& api, const OrtStatus* status) {
  return api.GetErrorCode(status) == ORT_INVALID_ARGUMENT ? ErrorCode::kInvalidInput : ErrorCode::kRunFailed;
}

class BoundOnnxRuntime final : public BoundKernel {
 public:
  BoundOnnxRuntime(std::shared_ptr<const Session> session, Owned<OrtIoBinding> binding)
      : session_(std::move(session)), api_(session_->runtime->api()), binding_(std::move(binding)) {}

  // The binding keeps what it needs of the values.
  Status BindAll(TensorSlots in, TensorSlots out) {
    OrtMemoryInfo* where = nullptr;
    PT_CHECK_OK(Made(api_.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &where)));
    const Owned<OrtMemoryInfo> memory(where, api_.ReleaseMemoryInfo);
    for (size_t i = 0; i < in.size(); ++i) {
      PT_ASSIGN(const Owned<OrtValue> value, ValueOver(*in[i], *where, in_));
      PT_CHECK_OK(Made(api_.BindInput(binding_.get(), session_->inputs[i].c_str(), value.get())));
    }
    for (size_t i = 0; i < out.size(); ++i) {
      PT_ASSIGN(const Owned<OrtValue> value, ValueOver(*out[i], *where, out_));
      PT_CHECK_OK(Made(api_.BindOutput(binding_.get(), session_->outputs[i].c_str(), value.get())));
    }
    return {};
  }

  Status Enqueue(const RunContext&) noexcept override {
    for (const Detour& detour : in_) detour.copy.ToDense(detour.slot, detour.dense.bytes.data());
    OrtStatus* const status = api_.RunWithBinding(session_->session.get(), nullptr, binding_.get());
    if (status != nullptr) return Checked(api_, status, CodeOf(api_, status), "running the group");
    for (const Detour& detour : out_) detour.copy.FromDense(detour.dense.bytes.data(), detour.slot);
    return {};
  }

 private:
  Status Made(OrtStatus* status) const { return Checked(api_, status, ErrorCode::kRunFailed, "binding the group"); }

  // A tensor over the slot's memory, or over its dense twin's.
  Result<Owned<OrtValue>> ValueOver(const TensorView& slot, const OrtMemoryInfo& memory, std::vector<Detour>& detours) {
    const TensorLayout& layout = slot.layout;
    size_t bytes = static_cast<size_t>(BytesOf(layout.type));
    for (const int64_t dim : layout.dims) bytes *= static_cast<size_t>(dim);
    void* data = slot.data;
    if (!IsDense(layout)) {
      PT_ASSIGN(AlignedBytes dense, AllocateAligned(bytes));
      detours.push_back({plugins::StridedCopy(layout), slot.data, std::move(dense)});
      data = detours.back().dense.bytes.data();
    }
    OrtValue* made = nullptr;
    PT_CHECK_OK(Made(api_.CreateTensorWithDataAsOrtValue(&memory, data, bytes, layout.dims.data(), layout.dims.size(),
                                                         ElementTypeOf(layout.type), &made)));
    return Owned<OrtValue>(made, api_.ReleaseValue);
  }

  const std::shared_ptr<const Session> session_;
  const OrtApi& api_;
  const Owned<OrtIoBinding> binding_;
  std::vector<Detour> in_, out_;
};

}  // namespace

Result<std::unique_ptr<BoundKernel>> OnnxRuntimeKernel::Bind(TensorSlots in, TensorSlots out,
                                                             std::span<std::byte>) const {
  const OrtApi& api = session_->runtime->api();
  OrtIoBinding* made = nullptr;
  PT_CHECK_OK(
      Checked(api, api.CreateIoBinding(session_->session.get(), &made), ErrorCode::kRunFailed, "binding the group"));
  auto bound = std::make_unique<BoundOnnxRuntime>(session_, Owned<OrtIoBinding>(made, api.ReleaseIoBinding));
  PT_CHECK_OK(bound->BindAll(in, out));
  return std::unique_ptr<BoundKernel>(std::move(bound));
}

}  // namespace pt::onnxruntime
