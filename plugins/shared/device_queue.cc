#include "plugins/shared/device_queue.h"

#include <algorithm>
#include <cstring>

#include "plugins/shared/own_thread.h"

namespace pt::plugins {
namespace {

constexpr const char* kRevoked = "stream.revoked";
constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(24 * 365);

}  // namespace

DeviceQueue::DeviceQueue(std::string backend, std::string device)
    : backend_(std::move(backend)), device_(std::move(device)), worker_([this] { Work(); }) {}

DeviceQueue::~DeviceQueue() {
  {
    const Lock lock(mutex_);
    ending_ = true;
  }
  to_do_.notify_all();
  worker_.join();
}

uint32_t DeviceQueue::AddStream() {
  const Lock lock(mutex_);
  const auto unused = std::ranges::find_if(lanes_, [](const auto& lane) { return !lane->used; });
  const auto number = static_cast<uint32_t>(unused - lanes_.begin());
  if (unused == lanes_.end()) lanes_.push_back(std::make_unique<Lane>());
  lanes_[number]->used = true;
  return number;
}

void DeviceQueue::RemoveStream(uint32_t stream) {
  const Lock lock(mutex_);
  Lane& lane = *lanes_[stream];
  lane.used = false;
  lane.error.reset();
}

Error DeviceQueue::Lost() const {
  Error error = MakeError(ErrorCode::kRunFailed, backend_ + ".lost", "device " + device_ + " is lost",
                          "a process that has lost a device cannot use it again: start it anew");
  error.device = device_;
  return error;
}

Status DeviceQueue::Append(uint32_t stream, const Item& item) {
  Lock lock(mutex_);
  if (lost_) return Lost();
  lanes_[stream]->items.push_back(item);
  Advance(lock);
  return {};
}

Status DeviceQueue::Do(uint32_t stream, DeviceTask& task) {
  Item item;
  item.kind = Item::Kind::kTask;
  item.task = &task;
  return Append(stream, item);
}

Status DeviceQueue::Copy(uint32_t stream, void* to, const void* from, uint64_t bytes) {
  Item item;
  item.kind = Item::Kind::kCopy;
  item.to = to;
  item.from = from;
  item.bytes = bytes;
  return Append(stream, item);
}

// Also of a lost device: what waits for the mark is to hear of it.
void DeviceQueue::Record(uint32_t stream, EventMark& mark) {
  Lock lock(mutex_);
  Item item;
  item.kind = Item::Kind::kRecord;
  item.mark = &mark;
  item.count = ++mark.recorded;
  lanes_[stream]->items.push_back(item);
  Advance(lock);
}

void DeviceQueue::Wait(uint32_t stream, EventMark& mark) {
  Lock lock(mutex_);
  Item item;
  item.kind = Item::Kind::kWait;
  item.mark = &mark;
  item.count = mark.recorded;
  lanes_[stream]->items.push_back(item);
  Advance(lock);
}

Result<bool> DeviceQueue::IsReady(const EventMark& mark) {
  Lock lock(mutex_);
  if (stirred_) Advance(lock);
  if (mark.reached < mark.recorded) return false;
  if (mark.error) return *mark.error;
  return true;
}

std::optional<std::chrono::steady_clock::time_point> DeviceQueue::ReachedAt(const EventMark& mark) {
  const Lock lock(mutex_);
  if (mark.recorded == 0 || mark.reached < mark.recorded) return std::nullopt;
  return mark.at;
}

Result<bool> DeviceQueue::Synchronize(uint32_t stream, std::chrono::nanoseconds patience) {
  const auto until = std::chrono::steady_clock::now() + std::min(patience, kLongestWait);
  Lock lock(mutex_);
  Lane& lane = *lanes_[stream];
  if (!changed_.wait_until(lock, until, [&] { return !lane.open(); })) return false;
  std::optional<Error> error;
  std::swap(error, lane.error);
  if (error && error->id != kRevoked) return *std::move(error);
  return true;
}

void DeviceQueue::Revoke(uint32_t stream) {
  Lock lock(mutex_);
  Lane& lane = *lanes_[stream];
  if (!lane.open()) return;
  if (!lane.error) lane.error = MakeError(ErrorCode::kRunFailed, kRevoked, "the work was revoked before it began");
  const size_t begun = lane.state == Lane::State::kIdle ? 0 : 1;
  for (size_t i = lane.next + begun; i < lane.items.size(); ++i) lane.items[i].dropped = true;
  DeviceTask* const running = lane.state == Lane::State::kBegun ? lane.items[lane.next].task : nullptr;
  const uint64_t serial = lane.serial;
  Advance(lock);
  // Without the lock, since the end may be told from within. The task lives: its end has not been seen by whoever owns
  // it.
  if (running == nullptr || lane.state != Lane::State::kBegun || lane.serial != serial) return;
  lock.unlock();
  running->Cancel();
}

void DeviceQueue::Forget(const EventMark& mark) {
  const Lock lock(mutex_);
  for (const auto& lane : lanes_) {
    for (size_t i = lane->next; i < lane->items.size(); ++i) {
      if (lane->items[i].mark == &mark) lane->items[i].mark = nullptr;
    }
  }
}

void DeviceQueue::End(const WorkTicket& ticket, Status status, bool lost) noexcept {
  const Lock lock(mutex_);
  Lane& lane = *lanes_[ticket.stream];
  if (lane.state != Lane::State::kBegun || lane.serial != ticket.serial) return;
  lost_ |= lost;
  Finish(lane, lost ? Status(Lost()) : std::move(status));
  stirred_ = true;
  to_do_.notify_one();
}

void DeviceQueue::Finish(Lane& lane, const Status& status) {
  if (!status.ok() && !lane.error) lane.error = status.error();
  lane.state = Lane::State::kIdle;
  if (++lane.next == lane.items.size()) {
    lane.items.clear();  // keeps its memory
    lane.next = 0;
  }
  changed_.notify_all();
}

void DeviceQueue::Reach(Lane& lane, const Item& item) {
  if (item.mark != nullptr && item.mark->reached < item.count) {
    item.mark->reached = item.count;
    item.mark->at = std::chrono::steady_clock::now();
    item.mark->error = lane.error;
  }
  Finish(lane, {});
}

bool DeviceQueue::BeginTask(uint32_t stream, Lock& lock) {
  Lane& lane = *lanes_[stream];
  DeviceTask& task = *lane.items[lane.next].task;
  lane.state = Lane::State::kBegun;
  lane.serial = ++serial_;
  const WorkTicket ticket{this, stream, lane.serial};
  lock.unlock();
  Status begun = task.Begin(ticket);
  lock.lock();
  if (!begun.ok() && lane.state == Lane::State::kBegun && lane.serial == ticket.serial) Finish(lane, begun);
  return true;
}

bool DeviceQueue::Step(uint32_t stream, Lock& lock) {
  Lane& lane = *lanes_[stream];
  if (!lane.open() || lane.state != Lane::State::kIdle) return false;
  const Item item = lane.items[lane.next];
  if (item.kind == Item::Kind::kRecord) {
    Reach(lane, item);
    return true;
  }
  if (item.kind == Item::Kind::kWait && !item.dropped && !lane.error) {
    if (item.mark != nullptr && item.mark->reached < item.count) return false;
    // A record that came later tells of later work, and of its error as well as of this one's.
    const bool failed = item.mark != nullptr && item.mark->error.has_value();
    Finish(lane, failed ? Status(*item.mark->error) : Status());
    return true;
  }
  if (lost_ && !lane.error) lane.error = Lost();
  if (item.dropped || lane.error || item.kind == Item::Kind::kWait) {
    Finish(lane, {});
    return true;
  }
  if (item.kind == Item::Kind::kTask) return BeginTask(stream, lock);
  lane.state = Lane::State::kToCopy;
  to_do_.notify_one();
  return false;
}

void DeviceQueue::Advance(Lock& lock) {
  stirred_ = false;
  for (bool any = true; any;) {
    any = false;
    for (uint32_t stream = 0; stream < lanes_.size(); ++stream) {
      while (Step(stream, lock)) any = true;
    }
  }
}

void DeviceQueue::Work() {
  LeaveSignalsToOthers();
  Lock lock(mutex_);
  while (true) {
    if (stirred_) Advance(lock);
    const auto next =
        std::ranges::find_if(lanes_, [](const auto& lane) { return lane->state == Lane::State::kToCopy; });
    if (next == lanes_.end()) {
      if (stirred_) continue;
      if (ending_) return;
      to_do_.wait(lock);
      continue;
    }
    Lane& lane = **next;
    const Item item = lane.items[lane.next];
    lane.state = Lane::State::kCopying;
    lock.unlock();
    if (item.bytes > 0) std::memcpy(item.to, item.from, item.bytes);
    lock.lock();
    Finish(lane, {});
    Advance(lock);
  }
}

}  // namespace pt::plugins
