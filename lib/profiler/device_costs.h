// What it costs to launch on a device, to hand over to it and from it, and to copy over its links, whatever is
// computed.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/profiler/timed_queue.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

// A copy between two buffers, on a stream of its own, any number of times.
class CopyWork {
 public:
  // Over a link, between memory as a plan has it: pinned on the host, and the device's.
  static Result<std::unique_ptr<CopyWork>> Over(Machine& machine, LinkId link, uint64_t bytes,
                                                const CancelToken* cancel);
  // The least that a unit can be asked for: one line, over its link or within its device.
  static Result<std::unique_ptr<CopyWork>> Least(Machine& machine, UnitId unit, const CancelToken* cancel);
  ~CopyWork();  // waits for the device
  CopyWork(const CopyWork&) = delete;
  CopyWork& operator=(const CopyWork&) = delete;

  DeviceDriver& driver() const { return driver_; }
  // Once, with an event behind it.
  Status Launch();
  // That many times as one, to be launched on its stream.
  Result<std::unique_ptr<Executable>> Capture(uint32_t copies);
  // The recorded copies, with an event behind them that AwaitLast waits for; nanoseconds of the calling thread for the
  // launch without the event.
  Result<int64_t> Launch(Executable& recorded);
  Status AwaitLast() { return queue_.Await(*event_); }
  bool CanWaitFor(const CopyWork& other) const { return driver_.CanWaitFor(other.driver_); }
  // What is launched next starts when the last launch of `other` is over.
  Status WaitFor(CopyWork& other) { return queue_.stream().Wait(*other.event_); }
  // Nanoseconds of one copy, by the device's clock.
  Result<int64_t> OwnNs();

 private:
  friend Result<int64_t> TimeStreamHandOvers(CopyWork& a, CopyWork& b, uint32_t count);
  CopyWork(DeviceDriver& driver, TimedQueue queue) : driver_(driver), queue_(std::move(queue)) {}
  static Result<std::unique_ptr<CopyWork>> Make(DeviceDriver& driver, const CancelToken* cancel);
  Status EnqueueCopy();

  DeviceDriver& driver_;  // the one that copies
  DeviceId peer_;
  CopyDirection direction_ = CopyDirection::kWithin;
  std::unique_ptr<DeviceBuffer> from_, to_;
  std::unique_ptr<Event> event_;
  TimedQueue queue_;
};

// Nanoseconds of the calling thread for `count` launches with an event each, the device's work not waited for.
Result<int64_t> TimeLaunches(CopyWork& work, uint32_t count);
// The same for what work has recorded, each launch alone, without an event: nothing is launched before the last is
// over.
Result<int64_t> TimeSegmentLaunches(CopyWork& work, Executable& recorded, uint32_t count);
// Nanoseconds for `count` times: from the end of a launch until its end is seen, less the work's own time. Half of it
// lies before the work and half behind, as far as anybody outside the device can tell.
Result<int64_t> TimeLatencies(CopyWork& work, uint32_t count);
// Nanoseconds for 2 * count hand-overs between two streams that wait for each other's events, by the device's clock,
// less the work's own time.
Result<int64_t> TimeStreamHandOvers(CopyWork& a, CopyWork& b, uint32_t count);

}  // namespace pt
