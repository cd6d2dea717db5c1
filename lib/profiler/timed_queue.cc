#include "lib/profiler/timed_queue.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <thread>

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};  // no kernel worth measuring takes so long
constexpr int kEmptyRepeats = 20;
constexpr uint64_t kMostFillBytes = uint64_t{8} << 20;
constexpr uint64_t kLeastFillBytes = uint64_t{64} << 10;
constexpr double kFillNs = 100'000;  // longer fillers only waste time
constexpr int64_t kMostFills = 256;
constexpr double kReserve = 1.5;  // how much longer the device is kept busy than the host took to enqueue

Error Hangs(const DeviceDriver& driver) {
  return MakeError(ErrorCode::kRunFailed, std::string(kDeviceHangs),
                   "device " + std::to_string(driver.id().value) + " was still busy after " +
                       std::to_string(kPatience.count()) + " s",
                   "reset the device; leave the library that drives it out with --libraries");
}

}  // namespace

Status DrainStream(const DeviceDriver& driver, Stream& stream) {
  stream.Revoke();
  // Its error is the one that led here, or of work that does not count any more.
  const Result<bool> idle = stream.Synchronize(kPatience);
  return idle.ok() && !*idle ? Status(Hangs(driver)) : Status();
}

Result<TimedQueue> TimedQueue::Make(DeviceDriver& driver, const CancelToken* cancel) {
  TimedQueue queue(driver, cancel);
  PT_ASSIGN(queue.stream_, driver.MakeStream());
  PT_ASSIGN(queue.start_, driver.MakeEvent());
  PT_ASSIGN(queue.begin_, driver.MakeEvent());
  PT_ASSIGN(queue.end_, driver.MakeEvent());
  if (auto filler = driver.Allocate(2 * kMostFillBytes); filler.ok()) queue.filler_ = std::move(*filler);
  queue.fill_bytes_ = queue.filler_ != nullptr ? kMostFillBytes : 0;
  if (Status status = queue.MeasureItself(); !status.ok()) {
    if (status.error().id == kDeviceHangs) queue.Abandon();
    return std::move(status).error();
  }
  return queue;
}

// How long a filler takes, cut to what it has to, and two events with nothing between them.
Status TimedQueue::MeasureItself() {
  const auto fill = [this] { return Fill(); };
  const auto nothing = [] { return Status(); };
  PT_ASSIGN(const int64_t whole_ns, Elapsed(fill, fill));
  const double share = std::min(1.0, kFillNs / static_cast<double>(std::max<int64_t>(whole_ns, 1)));
  const auto bytes = static_cast<uint64_t>(share * static_cast<double>(fill_bytes_)) / 64 * 64;
  fill_bytes_ = std::min(fill_bytes_, std::max(bytes, kLeastFillBytes));
  PT_ASSIGN(fill_ns_, Elapsed(fill, fill));
  int64_t least = INT64_MAX;
  for (int i = 0; i < kEmptyRepeats && least > 0; ++i) {
    PT_ASSIGN(const int64_t ns, Elapsed(fill, nothing));
    least = std::min(least, ns);
  }
  empty_ns_ = std::max<int64_t>(least, 0);
  return {};
}

Status TimedQueue::Fill() {
  if (filler_ == nullptr) return {};  // the device is too small to be kept busy that way
  auto* data = static_cast<std::byte*>(filler_->data());
  return driver_.EnqueueCopy(*stream_, data + kMostFillBytes, data, fill_bytes_, CopyDirection::kWithin);
}

void TimedQueue::Prime(int64_t host_ns, int64_t before_ns) {
  fills_ = 0;
  const double missing_ns = kReserve * static_cast<double>(host_ns) - static_cast<double>(before_ns);
  if (filler_ == nullptr || fill_ns_ <= 0 || missing_ns <= 0) return;
  fills_ = static_cast<int64_t>(std::min<double>(kMostFills, std::ceil(missing_ns / static_cast<double>(fill_ns_))));
}

Result<int64_t> TimedQueue::Elapsed(const Work& before, const Work& enqueue) {
  Clock::time_point primed, launched, over;
  const auto enqueue_all = [&]() -> Status {
    for (int64_t i = 0; i < fills_; ++i) PT_CHECK_OK(Fill());
    primed = Clock::now();
    PT_CHECK_OK(stream_->Record(*start_));
    PT_CHECK_OK(before());
    PT_CHECK_OK(stream_->Record(*begin_));
    launched = Clock::now();
    PT_CHECK_OK(enqueue());
    PT_CHECK_OK(stream_->Record(*end_));
    over = Clock::now();
    return Await(*end_);
  };
  if (Status status = enqueue_all(); !status.ok()) {
    PT_CHECK_OK(Drain());
    return std::move(status).error();
  }
  launch_ns_ = (over - launched).count();
  PT_ASSIGN(const int64_t before_ns, begin_->ElapsedNs(*start_));
  Prime((over - primed).count(), before_ns);
  return end_->ElapsedNs(*begin_);
}

Result<int64_t> TimedQueue::Time(const Work& enqueue) {
  return Time([this] { return Fill(); }, enqueue);
}

Result<int64_t> TimedQueue::Time(const Work& before, const Work& enqueue) {
  PT_ASSIGN(const int64_t ns, Elapsed(before, enqueue));
  return std::max<int64_t>(ns - empty_ns_, 1);
}

Status TimedQueue::Await(Event& event) {
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

// Lost on purpose: freed under a device that still works, they would be worse than lost.
void TimedQueue::Abandon() {
  static_cast<void>(stream_.release());
  static_cast<void>(start_.release());
  static_cast<void>(begin_.release());
  static_cast<void>(end_.release());
  static_cast<void>(filler_.release());
}

}  // namespace pt
