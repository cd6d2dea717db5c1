// DeviceQueue: what a device has been given whose runtime has no streams. Such runtimes know tasks that run at any time
// and tell when they are over; order, waits, copies and marks are made of those here.
//
// Each stream has a list of its own and one piece of work in progress. A list goes on when somebody gives it more or
// asks for an event, and else on a thread of the queue, which makes copies too. Never on the thread that tells of an
// end: OpenVINO starts a request again only when its call has returned.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::plugins {

class DeviceQueue;

// Names a piece of work in progress; whoever does it says with this that it is over, once.
struct WorkTicket {
  DeviceQueue* queue = nullptr;
  uint32_t stream = 0;
  uint64_t serial = 0;
};

// Something that a device does on its own.
class DeviceTask {
 public:
  virtual ~DeviceTask() = default;
  // Begins it and returns. When it is over, DeviceQueue::End is called with the ticket, on any thread, also before
  // Begin returns. After an error nothing is called. Not called again before the end.
  virtual Status Begin(const WorkTicket& ticket) noexcept = 0;
  // Asks for an early end, which is told like any other; a wish.
  virtual void Cancel() noexcept = 0;
};

// What an event knows of its last record. Guarded by the queue.
struct EventMark {
  uint64_t recorded = 0, reached = 0;  // how often it was recorded, and which of these was reached last
  std::chrono::steady_clock::time_point at = {};
  std::optional<Error> error;  // of the work up to the point reached last
};

// Thread-safe. Tasks, memory and marks outlive the work that names them.
class DeviceQueue {
 public:
  // backend: begins the ids of errors ("openvino.lost"). device: by its name in the platform.
  DeviceQueue(std::string backend, std::string device);
  ~DeviceQueue();  // all streams are idle, or the process ends
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  const std::string& backend() const { return backend_; }
  const std::string& device() const { return device_; }
  uint32_t AddStream();
  void RemoveStream(uint32_t stream);  // it is idle

  // These append to the stream's list. Errors: kRunFailed, "BACKEND.lost" after the device was lost.
  Status Do(uint32_t stream, DeviceTask& task);
  Status Copy(uint32_t stream, void* to, const void* from, uint64_t bytes);
  void Record(uint32_t stream, EventMark& mark);
  void Wait(uint32_t stream, EventMark& mark);  // for what was recorded last

  // As Event::Ready, Stream::Synchronize and Stream::Revoke say.
  Result<bool> IsReady(const EventMark& mark);
  std::optional<std::chrono::steady_clock::time_point> ReachedAt(const EventMark& mark);
  Result<bool> Synchronize(uint32_t stream, std::chrono::nanoseconds patience);
  void Revoke(uint32_t stream);
  void Forget(const EventMark& mark);  // it is going to be destroyed

  // The piece of work is over, with that status. lost: the device is gone with it.
  void End(const WorkTicket& ticket, Status status, bool lost) noexcept;

 private:
  struct Item {
    enum class Kind : uint8_t { kTask, kCopy, kRecord, kWait } kind = Kind::kTask;
    DeviceTask* task = nullptr;
    void* to = nullptr;
    const void* from = nullptr;
    uint64_t bytes = 0;
    EventMark* mark = nullptr;
    uint64_t count = 0;  // which record of the mark
    bool dropped = false;
  };
  struct Lane {
    bool used = false;
    std::vector<Item> items;  // from `next` on
    size_t next = 0;
    enum class State : uint8_t { kIdle, kBegun, kToCopy, kCopying } state = State::kIdle;
    uint64_t serial = 0;         // of the piece in progress
    std::optional<Error> error;  // the first since Synchronize: what follows is not done
    bool open() const { return next < items.size(); }
  };
  using Lock = std::unique_lock<std::mutex>;

  Error Lost() const;
  Status Append(uint32_t stream, const Item& item);
  // Goes on with all lists as far as they go.
  void Advance(Lock& lock);
  bool Step(uint32_t stream, Lock& lock);
  bool BeginTask(uint32_t stream, Lock& lock);
  void Finish(Lane& lane, const Status& status);
  void Reach(Lane& lane, const Item& item);
  void Work();

  const std::string backend_, device_;
  std::mutex mutex_;
  std::condition_variable changed_, to_do_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  uint64_t serial_ = 0;
  bool lost_ = false, ending_ = false;
  bool stirred_ = false;  // some piece is over and its list has not gone on
  std::thread worker_;    // the last member: it lives on the others
};

}  // namespace pt::plugins
