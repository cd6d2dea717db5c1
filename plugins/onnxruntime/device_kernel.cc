#include "plugins/onnxruntime/device_kernel.h"

#include <vector>

#include "plugins/onnxruntime/slot_values.h"
#include "plugins/shared/call_stream.h"
#include "plugins/shared/lost_device.h"

namespace pt::onnxruntime {
namespace {

// Not by an IoBinding, which copies inputs to the device once, when they are bound: a run copies those of its own time
// there and its outputs back.
class BoundDeviceKernel final : public BoundKernel, private plugins::DeviceCall {
 public:
  BoundDeviceKernel(std::shared_ptr<const GroupSession> session, SlotValues in, SlotValues out,
                    Owned<OrtRunOptions> options)
      : session_(std::move(session)),
        api_(session_->runtime->api()),
        in_(std::move(in)),
        out_(std::move(out)),
        options_(std::move(options)) {
    for (const std::string& name : session_->inputs) input_names_.push_back(name.c_str());
    for (const std::string& name : session_->outputs) output_names_.push_back(name.c_str());
    for (const auto& value : in_.values()) inputs_.push_back(value.get());
    for (const auto& value : out_.values()) outputs_.push_back(value.get());
  }

  Status Enqueue(const RunContext& run) noexcept override {
    auto* const stream = dynamic_cast<plugins::CallStream*>(&run.stream);
    if (stream == nullptr) {
      return MakeError(ErrorCode::kInternal, "onnxruntime.stream", "a kernel of a device needs its device's stream");
    }
    return stream->Enqueue(*this);
  }

 private:
  Outcome Call() noexcept override {
    Status status = Run();
    if (status.ok()) return {};
    Error error = std::move(status).error();
    error.device = device();
    const bool lost = plugins::TellsOfLostDevice(error.message);
    return {std::move(error), lost};
  }

  Status Run() noexcept {
    // A wish to end that came after the run before had ended is not for this one.
    PT_CHECK_OK(JudgeRun(api_, api_.RunOptionsUnsetTerminate(options_.get())));
    in_.Gather();
    PT_CHECK_OK(JudgeRun(api_, api_.Run(session_->session.get(), options_.get(), input_names_.data(), inputs_.data(),
                                        inputs_.size(), output_names_.data(), output_names_.size(), outputs_.data())));
    out_.Scatter();
    return {};
  }

  void Cancel() noexcept override { static_cast<void>(JudgeRun(api_, api_.RunOptionsSetTerminate(options_.get()))); }

  const std::shared_ptr<const GroupSession> session_;
  const OrtApi& api_;
  const SlotValues in_, out_;
  const Owned<OrtRunOptions> options_;
  std::vector<const char*> input_names_, output_names_;
  std::vector<const OrtValue*> inputs_;
  std::vector<OrtValue*> outputs_;  // full, so that ONNX Runtime makes none
};

}  // namespace

Result<std::unique_ptr<BoundKernel>> OrtDeviceKernel::Bind(TensorSlots in, TensorSlots out,
                                                           std::span<std::byte>) const {
  const OrtApi& api = session_->runtime->api();
  PT_ASSIGN(SlotValues from, SlotValues::Make(api, in));
  PT_ASSIGN(SlotValues to, SlotValues::Make(api, out));
  OrtRunOptions* made = nullptr;
  PT_CHECK_OK(Checked(api, api.CreateRunOptions(&made), ErrorCode::kOutOfMemory, "binding the group"));
  return std::unique_ptr<BoundKernel>(std::make_unique<BoundDeviceKernel>(
      session_, std::move(from), std::move(to), Owned<OrtRunOptions>(made, api.ReleaseRunOptions)));
}

}  // namespace pt::onnxruntime
