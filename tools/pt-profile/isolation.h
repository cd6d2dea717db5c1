// pt-profile --isolate process: measuring in a child process, so that a kernel that crashes or hangs fails alone.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tools/common/console.h"
#include "tools/common/interrupt.h"

namespace pt::tools {

struct IsolationOptions {
  std::vector<std::string> arguments;  // of the child: this process's own, and those that make it a child
  std::chrono::nanoseconds key_timeout{};
  std::chrono::nanoseconds budget{};  // for all children together; 0: none
};

// Runs one child for all keys; when it goes down while it is at a key, says so, and starts the next one, which leaves
// that key out. What the child prints is the result. Its exit code; kRunFailed where it goes down beyond any key.
Result<int> RunIsolated(const IsolationOptions& options, Console& console, const InterruptWatch& interrupt);

}  // namespace pt::tools
