#include "plugins/shared/own_thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace pt::plugins {

void LeaveSignalsToOthers() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&signals, own);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

// The system leaves out cores that this machine does not have, and refuses only an empty set.
void StayOn(const std::vector<uint32_t>& cores) {
  if (cores.empty()) return;
  cpu_set_t* set = CPU_ALLOC(cores.back() + 1);
  if (set == nullptr) return;
  const size_t bytes = CPU_ALLOC_SIZE(cores.back() + 1);
  CPU_ZERO_S(bytes, set);
  for (const uint32_t core : cores) CPU_SET_S(core, bytes, set);
  (void)sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
}

}  // namespace pt::plugins
