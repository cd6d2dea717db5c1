#include "plugins/shared/call_stream.h"

#include <system_error>

#include "plugins/shared/own_thread.h"

namespace pt::plugins {

Status DeviceCall::Begin(const WorkTicket& ticket) noexcept {
  stream_->Start(*this, ticket);
  return {};
}

const std::string& DeviceCall::device() const { return stream_->queue().device(); }

Result<std::unique_ptr<CallStream>> CallStream::Make(std::shared_ptr<DeviceQueue> queue, std::vector<uint32_t> cores) {
  std::unique_ptr<CallStream> stream(new CallStream(std::move(queue)));
  try {
    stream->thread_ = std::thread([self = stream.get(), cores = std::move(cores)] {
      LeaveSignalsToOthers();
      StayOn(cores);
      self->Work();
    });
  } catch (const std::system_error& e) {
    const DeviceQueue& of = stream->queue();
    Error error = MakeError(ErrorCode::kOutOfMemory, of.backend() + ".thread",
                            "device " + of.device() + " gets no thread for a stream: " + e.what());
    error.device = of.device();
    return error;
  }
  return stream;
}

CallStream::~CallStream() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  to_do_.notify_one();
  thread_.join();
}

Status CallStream::Enqueue(DeviceCall& call) {
  call.stream_ = this;
  return Do(call);
}

void CallStream::Start(DeviceCall& call, const WorkTicket& ticket) noexcept {
  {
    const std::lock_guard lock(mutex_);
    next_ = &call;
    ticket_ = ticket;
  }
  to_do_.notify_one();
}

void CallStream::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    to_do_.wait(lock, [&] { return next_ != nullptr || ending_; });
    if (next_ == nullptr) return;
    DeviceCall& call = *next_;
    const WorkTicket ticket = ticket_;
    next_ = nullptr;
    lock.unlock();
    DeviceCall::Outcome outcome = call.Call();
    // From here on the call may be gone.
    ticket.queue->End(ticket, std::move(outcome.status), outcome.lost);
    lock.lock();
  }
}

Result<std::unique_ptr<Stream>> CallDriver::MakeStream() {
  PT_ASSIGN(std::unique_ptr<CallStream> stream, CallStream::Make(queue(), cores_));
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace pt::plugins
