// Ctrl-C and termination as a CancelToken: the first signal asks, the second ends the process.
#pragma once

#include <csignal>
#include <thread>

#include "partitiontuner/exec/session.h"

namespace pt::tools {

// Made before any other thread, so that all threads inherit the blocked signals and this one alone
// receives them.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;

  const CancelToken& token() const { return token_; }
  int exit_code() const { return signal_.load() == SIGTERM ? 143 : 130; }

 private:
  CancelToken token_;
  std::atomic<int> signal_{0};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace pt::tools
