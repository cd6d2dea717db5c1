// Tensors of ONNX Runtime over the slots of a kernel.
#pragma once

#include <vector>

#include "partitiontuner/backend/backend.h"
#include "plugins/onnxruntime/owned.h"
#include "plugins/shared/detours.h"

namespace pt::onnxruntime {

// Of one side, inputs or outputs. Slots are handed over where they lie; those that are slices go through memory of this
// object.
class SlotValues {
 public:
  // Errors: kRunFailed with ONNX Runtime's words, kOutOfMemory.
  static Result<SlotValues> Make(const OrtApi& api, TensorSlots slots);

  const std::vector<Owned<OrtValue>>& values() const { return values_; }
  void Gather() const noexcept { detours_.Gather(); }    // of inputs, before each run
  void Scatter() const noexcept { detours_.Scatter(); }  // of outputs, after it

 private:
  std::vector<Owned<OrtValue>> values_;
  plugins::Detours detours_;
};

// What a run returned. ONNX Runtime refuses data that it meets in the run, such as indices, with a code of its own:
// kInvalidInput, else kRunFailed.
Status JudgeRun(const OrtApi& api, OrtStatus* status);

}  // namespace pt::onnxruntime
