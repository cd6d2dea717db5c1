// TimedQueue: a stream of a device with the events that time what is enqueued to it. For the thread that profiles.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/exec/cancel_token.h"

namespace pt {

inline constexpr std::string_view kDeviceHangs = "profiler.device_hangs";

// Drops what the stream has not begun and waits for the rest, so that the memory it uses may be freed. An error
// (kDeviceHangs) when the device does not come back: then that memory must never be freed.
Status DrainStream(const DeviceDriver& driver, Stream& stream);

class TimedQueue {
 public:
  // cancel may be null; driver and cancel must outlive the queue.
  static Result<TimedQueue> Make(DeviceDriver& driver, const CancelToken* cancel);

  Stream& stream() { return *stream_; }
  using Work = std::function<Status()>;
  // Nanoseconds of the device's clock from the end of what `before` enqueues to the end of what `enqueue` does. The
  // device is busy meanwhile: on an idle queue, two events are as far apart as the host enqueues them. Where `before`
  // was over sooner than the host had enqueued everything, copies within the device's memory come first from the next
  // call on (primes). Without `before` there is always such a copy. Returns when the device is idle again, errors
  // included. kInterrupted when cancelled meanwhile.
  Result<int64_t> Time(const Work& before, const Work& enqueue);
  Result<int64_t> Time(const Work& enqueue);
  // Such copies come first, and disturb the device's caches.
  bool primes() const { return fills_ > 0; }
  // What the last call's `enqueue`, with an event behind it, took the host.
  int64_t launch_ns() const { return launch_ns_; }
  // Waits until the event, recorded before, is ready, as a core of a run does.
  Status Await(Event& event);
  // After an error: DrainStream of its stream.
  Status Drain() { return DrainStream(driver_, *stream_); }
  // After that error: gives up what the device may still use.
  void Abandon();

 private:
  TimedQueue(DeviceDriver& driver, const CancelToken* cancel) : driver_(driver), cancel_(cancel) {}
  Status Fill();
  Status MeasureItself();
  void Prime(int64_t host_ns, int64_t before_ns);
  Result<int64_t> Elapsed(const Work& before, const Work& enqueue);

  DeviceDriver& driver_;
  const CancelToken* cancel_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> start_, begin_, end_;
  std::unique_ptr<DeviceBuffer> filler_;  // null where there is no room for it
  uint64_t fill_bytes_ = 0;               // copied by one filler
  int64_t fill_ns_ = 0;                   // what that takes
  int64_t fills_ = 0;                     // fillers before each sample
  int64_t launch_ns_ = 0;
  int64_t empty_ns_ = 0;  // between two events with nothing in between
};

}  // namespace pt
