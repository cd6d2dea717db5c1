#include "partitiontuner/support/result.h"

#include <cstdio>
#include <cstdlib>

namespace pt {

const char* ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternal:
      return "internal";
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kInvalidInput:
      return "invalid_input";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kDeviceUnusable:
      return "device_unusable";
    case ErrorCode::kPartial:
      return "partial";
    case ErrorCode::kStale:
      return "stale";
    case ErrorCode::kMismatch:
      return "mismatch";
    case ErrorCode::kInfeasible:
      return "infeasible";
    case ErrorCode::kAssertionFailed:
      return "assertion_failed";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
    case ErrorCode::kRunFailed:
      return "run_failed";
    case ErrorCode::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

std::string ToString(const Error& error) {
  std::string text;
  if (!error.file.empty()) text += error.file + ": ";
  text += error.message;
  if (!error.node.empty()) text += " [node " + error.node + "]";
  if (!error.device.empty()) text += " [device " + error.device + "]";
  if (!error.hint.empty()) text += "; " + error.hint;
  return text;
}

void EndWithoutValue(const Error& error) {
  std::fprintf(stderr, "partitiontuner: a Result has no value but an error: %s\n", ToString(error).c_str());
  std::abort();
}

void EndWithoutError() {
  std::fputs("partitiontuner: the error of a Result that has a value was asked for\n", stderr);
  std::abort();
}

}  // namespace pt
