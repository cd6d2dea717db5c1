#include "tools/common/interrupt.h"

#include <pthread.h>

namespace pt::tools {
namespace {

// SIGUSR2 wakes the watching thread up when the watch ends.
sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  const sigset_t set = WatchedSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this, set] {
    while (true) {
      int signal = 0;
      if (sigwait(&set, &signal) != 0 || ends_) return;
      if (signal == SIGUSR2) continue;
      if (token_.cancelled()) {
        std::signal(signal, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
        raise(signal);
      }
      signal_ = signal;
      token_.Cancel();
    }
  });
}

InterruptWatch::~InterruptWatch() {
  ends_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
  const sigset_t set = WatchedSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace pt::tools
