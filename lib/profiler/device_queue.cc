#include "lib/profiler/device_queue.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};  // no kernel worth measuring takes so long
constexpr int kEmptyRepeats = 20;
constexpr size_t kFillerBytes = size_t{8} << 20;  // copied in more time than two events take to enqueue

Error Hangs(const DeviceDriver& driver) {
  return MakeError(ErrorCode::kRunFailed, std::string(kDeviceHangs),
                   "device " + std::to_string(driver.id().value) + " was still busy after " +
                       std::to_string(kPatience.count()) + " s",
                   "reset the device; leave the library that drives it out with --libraries");
}

}  // namespace

Result<DeviceQueue> DeviceQueue::Make(DeviceDriver& driver, const CancelToken* cancel) {
  DeviceQueue queue(driver, cancel);
  PT_ASSIGN(queue.stream_, driver.MakeStream());
  PT_ASSIGN(queue.begin_, driver.MakeEvent());
  PT_ASSIGN(queue.end_, driver.MakeEvent());
  PT_CHECK_OK(queue.MeasureEmpty());
  return queue;
}

// Behind a copy, as kernels are timed: on an idle queue two events are as far apart as the host enqueues them.
Status DeviceQueue::MeasureEmpty() {
  Result<std::unique_ptr<DeviceBuffer>> filler = driver_.Allocate(2 * kFillerBytes);
  const auto measure = [&]() -> Result<int64_t> {
    if (filler.ok()) {  // else the device is too small to be kept busy that way
      auto* data = static_cast<std::byte*>((*filler)->data());
      PT_CHECK_OK(driver_.EnqueueCopy(*stream_, data + kFillerBytes, data, kFillerBytes, CopyDirection::kWithin));
    }
    return Elapsed([] { return Status(); });
  };
  int64_t least = INT64_MAX;
  for (int i = 0; i < kEmptyRepeats && least > 0; ++i) {
    const Result<int64_t> ns = measure();
    if (!ns.ok()) {
      const Status idle = Drain();
      if (!idle.ok() && filler.ok()) static_cast<void>(filler->release());  // the device may still write to it
      return idle.ok() ? ns.error() : idle.error();
    }
    least = std::min(least, *ns);
  }
  empty_ns_ = std::max<int64_t>(least, 0);
  return {};
}

Result<int64_t> DeviceQueue::Elapsed(const std::function<Status()>& enqueue) {
  const auto enqueue_all = [&]() -> Status {
    PT_CHECK_OK(stream_->Record(*begin_));
    PT_CHECK_OK(enqueue());
    PT_CHECK_OK(stream_->Record(*end_));
    return Await(*end_);
  };
  if (Status status = enqueue_all(); !status.ok()) {
    PT_CHECK_OK(Drain());
    return std::move(status).error();
  }
  return end_->ElapsedNs(*begin_);
}

Result<int64_t> DeviceQueue::Time(const std::function<Status()>& enqueue) {
  PT_ASSIGN(const int64_t ns, Elapsed(enqueue));
  return std::max<int64_t>(ns - empty_ns_, 1);
}

Status DeviceQueue::Await(Event& event) {
  const Clock::time_point give_up = Clock::now() + kPatience;
  for (;;) {
    PT_ASSIGN(const bool ready, event.Ready());
    if (ready) return {};
    if (cancel_ != nullptr && cancel_->cancelled()) {
      return MakeError(ErrorCode::kInterrupted, "profiler.cancelled", "cancelled while a device works");
    }
    if (Clock::now() > give_up) return Hangs(driver_);
    std::this_thread::yield();
  }
}

Status DeviceQueue::Drain() {
  stream_->Revoke();
  // Its error is the one that led here, or of work that does not count any more.
  const Result<bool> idle = stream_->Synchronize(kPatience);
  return idle.ok() && !*idle ? Status(Hangs(driver_)) : Status();
}

// Lost on purpose: freed under a device that still works, they would be worse than lost.
void DeviceQueue::Abandon() {
  static_cast<void>(stream_.release());
  static_cast<void>(begin_.release());
  static_cast<void>(end_.release());
}

}  // namespace pt
