// Drivers over plugins/shared/device_queue: work that tells of its end from a thread of its own.
#pragma once

#include <deque>
#include <thread>

#include "plugins/shared/queue_device.h"
#include "test/devices/device_lab.h"

namespace pt::testing {

// What work says that takes its device with it.
inline Status LossOfWork() { return MakeError(ErrorCode::kRunFailed, "test.loss", "told to take the device with it"); }

class QueueLab : public DeviceLab {
 public:
  QueueLab(uint64_t lost_after, std::unique_ptr<plugins::QueueDriver> driver)
      : DeviceLab(lost_after), driver_(std::move(driver)) {}
  DeviceDriver& driver() final { return *driver_; }
  void Enqueue(Stream& stream, std::function<Status()> body) final {
    REQUIRE(dynamic_cast<plugins::QueueStream&>(stream).Do(tasks_.emplace_back(*this, std::move(body))).ok());
  }

 private:
  struct Task final : plugins::DeviceTask {
    Task(QueueLab& lab, std::function<Status()> body) : lab(lab), body(std::move(body)) {}
    ~Task() override {
      if (thread.joinable()) thread.join();
    }
    Status Begin(const plugins::WorkTicket& ticket) noexcept override {
      thread = std::thread([this, ticket] {
        const bool lost = lab.IsLostNow();
        ticket.queue->End(ticket, lost ? LossOfWork() : body(), lost);
      });
      return {};
    }
    void Cancel() noexcept override {}
    QueueLab& lab;
    std::function<Status()> body;
    std::thread thread;
  };
  const std::unique_ptr<plugins::QueueDriver> driver_;
  std::deque<Task> tasks_;
};

}  // namespace pt::testing
