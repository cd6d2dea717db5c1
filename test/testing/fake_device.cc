#include "test/testing/fake_device.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace pt::testing {
namespace {

constexpr const char* kRevoked = "stream.revoked";

Error OtherDevice(const char* call) {
  return MakeError(ErrorCode::kUsage, "fake.other_device", std::string(call) + ": something of another device");
}

// What the device says of itself before it takes work.
Status StateOf(const FakeDeviceControl& control) {
  if (!control.lose.load() || !control.lost.load()) return {};
  Error error = MakeError(ErrorCode::kRunFailed, "fake.lost", "the device is lost");
  error.device = "fake";
  return error;
}

class FakeEvent : public Event {
 public:
  explicit FakeEvent(FakeDeviceControl& control) : control_(control) {}

  Result<bool> Ready() override {
    if (!HasReached(recorded_.load())) return false;
    PT_CHECK_OK(StateOf(control_));
    if (const std::optional<Error> error = ErrorOfWork()) return *error;
    return true;
  }
  Result<int64_t> ElapsedNs(const Event& since) const override {
    const auto* other = dynamic_cast<const FakeEvent*>(&since);
    if (other == nullptr || &other->control_ != &control_) return OtherDevice("ElapsedNs");
    for (const FakeEvent* event : {this, other}) {
      if (event->HasReached(std::max<uint64_t>(event->recorded_.load(), 1))) continue;
      return MakeError(ErrorCode::kUsage, "fake.not_ready", "ElapsedNs: an event is not ready yet");
    }
    return at_ns_.load() - other->at_ns_.load();
  }

  bool IsOf(const FakeDeviceControl& control) const { return &control_ == &control; }
  // The number of a record: the point that is asked for by it.
  uint64_t Record() { return recorded_.fetch_add(1) + 1; }
  uint64_t recorded() const { return recorded_.load(); }
  bool HasReached(uint64_t record) const { return reached_.load() >= record; }
  std::optional<Error> ErrorOfWork() const {
    if (!failed_.load()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return error_;
  }
  void Reach(uint64_t record, const std::optional<Error>& error) {
    if (error || failed_.load()) {
      const std::lock_guard lock(mutex_);
      error_ = error;
    }
    failed_.store(error.has_value());
    at_ns_.store(std::chrono::steady_clock::now().time_since_epoch().count());
    reached_.store(record);
  }

 private:
  FakeDeviceControl& control_;
  std::atomic<uint64_t> recorded_{0}, reached_{0};
  std::atomic<int64_t> at_ns_{0};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;  // taken for errors alone
  std::optional<Error> error_;
};

class FakeStream : public Stream {
  struct Task {
    std::function<Status()> work = {};  // or one of:
    FakeEvent* records = nullptr;
    FakeEvent* waits_for = nullptr;
    uint64_t record = 0;  // which of the event
  };

 public:
  explicit FakeStream(FakeDeviceControl& control) : control_(control), thread_([this] { Work(); }) {}
  ~FakeStream() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  bool IsOf(const FakeDeviceControl& control) const { return &control_ == &control; }

  Status Enqueue(std::function<Status()> work) {
    PT_CHECK_OK(StateOf(control_));
    Push({.work = std::move(work)});
    return {};
  }
  Status Record(Event& event) override {
    auto* mine = dynamic_cast<FakeEvent*>(&event);
    if (mine == nullptr || !mine->IsOf(control_)) return OtherDevice("Record");
    PT_CHECK_OK(StateOf(control_));
    Push({.records = mine, .record = mine->Record()});
    return {};
  }
  Status Wait(Event& event) override {
    auto* mine = dynamic_cast<FakeEvent*>(&event);
    if (mine == nullptr || !mine->IsOf(control_)) return OtherDevice("Wait");
    Push({.waits_for = mine, .record = mine->recorded()});
    return {};
  }
  Result<bool> Synchronize(std::chrono::nanoseconds patience) override {
    const auto until = std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(patience, kLongestWait);
    std::unique_lock lock(mutex_);
    if (!idle_.wait_until(lock, until, [&] { return tasks_.empty() && !busy_; })) return false;
    std::optional<Error> error;
    std::swap(error, error_);
    PT_CHECK_OK(StateOf(control_));
    if (error && error->id != kRevoked) return *std::move(error);
    return true;
  }
  void Revoke() override {
    const std::lock_guard lock(mutex_);
    if (error_ || (tasks_.empty() && !busy_)) return;
    error_ = MakeError(ErrorCode::kRunFailed, kRevoked, "the work was revoked before it began");
  }

