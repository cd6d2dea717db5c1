#include "lib/profiler/device_runner.h"

#include <algorithm>

#include "lib/profiler/device_queue.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

constexpr uint64_t kMostShareOfMemory = 8;  // no device has caches of that part of its memory

class DeviceRunner : public Runner {
 public:
  DeviceRunner(Machine& machine, UnitId unit, DeviceQueue queue)
      : machine_(machine), driver_(machine.driver(machine.platform().device_of(unit))), queue_(std::move(queue)) {}

  Status AllocateJunk(uint64_t bytes) {
    const uint64_t memory_bytes = machine_.platform().device(driver_.id()).memory_bytes;
    if (memory_bytes > 0) bytes = std::min(bytes, memory_bytes / kMostShareOfMemory);
    PT_ASSIGN(junk_, driver_.Allocate(bytes / 2));
    PT_ASSIGN(more_junk_, driver_.Allocate(bytes / 2));
    return {};
  }

  CompileContext compile_context() const override {
    return {machine_.platform(), driver_, nullptr, machine_.weights(), nullptr};
  }

  // The copies before it keep the queue filled while the kernel is launched, so that its time is the device's alone.
  Result<Timing> Time(Subject& subject) override {
    Result<int64_t> ns = TimeUnderCopies(subject);
    if (ns.ok()) return Timing{*ns, false};
    const Error& error = ns.error();
    if (error.id == kDeviceHangs) {
      subject.Abandon();
      queue_.Abandon();
      static_cast<void>(junk_.release());
      static_cast<void>(more_junk_.release());
    } else if (subject.origin() == Origin::kElsewhere) {
      subject.set_origin(Origin::kDevice);
    }
    return error;
  }

 private:
  Result<int64_t> TimeUnderCopies(Subject& subject) {
    const auto prepare = [&]() -> Status {
      Stream& stream = queue_.stream();
      PT_CHECK_OK(
          driver_.EnqueueCopy(stream, more_junk_->data(), junk_->data(), junk_->bytes(), CopyDirection::kWithin));
      for (const Subject::Input& input : subject.inputs()) {
        if (input.fresh.empty()) continue;
        PT_CHECK_OK(driver_.EnqueueCopy(stream, input.buffer->data(), input.fresh.data(), input.fresh.size(),
                                        CopyDirection::kToDevice));
      }
      return {};
    };
    return queue_.Time(prepare, [&] { return subject.Enqueue(queue_.stream()); });
  }

  Machine& machine_;
  DeviceDriver& driver_;
  DeviceQueue queue_;
  std::unique_ptr<DeviceBuffer> junk_, more_junk_;
};

}  // namespace

Result<std::unique_ptr<Runner>> MakeDeviceRunner(Machine& machine, UnitId unit, uint64_t reuse_distance,
                                                 const CancelToken* cancel) {
  PT_ASSIGN(DeviceQueue queue, DeviceQueue::Make(machine.driver(machine.platform().device_of(unit)), cancel));
  auto runner = std::make_unique<DeviceRunner>(machine, unit, std::move(queue));
  PT_CHECK_OK(runner->AllocateJunk(reuse_distance));
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace pt
