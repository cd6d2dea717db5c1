// An infer request of OpenVINO on the slots of a kernel.
#pragma once

#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/infer_request.hpp>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/support/aligned_bytes.h"
#include "plugins/shared/strided_copy.h"

namespace pt::openvino {

// Slots are handed to OpenVINO where they lie; those that are slices go through memory of its own.
class BoundRequest {
 public:
  // Errors: kRunFailed with OpenVINO's words, kOutOfMemory.
  static Result<BoundRequest> Make(ov::CompiledModel& model, TensorSlots in, TensorSlots out);

  ov::InferRequest& request() { return request_; }
  void GatherInputs() const noexcept;    // before the request runs
  void ScatterOutputs() const noexcept;  // when it is over

 private:
  // A slice with its dense twin.
  struct Detour {
    plugins::StridedCopy copy;
    void* slot;
    AlignedBytes dense;
  };
  static Result<ov::Tensor> TensorOf(const TensorView& slot, std::vector<Detour>& detours);

  ov::InferRequest request_;
  std::vector<Detour> in_, out_;
};

}  // namespace pt::openvino
