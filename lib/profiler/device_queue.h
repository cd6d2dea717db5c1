// DeviceQueue: a stream of a device with the events that time what is enqueued to it. For the thread that profiles.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/exec/cancel_token.h"

namespace pt {

inline constexpr std::string_view kDeviceHangs = "profiler.device_hangs";

class DeviceQueue {
 public:
  // cancel may be null; driver and cancel must outlive the queue.
  static Result<DeviceQueue> Make(DeviceDriver& driver, const CancelToken* cancel);

  Stream& stream() { return *stream_; }
  // Nanoseconds of the device's clock from the end of what was enqueued before to the end of what `enqueue` enqueues.
  // Returns when the device is idle again, errors included. kInterrupted when cancelled meanwhile.
  Result<int64_t> Time(const std::function<Status()>& enqueue);
  // Waits until the event, recorded before, is ready, as a core of a run does.
  Status Await(Event& event);
  // After an error: drops what has not begun and waits for the rest, so that the memory it uses may be freed.
  // An error (kDeviceHangs) when the device does not come back: then that memory must never be freed.
  Status Drain();
  // After that error: gives up what the device may still use.
  void Abandon();

 private:
  DeviceQueue(DeviceDriver& driver, const CancelToken* cancel) : driver_(driver), cancel_(cancel) {}
  Status MeasureEmpty();
  Result<int64_t> Elapsed(const std::function<Status()>& enqueue);

  DeviceDriver& driver_;
  const CancelToken* cancel_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> begin_, end_;
  int64_t empty_ns_ = 0;  // between two events with nothing in between
};

}  // namespace pt
