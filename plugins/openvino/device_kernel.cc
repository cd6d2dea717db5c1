#include "plugins/openvino/device_kernel.h"

#include <algorithm>
#include <array>
#include <exception>

#include "plugins/openvino/device.h"
#include "plugins/openvino/fence.h"
#include "plugins/openvino/request.h"

namespace pt::openvino {
namespace {

// What OpenVINO threw, in its words.
Error ErrorOf(const std::exception_ptr& thrown) {
  const Status status =
      Fenced(ErrorCode::kRunFailed, "running the group", [&]() -> Status { std::rethrow_exception(thrown); });
  return status.error();
}

class BoundDeviceKernel final : public BoundKernel, private DeviceTask {
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
    OvStream* const stream = AsOpenVino(run.stream);
    if (stream == nullptr) {
      return MakeError(ErrorCode::kInternal, "openvino.stream", "a kernel of a device needs its device's stream");
    }
    return stream->Do(*this);
  }

 private:
  Status Begin(const WorkTicket& ticket) noexcept override {
    // Until its call of the run before has returned, a request has nobody to call.
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
    const WorkTicket ticket = ticket_;
    if (thrown) {
      Error error = ErrorOf(thrown);
      error.device = ticket.queue->device();
      const bool lost = TellsOfLostDevice(error.message);
      ticket.queue->End(ticket, std::move(error), lost);
      return;
    }
    bound_.ScatterOutputs();
    ticket.queue->End(ticket, {}, false);
  }

  BoundRequest bound_;
  WorkTicket ticket_;  // of the run in progress
};

}  // namespace

bool TellsOfLostDevice(std::string_view message) {
  constexpr std::array<std::string_view, 4> kWords = {"DEVICE_LOST", "device lost", "Device lost", "DEVICE_REMOVED"};
  return std::ranges::any_of(kWords, [&](std::string_view words) { return message.find(words) != message.npos; });
}

Result<std::unique_ptr<BoundKernel>> DeviceKernel::Bind(TensorSlots in, TensorSlots out, std::span<std::byte>) const {
  PT_ASSIGN(BoundRequest bound, BoundRequest::Make(model_, in, out));
  return Fenced(ErrorCode::kRunFailed, "binding the group", [&]() -> Result<std::unique_ptr<BoundKernel>> {
    return std::unique_ptr<BoundKernel>(std::make_unique<BoundDeviceKernel>(std::move(bound)));
  });
}

}  // namespace pt::openvino
