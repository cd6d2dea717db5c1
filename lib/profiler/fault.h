// What an error met while measuring says: something about the kernel, for good, or only about this machine right now.
#pragma once

#include <cstdint>

#include "partitiontuner/support/result.h"

namespace pt {

enum class Origin : uint8_t {
  kKernel,     // the library while compiling or binding, or the kernel while it ran on host cores
  kDevice,     // an asynchronous device, at once or late: the kernel's fault, an earlier one's, or its own
  kElsewhere,  // locks, memory, workers: everything around the kernel
};

enum class Verdict : uint8_t {
  kCannotRun,  // stored: this kernel never runs here
  kNotNow,     // nothing is stored; other keys may do better
  kEnd,        // nothing is stored, and no other key would do better
  kStopped,    // cancelled
};

// Only what the kernel or its compilation says may be remembered. A full disk, another user's lock file, too little
// memory at this moment, a lost device or a bug would otherwise take candidates away for good.
Verdict VerdictOf(Origin origin, ErrorCode code);

}  // namespace pt
