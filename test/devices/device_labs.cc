#include <deque>
#include <thread>

#include "lib/backend/simulated/simulated_stream.h"
#include "partitiontuner/backend/devices.h"
#include "plugins/shared/call_stream.h"
#include "test/devices/device_lab.h"
#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

// lib/backend/simulated, on either clock.
template <SimulatedClock clock>
class SimulatedLab final : public DeviceLab {
 public:
  DeviceDriver& driver() override { return *driver_; }
  void Enqueue(Stream& stream, std::function<Status()> body) override {
    SimulatedWork work;
    work.ns = 1000;
    work.task = &tasks_.emplace_back(std::move(body));
    REQUIRE(AsSimulated(stream)->Enqueue(work, "kernel").ok());
  }

 private:
  struct Task final : SimulatedTask {
    explicit Task(std::function<Status()> body) : body(std::move(body)) {}
    Status Run() noexcept override { return body(); }
    std::function<Status()> body;
  };
  std::deque<Task> tasks_;
  std::unique_ptr<DeviceDriver> driver_ =
      MakeSimulatedDriver(MakeTestPlatform(2, true), DeviceId(1u), {clock, nullptr});
};

// plugins/shared/device_queue: work that tells of its end from a thread of its own.
class QueueLab final : public DeviceLab {
 public:
  DeviceDriver& driver() override { return driver_; }
  void Enqueue(Stream& stream, std::function<Status()> body) override {
    REQUIRE(dynamic_cast<plugins::QueueStream&>(stream).Do(tasks_.emplace_back(std::move(body))).ok());
  }

 private:
  struct Task final : plugins::DeviceTask {
    explicit Task(std::function<Status()> body) : body(std::move(body)) {}
    ~Task() override {
      if (thread.joinable()) thread.join();
    }
    Status Begin(const plugins::WorkTicket& ticket) noexcept override {
      thread = std::thread([this, ticket] { ticket.queue->End(ticket, body(), false); });
      return {};
    }
    void Cancel() noexcept override {}
    std::function<Status()> body;
    std::thread thread;
  };
  plugins::QueueDriver driver_{DeviceId(1u), "fake", "fake:0"};
  std::deque<Task> tasks_;
};

// plugins/shared/call_stream: work that a stream's thread does.
class CallLab final : public DeviceLab {
 public:
  DeviceDriver& driver() override { return driver_; }
  void Enqueue(Stream& stream, std::function<Status()> body) override {
    REQUIRE(dynamic_cast<plugins::CallStream&>(stream).Enqueue(calls_.emplace_back(std::move(body))).ok());
  }

 private:
  struct Work final : plugins::DeviceCall {
    explicit Work(std::function<Status()> body) : body(std::move(body)) {}
    Outcome Call() noexcept override { return {body()}; }
    void Cancel() noexcept override {}
    std::function<Status()> body;
  };
  plugins::CallDriver driver_{DeviceId(1u), "fake", "fake:0", {}};
  std::deque<Work> calls_;
};

template <typename Lab>
std::unique_ptr<DeviceLab> Make() {
  return std::make_unique<Lab>();
}

}  // namespace

const std::vector<DeviceRow>& DeviceLabs() {
  static const std::vector<DeviceRow> rows = {
      {"simulated, virtual clock", Make<SimulatedLab<SimulatedClock::kVirtual>>, false},
      {"simulated, real clock", Make<SimulatedLab<SimulatedClock::kReal>>},
      {"device queue", Make<QueueLab>},
      {"call stream", Make<CallLab>},
  };
  return rows;
}

}  // namespace pt::testing
