// The child process that runs a suite's cases, seen from the parent.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "partitiontuner/exec/session.h"
#include "tools/common/child_process.h"

namespace pt::tools {

inline constexpr int kAnswerDescriptor = 3;  // of the child

class SuiteProcess {
 public:
  SuiteProcess() = default;
  ~SuiteProcess();
  SuiteProcess(const SuiteProcess&) = delete;

  bool running() const { return child_.running(); }
  // Starts this program again with these arguments and waits for its first line (kRunFailed when
  // there is none).
  Result<std::string> Start(const std::vector<std::string>& arguments, std::chrono::nanoseconds timeout,
                            const CancelToken& cancel);
  // Sends a line, returns the answer. On time-out, crash or cancel the process is gone; the error
  // (kRunFailed) says which.
  Result<std::string> Ask(const std::string& line, std::chrono::nanoseconds timeout, const CancelToken& cancel);

 private:
  Result<std::string> ReadLine(std::chrono::nanoseconds timeout, const CancelToken& cancel);
  int Stop();  // kills; the wait status

  ChildProcess child_;
  int to_ = -1, from_ = -1;
  std::string buffer_;
};

}  // namespace pt::tools
