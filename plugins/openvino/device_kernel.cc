#include "plugins/openvino/device_kernel.h"

#include <exception>

#include "plugins/openvino/fence.h"
#include "plugins/openvino/request.h"
#include "plugins/shared/lost_device.h"
#include "plugins/shared/queue_device.h"

namespace pt::openvino {
namespace {

// What OpenVINO threw, in its words.
Error ErrorOf(const std::exception_ptr& thrown) {
  const Status status =
      Fenced(ErrorCode::kRunFailed, "running the group", [&]() -> Status { std::rethrow_exception(thrown); });
  return status.error();
}

class BoundDeviceKernel final : public BoundKernel, private plugins::DeviceTask {
 public:
  explicit BoundDeviceKernel(BoundRequest bound) : bound_(std::move(bound)) {
    bound_.request().set_callback([this](const std::exception_ptr& thrown) { Over(thrown); });
  }
  // OpenVINO holds what it was given to call back, and this one is called.
  ~BoundDeviceKernel() override {
    static_cast<void>(Fenced(ErrorCode::kRunFailed, "letting go of a request", [&]() -> Status {
      bound_.request().wait();
      bound_.request().set_callback([](const std::exception_ptr&) {});
      return {};
    }));
  }
  BoundDeviceKernel(const BoundDeviceKernel&) = delete;
  BoundDeviceKernel& operator=(const BoundDeviceKernel&) = delete;

  Status Enqueue(const RunContext& run) noexcept override {
    auto* const stream = dynamic_cast<plugins::QueueStream*>(&run.stream);
    if (stream == nullptr) {
      return MakeError(ErrorCode::kInternal, "openvino.stream", "a kernel of a device needs its device's stream");
    }
    return stream->Do(*this);
  }

 private:
  Status Begin(const plugins::WorkTicket& ticket) noexcept override {
    // Until its call of the run before has returned, a request has nothing to call.
    static_cast<void>(Fenced(ErrorCode::kRunFailed, "waiting for a request", [&]() -> Status {
      bound_.request().wait();
      return {};
    }));
    ticket_ = ticket;
    bound_.GatherInputs();
    return Fenced(ErrorCode::kRunFailed, "starting the group", [&]() -> Status {
      bound_.request().start_async();
      return {};
    });
  }

  void Cancel() noexcept override {
    static_cast<void>(Fenced(ErrorCode::kRunFailed, "cancelling the group", [&]() -> Status {
      bound_.request().cancel();
      return {};
    }));
  }

  void Over(const std::exception_ptr& thrown) noexcept {
    const plugins::WorkTicket ticket = ticket_;
    if (thrown) {
      Error error = ErrorOf(thrown);
      error.device = ticket.queue->device();
      const bool lost = plugins::TellsOfLostDevice(error.message);
      ticket.queue->End(ticket, std::move(error), lost);
      return;
    }
    bound_.ScatterOutputs();
    ticket.queue->End(ticket, {}, false);
  }

  BoundRequest bound_;
  plugins::WorkTicket ticket_;  // of the run in progress
};

}  // namespace

Result<std::unique_ptr<BoundKernel>> DeviceKernel::Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const {
  PT_ASSIGN(BoundRequest bound, BoundRequest::Make(model_, in, out));
  return Fenced(ErrorCode::kRunFailed, "binding the group", [&]() -> Result<std::unique_ptr<BoundKernel>> {
    return std::unique_ptr<BoundKernel>(std::make_unique<BoundDeviceKernel>(std::move(bound)));
  });
}

}  // namespace pt::openvino
