// What the tools that run plans do about a kernel that crashes when it is first called: the process starts itself anew
// in its own place (execve: same number, parent, files and terminal) and leaves that kernel out. Nothing stands beside
// it, nothing is loaded twice at a time, and without a crash nothing is different.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "partitiontuner/exec/kernel_watch.h"
#include "tools/common/console.h"

namespace CLI {
class App;
}

namespace pt::tools {

struct CrashFlags {
  std::string on_crash = "retry";
  int after_crash = -1;  // the file in which the process before has left what it crashed at; -1: there was none
};
void AddCrashFlags(CLI::App& app, CrashFlags& flags);

// While it lives, SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT start the process anew: where they come during the first
// call of a kernel, without that kernel; else to say how it ended. One in a process, which outlives all other threads.
class CrashRetry final : public KernelWatch {
 public:
  // Before any thread is started; null with --on-crash end. argv: as main has it. Warns of what the process before
  // crashed at. Errors: kRunFailed where that was at no kernel's first call, or kMostRetries were in vain; kUsage where
  // --after-crash was given by hand.
  static Result<std::unique_ptr<CrashRetry>> Make(const CrashFlags& flags, int argc, char** argv,
                                                  const Console& console);
  ~CrashRetry() override;
  CrashRetry(const CrashRetry&) = delete;

  bool IsExcluded(const WatchedKernelName& kernel) const override;
  bool ExcludesAnyOf(std::string_view library) const override;
  void Begin(const WatchedKernelName& kernel) noexcept override;
  void End() noexcept override;

  static constexpr uint32_t kMostRetries = 16;

 private:
  CrashRetry() = default;
  std::map<std::string, std::set<std::string>, std::less<>> excluded_;  // works by library
};

}  // namespace pt::tools
