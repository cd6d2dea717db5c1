// What a process that crashes leaves to the one that takes its place: records in a file without a name, which stays
// open. Writing is for signal handlers: it allocates nothing, waits for nothing and calls the system alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "partitiontuner/exec/kernel_watch.h"
#include "partitiontuner/support/result.h"

namespace pt::tools {

struct CrashRecord {
  uint32_t attempt = 0;  // which process of the row it was, from 0
  uint32_t signal = 0;
  WatchedKernelName kernel;  // whose first call it may have been; an empty library: no kernel's
};

// A new file; its descriptor, which the next process inherits. Below 0 where the system gives none.
int MakeCrashFile() noexcept;
// kernel: null for none. False where it cannot be written.
bool WriteCrashRecord(int file, uint32_t attempt, uint32_t signal, const WatchedKernelName* kernel) noexcept;
// All of them, in order. Errors: kUsage where it is not such a file.
Result<std::vector<CrashRecord>> ReadCrashRecords(int file);

}  // namespace pt::tools
