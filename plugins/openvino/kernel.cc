#include "plugins/openvino/kernel.h"

#include <openvino/runtime/infer_request.hpp>

#include "partitiontuner/support/aligned_bytes.h"
#include "plugins/openvino/fence.h"
#include "plugins/openvino/strided_copy.h"

namespace pt::openvino {
namespace {

// A slice with its dense twin.
struct Detour {
  StridedCopy copy;
  void* slot;
  AlignedBytes dense;
};

class BoundOpenVino final : public BoundKernel {
 public:
  BoundOpenVino(ov::InferRequest request, std::vector<Detour> in, std::vector<Detour> out)
      : request_(std::move(request)), in_(std::move(in)), out_(std::move(out)) {}

  Status Enqueue(const RunContext&) noexcept override {
    for (const Detour& detour : in_) detour.copy.ToDense(detour.slot, detour.dense.bytes.data());
    PT_CHECK_OK(Fenced(ErrorCode::kRunFailed, "running the group", [&]() -> Status {
      request_.infer();
      return {};
    }));
    for (const Detour& detour : out_) detour.copy.FromDense(detour.dense.bytes.data(), detour.slot);
    return {};
  }

 private:
  ov::InferRequest request_;
  const std::vector<Detour> in_, out_;
};

ov::Shape ShapeOf(const TensorLayout& layout) { return {layout.dims.begin(), layout.dims.end()}; }

// The slot as OpenVINO's tensor, or its dense twin's.
Result<ov::Tensor> TensorOf(const TensorView& slot, std::vector<Detour>& detours) {
  const ov::Shape shape = ShapeOf(slot.layout);
  if (IsDense(slot.layout)) return ov::Tensor(ov::element::f32, shape, slot.data);
  PT_ASSIGN(AlignedBytes dense, AllocateAligned(ov::shape_size(shape) * sizeof(float)));
  detours.push_back({StridedCopy(slot.layout), slot.data, std::move(dense)});
  return ov::Tensor(ov::element::f32, shape, detours.back().dense.bytes.data());
}

}  // namespace

Result<std::unique_ptr<BoundKernel>> OpenVinoKernel::Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const {
  return Fenced(ErrorCode::kRunFailed, "binding the group", [&]() -> Result<std::unique_ptr<BoundKernel>> {
    ov::InferRequest request = model_.create_infer_request();
    std::vector<Detour> ways_in, ways_out;
    for (size_t i = 0; i < in.size(); ++i) {
      PT_ASSIGN(const ov::Tensor tensor, TensorOf(*in[i], ways_in));
      request.set_input_tensor(i, tensor);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      PT_ASSIGN(const ov::Tensor tensor, TensorOf(*out[i], ways_out));
      request.set_output_tensor(i, tensor);
    }
    return std::unique_ptr<BoundKernel>(
        std::make_unique<BoundOpenVino>(std::move(request), std::move(ways_in), std::move(ways_out)));
  });
}

}  // namespace pt::openvino
