#include "plugins/openvino/request.h"

#include "plugins/openvino/fence.h"

namespace pt::openvino {

// The slot as OpenVINO's tensor, or its dense twin's.
Result<ov::Tensor> BoundRequest::TensorOf(const TensorView& slot, std::vector<Detour>& detours) {
  const ov::Shape shape(slot.layout.dims.begin(), slot.layout.dims.end());
  if (IsDense(slot.layout)) return ov::Tensor(ov::element::f32, shape, slot.data);
  PT_ASSIGN(AlignedBytes dense, AllocateAligned(ov::shape_size(shape) * sizeof(float)));
  detours.push_back({plugins::StridedCopy(slot.layout), slot.data, std::move(dense)});
  return ov::Tensor(ov::element::f32, shape, detours.back().dense.bytes.data());
}

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

void BoundRequest::GatherInputs() const noexcept {
  for (const Detour& detour : in_) detour.copy.ToDense(detour.slot, detour.dense.bytes.data());
}

void BoundRequest::ScatterOutputs() const noexcept {
  for (const Detour& detour : out_) detour.copy.FromDense(detour.dense.bytes.data(), detour.slot);
}

}  // namespace pt::openvino
