// An infer request of OpenVINO on the slots of a kernel.
#pragma once

#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/infer_request.hpp>

#include "partitiontuner/backend/backend.h"
#include "plugins/shared/detours.h"

namespace pt::openvino {

// Slots are handed to OpenVINO where they lie; those that are slices go through memory of its own.
class BoundRequest {
 public:
  // Errors: kRunFailed with OpenVINO's words, kOutOfMemory.
  static Result<BoundRequest> Make(ov::CompiledModel& model, TensorSlots in, TensorSlots out);

  ov::InferRequest& request() { return request_; }
  void GatherInputs() const noexcept { in_.Gather(); }      // before the request runs
  void ScatterOutputs() const noexcept { out_.Scatter(); }  // when it is over

 private:
  ov::InferRequest request_;
  plugins::Detours in_, out_;
};

}  // namespace pt::openvino
