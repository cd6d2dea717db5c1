// ScopedSignalBlock: threads that are started while it lives leave the application's signals to the application.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace pt {

// Blocks signals on this thread, which threads that it starts inherit, but for those that say that an instruction of
// the very thread went wrong: a kernel that faults while they are blocked ends the process without the application's
// handler, crash reporters and sanitizers among them.
class ScopedSignalBlock {
 public:
  ScopedSignalBlock() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~ScopedSignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ScopedSignalBlock(const ScopedSignalBlock&) = delete;
  ScopedSignalBlock& operator=(const ScopedSignalBlock&) = delete;

 private:
  sigset_t before_;
};

}  // namespace pt
