#include "lib/profiler/fault.h"

namespace pt {

Verdict VerdictOf(Origin origin, ErrorCode code) {
  switch (code) {
    case ErrorCode::kInterrupted:
      return Verdict::kStopped;
    case ErrorCode::kOutOfMemory:
      return Verdict::kNotNow;
    case ErrorCode::kUnsupported:   // no such kernel
    case ErrorCode::kInvalidInput:  // it refuses data of the kind that it is for
      return origin == Origin::kElsewhere ? Verdict::kEnd : Verdict::kCannotRun;
    case ErrorCode::kRunFailed:
      if (origin == Origin::kElsewhere) return Verdict::kEnd;
      return origin == Origin::kKernel ? Verdict::kCannotRun : Verdict::kNotNow;  // a device may be lost
    default:  // bugs, a library that cannot be used: a later version may do better with the same key
      return origin == Origin::kElsewhere ? Verdict::kEnd : Verdict::kNotNow;
  }
}

}  // namespace pt
