#include "lib/profiler/device_queue.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

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
  if (auto filler = driver.Allocate(2 * kFillerBytes); filler.ok()) queue.filler_ = std::move(*filler);
  int64_t least = INT64_MAX;
  for (int i = 0; i < kEmptyRepeats && least > 0; ++i) {
    const Result<int64_t> ns = queue.Elapsed([&queue] { return queue.Fill(); }, [] { return Status(); });
    if (!ns.ok()) {
      if (ns.error().id == kDeviceHangs) queue.Abandon();
      return ns.error();
    }
    least = std::min(least, *ns);
  }
  queue.empty_ns_ = std::max<int64_t>(least, 0);
  return queue;
}

Status DeviceQueue::Fill() {
  if (filler_ == nullptr) return {};  // the device is too small to be kept busy that way
  auto* data = static_cast<std::byte*>(filler_->data());
  return driver_.EnqueueCopy(*stream_, data + kFillerBytes, data, kFillerBytes, CopyDirection::kWithin);
}

Result<int64_t> DeviceQueue::Elapsed(const Work& before, const Work& enqueue) {
  const auto enqueue_all = [&]() -> Status {
    PT_CHECK_OK(before());
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

Result<int64_t> DeviceQueue::Time(const Work& enqueue) {
  return Time([this] { return Fill(); }, enqueue);
}

Result<int64_t> DeviceQueue::Time(const Work& before, const Work& enqueue) {
  PT_ASSIGN(const int64_t ns, Elapsed(before, enqueue));
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
  static_cast<void>(filler_.release());
}

}  // namespace pt