 private:
  static constexpr std::chrono::hours kLongestWait{1000};  // the clock's range ends some centuries on

  void Push(Task task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      const std::optional<Error> before = error_;
      busy_ = true;
      lock.unlock();
      const Status status = Do(task, before);
      lock.lock();
      busy_ = false;
      if (!status.ok() && !error_) error_ = status.error();
      idle_.notify_all();
    }
  }

  // before: what went wrong in this stream since Synchronize. What follows an error is not done.
  Status Do(const Task& task, const std::optional<Error>& before) {
    if (task.records != nullptr) {
      task.records->Reach(task.record, before);
      return {};
    }
    if (task.waits_for != nullptr) {
      while (!task.waits_for->HasReached(task.record)) sched_yield();
      const std::optional<Error> error = task.waits_for->ErrorOfWork();
      return error && task.record > 0 ? Status(*error) : Status();
    }
    if (before) return {};
    ++control_.begun;
    while (control_.stall.load()) sched_yield();
    if (control_.lose.load()) control_.lost.store(true);
    PT_CHECK_OK(StateOf(control_));
    return task.work();
  }

  FakeDeviceControl& control_;
  std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::deque<Task> tasks_;
  bool ending_ = false;
  bool busy_ = false;  // with a task
  std::optional<Error> error_;
  std::thread thread_;
};

class FakeBuffer : public DeviceBuffer {
 public:
  explicit FakeBuffer(uint64_t bytes) : memory_(bytes + 64), bytes_(bytes) {}
  void* data() override {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return reinterpret_cast<void*>((address + 63) / 64 * 64);
  }
  uint64_t bytes() const override { return bytes_; }

 private:
  std::vector<std::byte> memory_;
  uint64_t bytes_;
};

class FakeDriver : public DeviceDriver {
 public:
  FakeDriver(DeviceId id, FakeDeviceControl& control) : id_(id), control_(control) {}
  DeviceId id() const override { return id_; }
  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override {
    return std::unique_ptr<DeviceBuffer>(std::make_unique<FakeBuffer>(bytes));
  }
  Result<std::unique_ptr<DeviceBuffer>> AllocateHost(uint64_t bytes) override { return Allocate(bytes); }
  Result<std::unique_ptr<Stream>> MakeStream() override {
    return std::unique_ptr<Stream>(std::make_unique<FakeStream>(control_));
  }
  Result<std::unique_ptr<Event>> MakeEvent() override {
    return std::unique_ptr<Event>(std::make_unique<FakeEvent>(control_));
  }
  Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection, DeviceId) override {
    auto* mine = dynamic_cast<FakeStream*>(&stream);
    if (mine == nullptr || !mine->IsOf(control_)) return OtherDevice("EnqueueCopy");
    return mine->Enqueue([=] { return std::memcpy(to, from, bytes), Status(); });
  }

 private:
  DeviceId id_;
  FakeDeviceControl& control_;
};

}  // namespace

std::unique_ptr<DeviceDriver> MakeFakeDriver(DeviceId id, FakeDeviceControl& control) {
  return std::make_unique<FakeDriver>(id, control);
}

Result<bool> EnqueueOnFakeDevice(Stream& stream, std::function<Status()> work) {
  auto* fake = dynamic_cast<FakeStream*>(&stream);
  if (fake == nullptr) return false;
  PT_CHECK_OK(fake->Enqueue(std::move(work)));
  return true;
}

}  // namespace pt::testing
