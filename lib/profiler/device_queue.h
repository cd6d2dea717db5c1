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
  using Work = std::function<Status()>;
  // Nanoseconds of the device's clock from the end of what `before` enqueues to the end of what `enqueue` does.
  // `before` keeps the device busy meanwhile: on an idle queue, two events are as far apart as the host enqueues them.
  // Without it that is a copy within the device's memory. Returns when the device is idle again, errors included.
  // kInterrupted when cancelled meanwhile.
  Result<int64_t> Time(const Work& before, const Work& enqueue);
  Result<int64_t> Time(const Work& enqueue);
  // Waits until the event, recorded before, is ready, as a core of a run does.
  Status Await(Event& event);
  // After an error: drops what has not begun and waits for the rest, so that the memory it uses may be freed.
  // An error (kDeviceHangs) when the device does not come back: then that memory must never be freed.
  Status Drain();
  // After that error: gives up what the device may still use.
  void Abandon();

 private:
  DeviceQueue(DeviceDriver& driver, const CancelToken* cancel) : driver_(driver), cancel_(cancel) {}
  Status Fill();
  Result<int64_t> Elapsed(const Work& before, const Work& enqueue);

  DeviceDriver& driver_;
  const CancelToken* cancel_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> begin_, end_;
  std::unique_ptr<DeviceBuffer> filler_;  // null where there is no room for it
  int64_t empty_ns_ = 0;                  // between two events with nothing in between
};

}  // namespace pt
