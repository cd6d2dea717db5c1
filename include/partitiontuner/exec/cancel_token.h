// CancelToken: ends runs and measurements from another thread.
#pragma once

#include <atomic>
#include <memory>

namespace pt {

// Copies share one flag. Cancel may be called anywhere, signal handlers included: sleepers are not woken, they look by
// itself every millisecond or so.
class CancelToken {
 public:
  CancelToken() : cancelled_(std::make_shared<std::atomic<bool>>(false)) {}
  void Cancel() { cancelled_->store(true, std::memory_order_release); }
  void Reset() { cancelled_->store(false, std::memory_order_release); }
  bool cancelled() const { return cancelled_->load(std::memory_order_acquire); }

 private:
  std::shared_ptr<std::atomic<bool>> cancelled_;
};

}  // namespace pt
