#include "lib/profiler/device_costs.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kLineBytes = 64;
constexpr uint32_t kLaunchesAtOnce = 50;  // fewer than any queue holds, so that none of them waits for room

}  // namespace

Result<std::unique_ptr<CopyWork>> CopyWork::Make(DeviceDriver& driver, const CancelToken* cancel) {
  PT_ASSIGN(TimedQueue queue, TimedQueue::Make(driver, cancel));
  std::unique_ptr<CopyWork> work(new CopyWork(driver, std::move(queue)));
  PT_ASSIGN(work->event_, driver.MakeUntimedEvent());
  return work;
}

// Between the host and a device the device's driver copies, between two devices that of the sender.
Result<std::unique_ptr<CopyWork>> CopyWork::Over(Machine& machine, LinkId link, uint64_t bytes,
                                                 const CancelToken* cancel) {
  const Link& ends = machine.platform().link(link);
  const bool to_device = IsHost(ends.from);
  PT_ASSIGN(std::unique_ptr<CopyWork> work, Make(machine.driver(to_device ? ends.to : ends.from), cancel));
  work->peer_ = to_device ? ends.from : ends.to;
  work->direction_ = to_device ? CopyDirection::kToDevice : CopyDirection::kFromDevice;
  const auto allocate = [&](DeviceId end) {
    return IsHost(end) ? work->driver_.AllocateHost(bytes) : machine.driver(end).Allocate(bytes);
  };
  PT_ASSIGN(work->from_, allocate(ends.from));
  PT_ASSIGN(work->to_, allocate(ends.to));
  return work;
}

Result<std::unique_ptr<CopyWork>> CopyWork::Least(Machine& machine, UnitId unit, const CancelToken* cancel) {
  const Platform& platform = machine.platform();
  if (const std::optional<LinkId> link = platform.unit(unit).link) return Over(machine, *link, kLineBytes, cancel);
  PT_ASSIGN(std::unique_ptr<CopyWork> work, Make(machine.driver(platform.device_of(unit)), cancel));
  PT_ASSIGN(work->from_, work->driver_.Allocate(kLineBytes));
  PT_ASSIGN(work->to_, work->driver_.Allocate(kLineBytes));
  return work;
}

CopyWork::~CopyWork() {
  if (queue_.Drain().ok()) return;
  queue_.Abandon();
  static_cast<void>(from_.release());
  static_cast<void>(to_.release());
  static_cast<void>(event_.release());
}

Status CopyWork::EnqueueCopy() {
  return driver_.EnqueueCopy(queue_.stream(), to_->data(), from_->data(), to_->bytes(), direction_, peer_);
}

Status CopyWork::Launch() {
  PT_CHECK_OK(EnqueueCopy());
  return queue_.stream().Record(*event_);
}

Result<std::unique_ptr<Executable>> CopyWork::Capture(uint32_t copies) {
  PT_CHECK_OK(queue_.stream().BeginCapture());
  Status recorded;
  for (uint32_t i = 0; i < copies && recorded.ok(); ++i) recorded = EnqueueCopy();
  Result<std::unique_ptr<Executable>> executable = queue_.stream().EndCapture();  // in any case
  PT_CHECK_OK(std::move(recorded));
  return executable;
}

Result<int64_t> CopyWork::Launch(Executable& recorded) {
  const Clock::time_point begin = Clock::now();
  PT_CHECK_OK(recorded.Launch(queue_.stream()));
  const int64_t ns = (Clock::now() - begin).count();
  PT_CHECK_OK(queue_.stream().Record(*event_));
  return ns;
}

Result<int64_t> CopyWork::OwnNs() {
  return queue_.Time([this] { return EnqueueCopy(); });
}

Result<int64_t> TimeLaunches(CopyWork& work, uint32_t count) {
  int64_t ns = 0;
  for (uint32_t done = 0; done < count;) {
    const uint32_t now = std::min(kLaunchesAtOnce, count - done);
    const Clock::time_point begin = Clock::now();
    for (uint32_t i = 0; i < now; ++i) PT_CHECK_OK(work.Launch());
    ns += (Clock::now() - begin).count();
    PT_CHECK_OK(work.AwaitLast());
    done += now;
  }
  return ns;
}

Result<int64_t> TimeSegmentLaunches(CopyWork& work, Executable& recorded, uint32_t count) {
  int64_t ns = 0;
  for (uint32_t i = 0; i < count; ++i) {
    PT_ASSIGN(const int64_t launch_ns, work.Launch(recorded));
    PT_CHECK_OK(work.AwaitLast());
    ns += launch_ns;
  }
  return ns;
}

Result<int64_t> TimeLatencies(CopyWork& work, uint32_t count) {
  PT_ASSIGN(const int64_t own_ns, work.OwnNs());
  int64_t ns = 0;
  for (uint32_t i = 0; i < count; ++i) {
    PT_CHECK_OK(work.Launch());
    const Clock::time_point launched = Clock::now();
    PT_CHECK_OK(work.AwaitLast());
    ns += (Clock::now() - launched).count();
  }
  return std::max<int64_t>(ns - own_ns * count, 0);  // short work may be over before its launch returns
}

Result<int64_t> TimeStreamHandOvers(CopyWork& a, CopyWork& b, uint32_t count) {
  PT_ASSIGN(const int64_t a_ns, a.OwnNs());
  PT_ASSIGN(const int64_t b_ns, b.OwnNs());
  PT_ASSIGN(const int64_t ns, a.queue_.Time([&]() -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      PT_CHECK_OK(a.Launch());
      PT_CHECK_OK(b.WaitFor(a));
      PT_CHECK_OK(b.Launch());
      PT_CHECK_OK(a.WaitFor(b));
    }
    return {};
  }));
  return std::max<int64_t>(ns - (a_ns + b_ns) * count, 0);
}

}  // namespace pt
