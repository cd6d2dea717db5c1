// Runs a kernel that was compiled for the host, block after block. Threads are fibers of the calling thread: each runs
// until it waits for others or ends, and those that wait go on once all they wait for are there. Compiled without
// sanitizers, which do not follow fibers.
#pragma once

#include <cstdint>
#include <optional>

#include "test/cuda/host_state.h"
#include "test/cuda/kernel_judge.h"

namespace pt::testing {

struct HostLaunch {
  void (*entry)(const void* arguments) = nullptr;
  PtState* state = nullptr;
  const void* arguments = nullptr;
  uint32_t blocks = 1, threads = 1;  // at most 1024 of these
  bool waits = true;                 // its threads may wait for each other
  std::optional<uint32_t> left_out;  // the number of a barrier at which nothing waits
};

// One caller at a time in the process. The judge hears of everything, and the launch ends with the first access that it
// does not allow, or where threads wait for what never comes.
void RunBlocks(const HostLaunch& launch, KernelJudge& judge);

}  // namespace pt::testing
