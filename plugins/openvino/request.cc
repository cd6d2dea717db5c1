#include "plugins/openvino/request.h"

#include "plugins/openvino/fence.h"

namespace pt::openvino {
namespace {

// The slot as OpenVINO's tensor, or its dense twin's.
Result<ov::Tensor> TensorOf(const TensorView& slot, plugins::Detours& detours) {
  const ov::Shape shape(slot.layout.dims.begin(), slot.layout.dims.end());
  PT_ASSIGN(void* const data, detours.DenseAddress(slot));
  return ov::Tensor(ov::element::f32, shape, data);
}

}  // namespace

Result<BoundRequest> BoundRequest::Make(ov::CompiledModel& model, TensorSlots in, TensorSlots out) {
  return Fenced(ErrorCode::kRunFailed, "binding the group", [&]() -> Result<BoundRequest> {
    BoundRequest bound;
    bound.request_ = model.create_infer_request();
    for (size_t i = 0; i < in.size(); ++i) {
      PT_ASSIGN(const ov::Tensor tensor, TensorOf(*in[i], bound.in_));
      bound.request_.set_input_tensor(i, tensor);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      PT_ASSIGN(const ov::Tensor tensor, TensorOf(*out[i], bound.out_));
      bound.request_.set_output_tensor(i, tensor);
    }
    return bound;
  });
}

}  // namespace pt::openvino
