#include "test/testing/remote_device.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

namespace pt::testing {
namespace {

// With this bit flipped an address is none, on any 64-bit processor in use.
constexpr uintptr_t kForeign = uintptr_t{1} << 62;

void* Flipped(const void* address) { return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) ^ kForeign); }

class RemoteBuffer : public DeviceBuffer {
 public:
  RemoteBuffer(uint64_t bytes, RemoteControl& control) : control_(control), memory_(bytes + 64), bytes_(bytes) {
    const int64_t live = control_.live_bytes.fetch_add(static_cast<int64_t>(bytes)) + static_cast<int64_t>(bytes);
    control_.most_bytes = std::max(control_.most_bytes.load(), live);
  }
  ~RemoteBuffer() override { control_.live_bytes.fetch_sub(static_cast<int64_t>(bytes_)); }
  void* data() override {
    return Flipped(reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory_.data()) + 63) / 64 * 64));
  }
  uint64_t bytes() const override { return bytes_; }

 private:
  RemoteControl& control_;
  std::vector<std::byte> memory_;
  uint64_t bytes_;
};

class PinnedBuffer : public DeviceBuffer {
 public:
  explicit PinnedBuffer(uint64_t bytes) : memory_(bytes) {}
  void* data() override { return memory_.data(); }
  uint64_t bytes() const override { return memory_.size(); }

 private:
  std::vector<std::byte> memory_;
};

class RemoteStream;

class RemoteEvent : public Event {
 public:
  explicit RemoteEvent(RemoteControl& control) : control_(control) {}
  Result<bool> Ready() override;
  Result<int64_t> ElapsedNs(const Event& since) const override {
    return at_ns - dynamic_cast<const RemoteEvent&>(since).at_ns;
  }

  RemoteStream* stream = nullptr;  // that it was recorded in last
  bool reached = true;
  int64_t at_ns = 0;

 private:
  RemoteControl& control_;
};

class RemoteStream : public Stream {
 public:
  explicit RemoteStream(RemoteControl& control) : control_(control) {}

  void Push(int64_t ns, std::function<void()> work) {
    tasks_.push_back([this, ns, work = std::move(work)] {
      work();
      clock_ns_ += ns;
    });
  }
  Status Record(Event& event) override {
    auto& mine = dynamic_cast<RemoteEvent&>(event);
    mine.stream = this;
    mine.reached = false;
    tasks_.push_back([this, &mine] {
      mine.at_ns = clock_ns_;
      mine.reached = true;
    });
    return {};
  }
  Status Wait(Event& event) override {
    auto& other = dynamic_cast<RemoteEvent&>(event);
    if (other.stream == nullptr) return {};
    // What the event stands for now, whatever it is recorded for later.
    RemoteStream* const from = other.stream;
    const size_t tasks = from->done_ + from->tasks_.size();
    tasks_.push_back([this, from, tasks] {
      from->WorkUntil(tasks);
      if (from != this) clock_ns_ = std::max(clock_ns_, from->clock_ns_ + control_.wait_ns);
    });
    return {};
  }
  Result<bool> Synchronize(std::chrono::nanoseconds) override {
    WorkUntil(done_ + tasks_.size());
    return true;
  }
  void Revoke() override { tasks_.clear(); }

  void WorkUntil(size_t tasks) {
    while (done_ < tasks && !tasks_.empty()) {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      ++done_;
      task();
    }
  }
  void WorkUntil(const RemoteEvent& event) {
    while (!event.reached && !tasks_.empty()) WorkUntil(done_ + 1);
  }

 private:
  RemoteControl& control_;
  std::deque<std::function<void()>> tasks_;
  size_t done_ = 0;
  int64_t clock_ns_ = 0;
};

Result<bool> RemoteEvent::Ready() {
  if (control_.lost) return MakeError(ErrorCode::kRunFailed, "remote.lost", "the device is lost");
  if (stream != nullptr) stream->WorkUntil(*this);
  return true;
}

class RemoteDriver : public DeviceDriver {
 public:
  RemoteDriver(DeviceId id, RemoteControl& control) : id_(id), control_(control) {}
  DeviceId id() const override { return id_; }
  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override {
    return std::unique_ptr<DeviceBuffer>(std::make_unique<RemoteBuffer>(bytes, control_));
  }
  Result<std::unique_ptr<DeviceBuffer>> AllocateHost(uint64_t bytes) override {
    ++control_.pinned;
    return std::unique_ptr<DeviceBuffer>(std::make_unique<PinnedBuffer>(bytes));
  }
  Result<std::unique_ptr<Stream>> MakeStream() override {
    return std::unique_ptr<Stream>(std::make_unique<RemoteStream>(control_));
  }
  Result<std::unique_ptr<Event>> MakeEvent() override {
    return std::unique_ptr<Event>(std::make_unique<RemoteEvent>(control_));
  }
  Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                     DeviceId) override {
    ++(direction == CopyDirection::kToDevice     ? control_.copies_in
       : direction == CopyDirection::kFromDevice ? control_.copies_out
                                                 : control_.copies_within);
    void* const target = direction == CopyDirection::kFromDevice ? to : Flipped(to);
    const void* const source = direction == CopyDirection::kToDevice ? from : Flipped(from);
    const int64_t ns = control_.copy_ns + static_cast<int64_t>(bytes / 16);
    dynamic_cast<RemoteStream&>(stream).Push(ns, [=] { std::memcpy(target, source, bytes); });
    return {};
  }

 private:
  DeviceId id_;
  RemoteControl& control_;
};

}  // namespace

std::unique_ptr<DeviceDriver> MakeRemoteDriver(DeviceId id, RemoteControl& control) {
  return std::make_unique<RemoteDriver>(id, control);
}

Status LaunchOnRemote(Stream& stream, int64_t ns, std::function<void()> work) {
  auto* remote = dynamic_cast<RemoteStream*>(&stream);
  if (remote == nullptr) return MakeError(ErrorCode::kInternal, "remote.stream", "a stream of another device");
  remote->Push(ns, std::move(work));
  return {};
}

void* InRemoteMemory(void* address) { return Flipped(address); }

}  // namespace pt::testing
