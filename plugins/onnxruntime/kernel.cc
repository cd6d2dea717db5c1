#include "plugins/onnxruntime/kernel.h"

#include "plugins/onnxruntime/slot_values.h"

namespace pt::onnxruntime {
namespace {

class BoundOnnxRuntime final : public BoundKernel {
 public:
  BoundOnnxRuntime(std::shared_ptr<const GroupSession> session, SlotValues in, SlotValues out)
      : session_(std::move(session)),
        api_(session_->runtime->api()),
        in_(std::move(in)),
        out_(std::move(out)),
        binding_(nullptr, api_.ReleaseIoBinding) {}

  Status BindAll() {
    OrtIoBinding* made = nullptr;
    PT_CHECK_OK(Judge(api_.CreateIoBinding(session_->session.get(), &made)));
    binding_.reset(made);
    for (size_t i = 0; i < in_.values().size(); ++i) {
      PT_CHECK_OK(Judge(api_.BindInput(made, session_->inputs[i].c_str(), in_.values()[i].get())));
    }
    for (size_t i = 0; i < out_.values().size(); ++i) {
      PT_CHECK_OK(Judge(api_.BindOutput(made, session_->outputs[i].c_str(), out_.values()[i].get())));
    }
    return {};
  }

  Status Enqueue(const RunContext&) noexcept override {
    in_.Gather();
    PT_CHECK_OK(JudgeRun(api_, api_.RunWithBinding(session_->session.get(), nullptr, binding_.get())));
    out_.Scatter();
    return {};
  }

 private:
  Status Judge(OrtStatus* status) const { return Checked(api_, status, ErrorCode::kRunFailed, "binding the group"); }

  const std::shared_ptr<const GroupSession> session_;
  const OrtApi& api_;
  const SlotValues in_, out_;
  Owned<OrtIoBinding> binding_;
};

}  // namespace

Result<std::unique_ptr<BoundKernel>> OnnxRuntimeKernel::Bind(TensorSlots in, TensorSlots out,
                                                             std::span<std::byte>) const {
  const OrtApi& api = session_->runtime->api();
  PT_ASSIGN(SlotValues from, SlotValues::Make(api, in));
  PT_ASSIGN(SlotValues to, SlotValues::Make(api, out));
  auto bound = std::make_unique<BoundOnnxRuntime>(session_, std::move(from), std::move(to));
  PT_CHECK_OK(bound->BindAll());
  return std::unique_ptr<BoundKernel>(std::move(bound));
}

}  // namespace pt::onnxruntime
