#include <deque>

#include "lib/backend/simulated/simulated_stream.h"
#include "partitiontuner/backend/devices.h"
#include "plugins/shared/call_stream.h"
#include "test/devices/plugin_rows.h"
#include "test/devices/queue_lab.h"
#include "test/testing/fake_device.h"
#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

// lib/backend/simulated, on either clock.
template <SimulatedClock clock>
class SimulatedLab final : public DeviceLab {
 public:
  explicit SimulatedLab(uint64_t lost_after) : DeviceLab(lost_after) {
    Platform platform = MakeTestPlatform(2, true);
    if (lost_after > 0) platform.simulated[DeviceId(1u)].faults.lost_after = lost_after;
    driver_ = MakeSimulatedDriver(platform, DeviceId(1u), {clock, nullptr});
  }
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
  std::unique_ptr<DeviceDriver> driver_;
};

// plugins/shared/device_queue, on memory of the host.
class FakeQueueLab final : public QueueLab {
 public:
  explicit FakeQueueLab(uint64_t lost_after)
      : QueueLab(lost_after, std::make_unique<plugins::QueueDriver>(DeviceId(1u), "fake", "fake:0")) {}
};

// test/testing/fake_device, which the executor is tested on.
class FakeDeviceLab final : public DeviceLab {
 public:
  explicit FakeDeviceLab(uint64_t lost_after)
      : DeviceLab(lost_after), driver_(MakeFakeDriver(DeviceId(1u), control_)) {}
  DeviceDriver& driver() override { return *driver_; }
  void Enqueue(Stream& stream, std::function<Status()> body) override {
    const auto work = [this, body = std::move(body)] {
      if (!IsLostNow()) return body();
      control_.lose = control_.lost = true;
      return LossOfWork();
    };
    REQUIRE(EnqueueOnFakeDevice(stream, work).value());
  }

 private:
  FakeDeviceControl control_;
  const std::unique_ptr<DeviceDriver> driver_;
};

// plugins/shared/call_stream: work that a stream's thread does. It is what plugins/onnxruntime makes its driver of.
class CallLab final : public DeviceLab {
 public:
  using DeviceLab::DeviceLab;
  DeviceDriver& driver() override { return driver_; }
  void Enqueue(Stream& stream, std::function<Status()> body) override {
    REQUIRE(dynamic_cast<plugins::CallStream&>(stream).Enqueue(calls_.emplace_back(*this, std::move(body))).ok());
  }

 private:
  struct Work final : plugins::DeviceCall {
    Work(CallLab& lab, std::function<Status()> body) : lab(lab), body(std::move(body)) {}
    Outcome Call() noexcept override { return lab.IsLostNow() ? Outcome{LossOfWork(), true} : Outcome{body()}; }
    void Cancel() noexcept override {}
    CallLab& lab;
    std::function<Status()> body;
  };
  plugins::CallDriver driver_{DeviceId(1u), "fake", "fake:0", {}};
  std::deque<Work> calls_;
};

}  // namespace

const std::vector<DeviceRow>& DeviceLabs() {
  static const std::vector<DeviceRow> rows = {
      {"simulated, virtual clock", MakeLab<SimulatedLab<SimulatedClock::kVirtual>>, false},
      {"simulated, real clock", MakeLab<SimulatedLab<SimulatedClock::kReal>>},
      {"device queue", MakeLab<FakeQueueLab>},
      {"call stream", MakeLab<CallLab>},
      {"fake device", MakeLab<FakeDeviceLab>},
#ifdef PT_DEVICES_CUDA
      CudaRow(),
#endif
#ifdef PT_DEVICES_OPENVINO
      OpenVinoRow(),
#endif
  };
  return rows;
}

}  // namespace pt::testing
