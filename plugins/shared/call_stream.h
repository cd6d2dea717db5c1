// CallStream: a stream of a device whose runtime knows only calls that return when their work is over. Each stream has
// a thread that makes its calls, so that those of several streams go on side by side.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plugins/shared/queue_device.h"

namespace pt::plugins {

class CallStream;

// One that a stream's thread makes. In one stream at a time.
class DeviceCall : public DeviceTask {
 public:
  struct Outcome {
    Status status;
    bool lost = false;  // the device is gone with it
  };
  // Makes the call and returns when it is over; on the stream's thread, never twice at once.
  virtual Outcome Call() noexcept = 0;

 protected:
  const std::string& device() const;  // that it was enqueued to last

 private:
  friend class CallStream;
  Status Begin(const WorkTicket& ticket) noexcept final;

  CallStream* stream_ = nullptr;  // likewise
};

class CallStream final : public QueueStream {
 public:
  // cores: where its thread may run, the operating system's numbers, ascending; empty: where this thread may. Errors:
  // kOutOfMemory where the system makes no more threads.
  static Result<std::unique_ptr<CallStream>> Make(std::shared_ptr<DeviceQueue> queue, std::vector<uint32_t> cores);
  ~CallStream() override;  // it is idle

  // The call stays valid until it is over.
  Status Enqueue(DeviceCall& call);

 private:
  friend class DeviceCall;
  explicit CallStream(std::shared_ptr<DeviceQueue> queue) : QueueStream(std::move(queue)) {}
  void Start(DeviceCall& call, const WorkTicket& ticket) noexcept;
  void Work();

  std::mutex mutex_;
  std::condition_variable to_do_;
  DeviceCall* next_ = nullptr;  // given and not yet taken: at most one, since a stream has one piece in progress
  WorkTicket ticket_;
  bool ending_ = false;
  std::thread thread_;
};

// A device of such streams. Thread-safe.
class CallDriver final : public QueueDriver {
 public:
  // cores: of the streams' threads, as CallStream::Make has them.
  CallDriver(DeviceId id, std::string backend, std::string device, std::vector<uint32_t> cores)
      : QueueDriver(id, std::move(backend), std::move(device)), cores_(std::move(cores)) {}
  Result<std::unique_ptr<Stream>> MakeStream() override;

 private:
  const std::vector<uint32_t> cores_;
};

}  // namespace pt::plugins
