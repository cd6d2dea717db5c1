#include "partitiontuner/support/scoped_signal_block.h"

#include <pthread.h>
#include <signal.h>

#include <cstring>

namespace pt {

ScopedSignalBlock::ScopedSignalBlock() {
  static_assert(sizeof(sigset_t) <= sizeof(before_));
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  std::memcpy(before_, &before, sizeof(before));
}

ScopedSignalBlock::~ScopedSignalBlock() {
  sigset_t before;
  std::memcpy(&before, before_, sizeof(before));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace pt
