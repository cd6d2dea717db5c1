#include "plugins/onnxruntime/slot_values.h"

#include "plugins/onnxruntime/element_types.h"

namespace pt::onnxruntime {

Result<SlotValues> SlotValues::Make(const OrtApi& api, TensorSlots slots) {
  const auto judge = [&](OrtStatus* status) {
    return Checked(api, status, ErrorCode::kRunFailed, "binding the group");
  };
  OrtMemoryInfo* where = nullptr;
  PT_CHECK_OK(judge(api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &where)));
  const Owned<OrtMemoryInfo> memory(where, api.ReleaseMemoryInfo);
  SlotValues made;
  for (const TensorView* slot : slots) {
    const TensorLayout& layout = slot->layout;
    PT_ASSIGN(void* const data, made.detours_.DenseAddress(*slot));
    OrtValue* value = nullptr;
    PT_CHECK_OK(judge(api.CreateTensorWithDataAsOrtValue(where, data, plugins::DenseBytes(layout), layout.dims.data(),
                                                         layout.dims.size(), ElementTypeOf(layout.type), &value)));
    made.values_.push_back(Owned<OrtValue>(value, api.ReleaseValue));
  }
  return made;
}

Status JudgeRun(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return {};
  const ErrorCode code =
      api.GetErrorCode(status) == ORT_INVALID_ARGUMENT ? ErrorCode::kInvalidInput : ErrorCode::kRunFailed;
  return Checked(api, status, code, "running the group");
}

}  // namespace pt::onnxruntime
