#include "plugins/openvino/kernel.h"

#include "plugins/openvino/fence.h"
#include "plugins/openvino/request.h"

namespace pt::openvino {
namespace {

class BoundOpenVino final : public BoundKernel {
 public:
  explicit BoundOpenVino(BoundRequest bound) : bound_(std::move(bound)) {}

  Status Enqueue(const RunContext&) noexcept override {
    bound_.GatherInputs();
    PT_CHECK_OK(Fenced(ErrorCode::kRunFailed, "running the group", [&]() -> Status {
      bound_.request().infer();
      return {};
    }));
    bound_.ScatterOutputs();
    return {};
  }

 private:
  BoundRequest bound_;
};

}  // namespace

Result<std::unique_ptr<BoundKernel>> OpenVinoKernel::Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const {
  PT_ASSIGN(BoundRequest bound, BoundRequest::Make(model_, in, out));
  return std::unique_ptr<BoundKernel>(std::make_unique<BoundOpenVino>(std::move(bound)));
}

}  // namespace pt::openvino
